"""Routes: publishing tables, explaining ways, and what a switch of clients does to clusters."""

from __future__ import annotations

from anabranch.offering import modules

__all__ = ["apply", "cancel", "rollback", "show"]
__getattr__ = modules(__name__, __all__)
