"""What a rewrite of a checkpoint is asked for with: all that the command line takes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Self

from pydantic import Field, model_validator

from anabranch.checkpoints.plan import PendingTransactions, RewriteSpec, Split, StopSavepoint, Uncommitted
from anabranch.config import maps_file, offsets_file
from anabranch.errors import ConfigError
from anabranch.model.cluster import ClusterContext
from anabranch.model.start import StartPosition
from anabranch.model.topics import TopicPartition
from anabranch.operations.checkpoints.plans import RewriteRequest
from anabranch.operations.checkpoints.translation_source import (
    ByLinks,
    ByMaps,
    ByOffsets,
    ByStart,
    LinkAt,
    TranslationSource,
)
from anabranch.service.reach import Reach
from anabranch.service.verb import Name, Offset, Place, Request, Start
from anabranch.service.words import command

Names = Annotated[tuple[Name, ...], Field(max_length=1000)]
Partition = Annotated[int, Field(ge=0, lt=2**31)]
OFFSETS = "offsets.json"
"""What a command line calls the file of offsets that a request has in itself."""


class RewritePartShape(Request):
    """Some topics of a Spark source that becomes several; the parts have names where the query's sources do."""

    topics: Annotated[Names, Field(min_length=1)]
    name: Name | None = None


class RewriteClusterShape(Request):
    """The new id and servers of a cluster of Flink's DynamicKafkaSource."""

    id: Name
    bootstrap: Name


class Leading(Request):
    """Where positions lead: by the maps of links (``LINK``, or ``LINK@TARGET``), by a file of maps, by offsets on the
    target as ``{topic: {partition: offset}}``, or by a start position there.

    ``rename`` tells topics' new names with offsets and start positions; ``stay`` are topics of the old cluster.
    """

    path: Place
    target: Name | None = None
    links: Names = ()
    maps: Place | None = None
    offsets: Annotated[dict[Name, dict[Partition, Offset]], Field(max_length=1000)] | None = None
    start: Start | None = None
    rename: Annotated[dict[Name, Name], Field(max_length=1000)] = {}
    stay: Names = ()
    sources: Names | None = None
    dynamic: Annotated[dict[Name, RewriteClusterShape], Field(max_length=1000)] = {}

    @property
    def ways(self) -> Sequence[str]:
        """What says where positions lead."""
        found = {"links": bool(self.links), "maps": self.maps, "offsets": self.offsets, "start": self.start}
        return [name for name, value in found.items() if value]

    @model_validator(mode="after")
    def _leads_one_way(self) -> Self:
        if len(self.ways) > 1:
            raise ValueError("give one of links, maps, offsets and start")
        if self.ways and self.target is None:
            raise ValueError("target: name the cluster that the job is to read")
        if self.rename and set(self.ways) & {"links", "maps"}:
            raise ValueError("rename: links and maps tell the new names themselves")
        return self


class RewritePositions(Leading):
    """A rewrite; in place with a backup, or ``to`` a new path.

    ``stopped`` says that the job is stopped although it has written lately.
    """

    target: Name
    split: dict[Name, Annotated[tuple[RewritePartShape, ...], Field(min_length=2, max_length=100)]] = {}
    merge: Annotated[tuple[Annotated[Names, Field(min_length=2)], ...], Field(max_length=100)] = ()
    drop: Names = ()
    uncommitted: Uncommitted = Uncommitted.REFUSE
    transactions: PendingTransactions = PendingTransactions.REFUSE
    stop_savepoint: StopSavepoint = StopSavepoint.REFUSE
    to: Place | None = None
    stopped: bool = False

    @model_validator(mode="after")
    def _leads_somewhere(self) -> Self:
        if not self.ways:
            raise ValueError("give one of links, maps, offsets and start")
        return self

    @model_validator(mode="after")
    def _changes_each_source_once(self) -> Self:
        for source, parts in self.split.items():
            topics = [topic for part in parts for topic in part.topics]
            if len(set(topics)) != len(topics):
                raise ValueError(f"split: a topic of {source} is in two parts")
            names = [part.name for part in parts if part.name is not None]
            if names and (len(names) != len(parts) or len(set(names)) != len(names)):
                raise ValueError(f"split: name all parts of {source}, each otherwise, or none")
        if any(len(set(one)) != len(one) for one in self.merge):
            raise ValueError("merge: a source is named twice")
        return self


