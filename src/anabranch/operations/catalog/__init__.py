"""What is done with the catalog: define, drop, grant, import, and load for a run."""

from __future__ import annotations

from anabranch.offering import modules

__all__ = ["define", "drop", "importing", "rights"]
__getattr__ = modules(__name__, __all__)
