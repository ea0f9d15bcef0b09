"""Links: created, shown, waited for, changed, stopped, deleted; decisions; transactions that hang."""

from __future__ import annotations

from anabranch.offering import modules

__all__ = [
    "abort_transaction", "accept", "caughtup", "change", "create", "delete", "metrics", "run", "show", "stop", "wait",
]  # fmt: skip
__getattr__ = modules(__name__, __all__)
