"""Routes: what a switch of clients does to clusters."""
