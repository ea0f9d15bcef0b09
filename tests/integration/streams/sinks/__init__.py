"""Sinks on their real servers."""
