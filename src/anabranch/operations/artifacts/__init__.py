"""Artifacts: uploaded, looked at, saved and deleted; each verb plans, and applies its plan."""

from __future__ import annotations

from anabranch.offering import modules

__all__ = ["deleting", "saving"]
__getattr__ = modules(__name__, __all__)
