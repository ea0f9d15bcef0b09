"""Which sinks there are: Spark's own, those of this package, and what other packages bring.

A package brings one by an entry point of the group ``anabranch.sinks``, whose object is a SinkKind.  One of ours is
never replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from anabranch.errors import ConfigError
from anabranch.spark.streams.sinks import elasticsearch, iceberg, lake, mysql, native, opensearch, postgresql, redis
from anabranch.spark.streams.sinks.port import SinkKind

GROUP = "anabranch.sinks"
BUILT_IN: tuple[SinkKind, ...] = (
    *native.KINDS,
    *(one.KIND for one in (iceberg, lake, postgresql, mysql, redis, opensearch, elasticsearch)),
)


@dataclass(eq=False)
class BrokenSinkError(ConfigError):
    """An installed package says that it brings a sink, and does not."""

    entry_point: str
    why: str

    _message = "the sink of entry point {entry_point} cannot be used: {why}"
    _hint = "correct or remove the package that brings it"


def sink_kinds(more: Iterable[SinkKind] = (), brought: Iterable[EntryPoint] | None = None) -> Mapping[str, SinkKind]:
    """All sinks by what stands after USING, ``more`` among them; raises BrokenSinkError."""
    ours = {kind.provider: kind for kind in (*BUILT_IN, *more)}
    found: dict[str, SinkKind] = {}
    for point in entry_points(group=GROUP) if brought is None else brought:
        try:
            kind = point.load()
        except Exception as error:  # whatever a foreign module raises as it is imported
            raise BrokenSinkError(point.name, f"{type(error).__name__}: {error}") from error
        if not isinstance(kind, SinkKind):
            raise BrokenSinkError(point.name, "it is no SinkKind")
        if kind.provider in {**ours, **found}:
            raise BrokenSinkError(point.name, f"there is a connector {kind.provider} already")
        found[kind.provider] = kind
    return {**found, **ours}
