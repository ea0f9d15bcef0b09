"""Contexts tried, and the names that a shell completes."""