async def translation_source(reach: Reach, request: Leading) -> TranslationSource:
    """Where positions lead; one way is given.  Raises PathNotOpenError, ConfigError."""
    assert request.target is not None
    target = reach.clusters.context(request.target)
    method: ByLinks | ByMaps | ByOffsets | ByStart
    if request.links:
        method = ByLinks(tuple(_link(reach, one, target) for one in dict.fromkeys(request.links)))
    elif request.maps is not None:
        file = reach.maps_file(request.maps)
        maps = await asyncio.to_thread(maps_file.load, file)
        source, _ = await asyncio.to_thread(maps_file.contexts_of, file)
        method = ByMaps(str(file), maps, target, _known(reach, source))
    elif request.offsets is not None:
        method = ByOffsets("the request", _given(request.offsets), target)
    else:
        assert request.start is not None
        method = ByStart(StartPosition.parse(request.start), target)
    return TranslationSource(method, request.rename, frozenset(request.stay))


def rewrite_spec(request: Leading) -> RewriteSpec:
    """What is changed beside the positions."""
    sources = None if request.sources is None else frozenset(request.sources)
    clusters = {old: (new.id, new.bootstrap) for old, new in request.dynamic.items()}
    if not isinstance(request, RewritePositions):
        return RewriteSpec(sources=sources, renamed_clusters=clusters)
    split = tuple(
        Split(
            source,
            tuple(frozenset(part.topics) for part in parts),
            tuple(part.name for part in parts if part.name is not None),
        )
        for source, parts in request.split.items()
    )
    return RewriteSpec(
        sources,
        split,
        request.merge,
        frozenset(request.drop),
        request.uncommitted,
        request.transactions,
        clusters,
        request.stop_savepoint,
    )


async def as_rewrite(reach: Reach, request: RewritePositions) -> RewriteRequest:
    """As the operation wants it; raises PathNotOpenError, ConfigError."""
    return RewriteRequest(
        reach.place(request.path),
        rewrite_spec(request),
        await translation_source(reach, request),
        None if request.to is None else reach.place(request.to),
        request.stopped,
    )


def leading_options(request: Leading) -> list[tuple[str, object]]:
    """Where positions lead, as options; offsets are a file on a command line."""
    return [
        ("--link", request.links),
        ("--maps", request.maps),
        ("--offsets", OFFSETS if request.offsets is not None else None),
        ("--start", request.start),
        ("--target", request.target),
        ("--rename", [f"{old}={new}" for old, new in request.rename.items()]),
        ("--stay", request.stay),
        ("--source", request.sources),
        ("--dynamic-cluster", [f"{old}={new.id}@{new.bootstrap}" for old, new in request.dynamic.items()]),
    ]


def files(request: Leading) -> dict[str, str]:
    """What the command line reads, by its name: given offsets."""
    if request.offsets is None:
        return {}
    return {OFFSETS: offsets_file.text_of(_given(request.offsets), request.target or "")}


def words(request: RewritePositions) -> str:
    """The command line."""
    options = leading_options(request)
    split = [f"{source}={'|'.join(_part(part) for part in parts)}" for source, parts in request.split.items()]
    options += [("--split", split), ("--merge", [",".join(one) for one in request.merge])]
    options.append(("--drop-source", request.drop))
    if request.uncommitted is not Uncommitted.REFUSE:
        options.append(("--uncommitted", request.uncommitted.value))
    if request.transactions is not PendingTransactions.REFUSE:
        options.append(("--transactions", request.transactions.value))
    if request.stop_savepoint is not StopSavepoint.REFUSE:
        options.append(("--stop-savepoint", request.stop_savepoint.value))
    options += [("--to", request.to), ("--stopped", request.stopped)]
    return command("checkpoint", "rewrite", request.path, options=options)


def _given(offsets: Mapping[str, Mapping[int, int]]) -> dict[TopicPartition, int]:
    return {TopicPartition(t, p): at for t, found in offsets.items() for p, at in found.items()}


def _part(part: RewritePartShape) -> str:
    topics = ",".join(part.topics)
    return topics if part.name is None else f"{part.name}:{topics}"


def _link(reach: Reach, text: str, target: ClusterContext) -> LinkAt:
    link, _, there = text.partition("@")
    return LinkAt(link, reach.clusters.context(there) if there else target)


def _known(reach: Reach, name: str) -> ClusterContext | None:
    """A context that need not be there: the old cluster may be gone."""
    try:
        return reach.clusters.context(name)
    except ConfigError:
        return None
