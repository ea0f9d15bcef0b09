"""Comparisons: started, shown, stopped, resumed."""

from __future__ import annotations

from anabranch.offering import modules

__all__ = ["resume", "show", "start", "stop"]
__getattr__ = modules(__name__, __all__)
