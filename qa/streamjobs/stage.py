"""Where queries are moved: two clusters, the input on both, and what each kind of query writes if it is never moved."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anabranch.config.context_file import read_context
from anabranch.model.link import ClusterRef, LinkSpec, ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.brokers import STEADY
from qa.streamjobs.copying import copy, ends_of
from qa.streamjobs.flights_log import PARTITIONS, Topics, days, write
from qa.streamjobs.moving import CommandLine
from qa.streamjobs.process import JobFailedError
from qa.streamjobs.spec import Kind, QuerySpec, Reading, Sink, Store

PREFIX = "airport"
RENAMED, SAME = "renamed", "same"
FLIGHTS = 4000
# Both branches together are the same windows.
_AS = {Kind.TWICE: Kind.WINDOWS}


@dataclass(frozen=True, slots=True)
class Written:
    """What a query has left: the sink's rows and the state's, both as multisets of JSON texts; ``late`` rows were
    dropped, of ``read`` rows."""

    rows: Counter[str]
    state: Counter[str]
    late: int
    read: int

    @classmethod
    def of(cls, results: Path, name: str) -> Written:
        """As a job with ``dump`` has told it."""
        progress = results / f"{name}.progress"
        # A query that finds nothing to read tells of no batch.
        batches = [json.loads(line) for line in progress.read_text().splitlines()] if progress.exists() else []
        rows, state = (Counter((results / f"{name}.{what}").read_text().splitlines()) for what in ("rows", "state"))
        return cls(rows, state, sum(one["late"] for one in batches), sum(one["rows"] for one in batches))


class Stage:
    """``old`` and ``new`` hold the same records at other offsets, by two links: with other names, and with the same."""

    def __init__(self, root: Path, old: SandboxCluster, new: SandboxCluster) -> None:
        self.root = root
        self.warehouse = str(root / "lake")
        self.old, self.new = old.internal_bootstrap, new.internal_bootstrap
        self.topics = Topics(PREFIX)
        self.copies = {RENAMED: Topics(f"old.{PREFIX}"), SAME: self.topics}
        contexts = root / "contexts.yaml"
        contexts.write_text(json.dumps({"contexts": {one.spec.name: one.context() for one in (old, new)}}))
        self.command_line = CommandLine(contexts)
        self._never_moved: dict[Kind, Written] = {}

    def references(self, kinds: Collection[Kind]) -> tuple[QuerySpec, ...]:
        """Queries that are not known yet: such that run once to the end on the old cluster, in whatever job."""
        return tuple(
            self._reference(kind) for kind in sorted({_AS.get(one, one) for one in kinds}) if self._lacks(kind)
        )

    def never_moved(self, kinds: Collection[Kind], results: Path) -> dict[Kind, Written]:
        """What such queries write; ``results`` are of the job that the references were run in.

        Raises JobFailedError.
        """
        for kind in {_AS.get(one, one) for one in kinds}:
            if self._lacks(kind):
                failure = results / f"{kind}.failure"
                if failure.exists():
                    raise JobFailedError(failure.read_text())
                self._never_moved[kind] = Written.of(results, kind)
        return {kind: self._never_moved[_AS.get(kind, kind)] for kind in kinds}

    def _lacks(self, kind: Kind) -> bool:
        return kind not in self._never_moved

    def _reference(self, kind: Kind) -> QuerySpec:
        store = Store.ROCKSDB if kind is Kind.TIMERS else Store.DEFAULT
        flights = Reading(self.old, ",".join(self.topics.flights))
        weather = Reading(self.old, self.topics.weather) if kind is Kind.JOIN else None
        place = self.root / "never-moved" / kind
        spec = QuerySpec(kind, kind, store, Sink.BATCHES, (flights,), weather, str(place / "cp"), str(place / "out"))
        return spec.per_batch(2500, 250)


@contextmanager
def stage(
    seed: int,
    *,
    flights: int = FLIGHTS,
    mode: ModePolicy = ModePolicy.MAPPED,
    links: Collection[str] = (RENAMED, SAME),
    keep: bool = False,
) -> Iterator[Stage]:
    """Fresh clusters with an input drawn from the seed, copied by real links, of which ``links`` are made."""
    chance = random.Random(f"streamjobs/{seed}")
    root = Path(tempfile.mkdtemp(prefix="anabranch-streamjobs-"))
    old, new = start_clusters([ClusterSpec(name, overrides=STEADY) for name in ("old", "new")])
    try:
        with old, new:
            made = Stage(root, old, new)
            write(old, made.topics, days(flights), chance)
            source, target = (read_context(one.spec.name, one.context(), "the sandbox") for one in (old, new))
            for link in links:
                naming = "prefix" if link == RENAMED else "identity"
                spec = LinkSpec(
                    link,
                    ClusterRef("old", ""),
                    ClusterRef("new", ""),
                    PluginSpec("regex", {"include": [f"{PREFIX}-.*"]}),
                    PluginSpec(naming),
                    mode=mode,
                )
                copy(spec, source, target, ends_of(old.internal_bootstrap, made.topics.all, PARTITIONS))
            yield made
    finally:
        if not keep:
            shutil.rmtree(root, ignore_errors=True)
