"""Operations on checkpoints of stream engines: inspect, advise, plan, rewrite, verify, undo."""

from __future__ import annotations

from anabranch.offering import modules

__all__ = ["advise", "finish", "inspect", "rewrite", "undo", "verify"]
__getattr__ = modules(__name__, __all__)
