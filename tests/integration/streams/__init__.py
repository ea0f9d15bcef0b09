"""Streams on real clusters and a real Spark."""
