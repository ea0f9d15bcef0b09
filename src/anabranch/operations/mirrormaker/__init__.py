"""Work beside MirrorMaker 2: check its translated offsets, and publish exact ones for its clients."""

from __future__ import annotations

from anabranch.offering import modules

__all__ = ["publish", "report", "translate"]
__getattr__ = modules(__name__, __all__)
