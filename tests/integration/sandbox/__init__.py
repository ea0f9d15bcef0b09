"""The sandbox on real clusters."""
