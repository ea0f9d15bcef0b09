"""Migrations: what clusters hold, the plan of a file, and the engine that goes through the steps of its waves."""

from __future__ import annotations

from anabranch.offering import modules

__all__ = ["access", "change", "discover", "hold", "plan", "rehearse", "release", "resume", "throttle", "waves"]
__getattr__ = modules(__name__, __all__)
