"""Streams: saved, published, started and stopped; each verb plans, and applies its plan."""
