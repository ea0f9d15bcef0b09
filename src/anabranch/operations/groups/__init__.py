"""Consumer groups: listed, moved, undone, created."""

from __future__ import annotations

from anabranch.offering import modules

__all__ = ["baseline", "create", "show", "sync", "undo"]
__getattr__ = modules(__name__, __all__)
