"""Offset maps of topics that another tool copied."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from anabranch.config.rebuildspec import RecordPart
from anabranch.model.accounts import Role
from anabranch.model.plans import REQUEST
from anabranch.operations.jobs.readerjob import ReaderJob
from anabranch.operations.offsets import rebuild
from anabranch.operations.offsets.rebuild import RebuildPlan
from anabranch.service.reach import Reach
from anabranch.service.verb import Name, Request, Verb
from anabranch.service.words import command
from anabranch.store.runs import RunKind


class RebuildRequest(Request):
    """Source topics and their copies, as ``{source: copy}``, for the link that will adopt their maps."""

    source: Name
    target: Name
    link: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
    topics: Annotated[dict[Name, Name], Field(min_length=1, max_length=1000)]
    ignore: Annotated[tuple[RecordPart, ...], Field(max_length=10)] = ()


@dataclass(frozen=True, slots=True)
class AlignmentPlan:
    """Topics whose records would be aligned: of how many partitions, and how many source offsets."""

    link: str
    topics: Mapping[str, str]
    lanes: int
    offsets: int
    hash: str
    planned: RebuildPlan = field(metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class AlignedLane:
    """A partition's map: how many ranges and records it has, and stretches that are refused since they are unclear."""

    source: str
    target: str
    ranges: int
    records: int
    unclear: int


@dataclass(frozen=True, slots=True)
class AlignmentReport:
    """The maps that were made, in a file of the service's machine that `links.create` can adopt."""

    link: str
    file: str
    lanes: tuple[AlignedLane, ...]


async def _plan(reach: Reach, request: RebuildRequest) -> AlignmentPlan:
    source, target = (reach.clusters.cluster(name) for name in (request.source, request.target))
    planned = await rebuild.plan(source, target, request.link, request.topics, request.ignore)
    offsets = sum(lane.bounds.source_end - lane.bounds.source_start for lane in planned.lanes)
    return AlignmentPlan(request.link, request.topics, len(planned.lanes), offsets, planned.hash, planned)


async def _apply(reach: Reach, request: RebuildRequest, shown: AlignmentPlan) -> AlignmentReport:
    """Have the job made, and wait for its end: a job that breaks off keeps the partitions that are done."""
    context = reach.clusters.context
    source, target = (reach.clusters.cluster(name) for name in (request.source, request.target))
    directory = reach.jobs.maps
    directory.mkdir(parents=True, exist_ok=True)
    out = directory / f"{request.link}.json"
    with tempfile.TemporaryDirectory(prefix="anabranch-") as work:
        job = ReaderJob(
            context(request.source), context(request.target), reach.jobs.reader_master, Path(work), reach.jobs.settings
        )
        started = await rebuild.apply(source, target, shown.planned, out, job)
        await reach.launched(RunKind.REBUILD, request.target, request.link, reach.account, started.job)
        made = await started.ended(lambda step: reach.tell({"stage": "aligning", "step": step}))
    lanes = tuple(
        AlignedLane(str(one.source), str(one.target), len(one.ranges), one.ranges.records, len(one.unclear))
        for one in made.maps
    )
    return AlignmentReport(made.link, str(made.file), lanes)


def _words(request: RebuildRequest) -> str:
    options: list[tuple[str, object]] = [
        ("--topic", [f"{name}={copy}" for name, copy in request.topics.items()]),
        ("--source", request.source),
        ("--target", request.target),
        ("--link", request.link),
        ("--ignore", [part.value for part in request.ignore]),
        ("--out", f"{request.link}.json"),
    ]
    return command("offsets", "rebuild", options=options)


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "offsets.rebuild",
        "Make the maps of topics that another tool copied, from the records alone",
        Role.OPERATOR,
        RebuildRequest,
        AlignmentPlan,
        AlignmentReport,
        lambda request: f"maps for link {request.link}",
        _words,
        _plan,
        _apply,
        execute="",
    ),
)
