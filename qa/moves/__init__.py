"""Consumers that are moved from one cluster to the other under load and under fire, and what they read in all."""
