"""Streams: saved, published, started and stopped; each verb plans, and applies its plan."""

from __future__ import annotations

from anabranch.offering import modules

__all__ = ["abandoning", "alerting", "changing", "checkpointing", "lineage", "saving"]
__getattr__ = modules(__name__, __all__)
