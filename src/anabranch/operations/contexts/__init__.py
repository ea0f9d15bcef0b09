"""Contexts tried, and the names that a shell completes."""

from __future__ import annotations

from anabranch.offering import modules

__all__ = ["health", "naming", "reaching"]
__getattr__ = modules(__name__, __all__)
