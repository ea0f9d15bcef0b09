"""Stateful Spark queries that are moved between clusters with their checkpoints, and what they must have written."""
