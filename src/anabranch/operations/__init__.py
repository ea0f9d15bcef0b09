"""What people ask for, applied: a folder a noun, a module a verb.

A verb that looks is one asynchronous function.  A verb that changes something has ``plan``, which answers frozen data
with a ``hash``, and ``apply``, which looks again, raises ``PlanChangedError`` where the hash is another one, and
answers a report.  Clusters are handed in open, and so is what the service keeps: a noun's ``desk``, or its store.
Nothing is printed, and no event loop is started.
"""

from __future__ import annotations

from anabranch.offering import modules

__all__ = [
    "artifacts",
    "catalog",
    "checkpoints",
    "contexts",
    "groups",
    "jobs",
    "links",
    "migrations",
    "mirrormaker",
    "offsets",
    "routes",
    "streams",
    "verify",
]
__getattr__ = modules(__name__, __all__)
