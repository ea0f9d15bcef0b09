"""Working beside MirrorMaker 2: what its answers are worth, and our answers where its clients look for them."""

from __future__ import annotations

from anabranch.offering import modules

__all__ = ["publish", "report"]
__getattr__ = modules(__name__, __all__)
