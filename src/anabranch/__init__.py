"""Anabranch moves Kafka clusters under running applications, exactly.

What the command line can do is offered as asynchronous functions, one module a verb (docs/reference/api.md)::

    old, new = (anabranch.contexts().get(name) for name in ("old", "new"))
    async with anabranch.open_cluster(old) as source, anabranch.open_cluster(new) as target:
        plan = await anabranch.operations.groups.sync.plan(source, target, "old-new")
        report = await anabranch.operations.groups.sync.apply(source, target, plan)
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch import operations
    from anabranch.config.contexts import Contexts
    from anabranch.errors import AnabranchError
    from anabranch.kafka.security import open_cluster
    from anabranch.model.cluster import ClusterContext
    from anabranch.model.plans import PlanChangedError

__version__ = "0.1.0"
__all__ = ["AnabranchError", "ClusterContext", "PlanChangedError", "contexts", "open_cluster", "operations"]

_OFFERED = {
    "AnabranchError": "anabranch.errors",
    "ClusterContext": "anabranch.model.cluster",
    "PlanChangedError": "anabranch.model.plans",
    "open_cluster": "anabranch.kafka.security",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, and not before: ``--help`` and a worker need little of it."""
    if name == "operations":
        return import_module("anabranch.operations")
    if name in _OFFERED:
        return getattr(import_module(_OFFERED[name]), name)
    raise AttributeError(f"module 'anabranch' has no attribute {name!r}")


def contexts(file: Path | None = None) -> Contexts:
    """The contexts of a file, or of that which the command line would use; raises ``ConfigError``."""
    from anabranch.config import contexts as stored

    return stored.load(stored.locate(file, os.environ, Path.cwd()))
