"""Offsets of a link: translated, exported, and rebuilt for topics that another tool copied."""

from __future__ import annotations

from anabranch.offering import modules

__all__ = ["comparison", "export", "ranges", "rebuild", "translate"]
__getattr__ = modules(__name__, __all__)
