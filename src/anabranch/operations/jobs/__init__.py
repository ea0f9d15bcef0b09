"""Spark jobs started from here: what this machine needs, how a job reaches a cluster, and its process and logs."""

from __future__ import annotations

from anabranch.offering import modules

__all__ = ["launcher", "submission"]
__getattr__ = modules(__name__, __all__)
