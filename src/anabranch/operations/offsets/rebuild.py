"""Rebuild the maps of topics that another tool copied: pin both logs, start the job that aligns them.

The job is a process of its own (or a ``spark-submit`` elsewhere), and the maps file is all that it leaves.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anabranch.config import maps_file
from anabranch.config.maps_file import StoredMap
from anabranch.config.rebuildspec import LaneLogs, RebuildSpec, RecordPart
from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster, TopicMeta
from anabranch.kafka.ends import ends
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneKey
from anabranch.model.plans import check_holds, plan_hash
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.align.lane import Bounds
from anabranch.operations.jobs import jobprocess
from anabranch.operations.jobs.outcome import JobFailedError, last_error
from anabranch.operations.jobs.readerjob import ReaderJob
from anabranch.operations.jobs.startedjob import StartedJob

JOB = "anabranch.spark.jobs.rebuild"

TellStep = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Hears each step of a job: ``step``, ``seconds`` since it began, and figures of the step."""


async def nobody(_: Mapping[str, Any]) -> None:
    """Nobody follows it."""


@dataclass(eq=False)
class NoSuchCopyError(RefusedError):
    """A topic that is to be aligned does not exist, or has fewer partitions than its source."""

    topic: str
    cluster: str
    partitions: int
    wanted: int

    @property
    def message(self) -> str:
        if not self.partitions:
            return f"cluster {self.cluster} has no topic {self.topic!r} that this principal may see"
        return f"topic {self.topic!r} of {self.cluster} has {self.partitions:,} partitions, its source {self.wanted:,}"

    @property
    def hint(self) -> str:
        if not self.partitions:
            return "name both topics: --topic SOURCE=COPY"
        return "a copy that puts records into other partitions has no map by offsets"


@dataclass(frozen=True, slots=True)
class RebuildPlan:
    """Lanes to be aligned, pinned; ``topics`` are source name to target name, ``link`` the id that the maps are for.

    ``hash`` covers which topics and partitions they are, and not the pins: logs grow by themselves.
    """

    link: str
    lanes: tuple[LaneLogs, ...]
    hash: str
    topics: Mapping[str, str] = field(hash=False)
    ignore: frozenset[RecordPart] = frozenset()

    def spec(self, source: ClusterContext, target: ClusterContext) -> RebuildSpec:
        """The specification that the job reads."""
        return RebuildSpec(self.link, source, target, self.lanes, self.ignore)


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """The maps that were made, and their file; stretches of them may be unclear."""

    link: str
    file: Path
    maps: tuple[StoredMap, ...]


@dataclass(frozen=True, slots=True)
class StartedRebuild:
    """Maps that are being made into a file, and their job."""

    link: str
    out: Path
    job: StartedJob

    async def ended(self, tell: TellStep = nobody) -> RebuildReport:
        """Wait until the maps are made; ``tell`` hears each step of the job.

        Raises JobFailedError; what the job had finished is kept beside the file.  A wait that is cancelled ends the
        job.
        """
        try:
            async for line in self.job.lines():
                await tell(step_of(line))
            code = await self.job.ended()
        finally:
            self.job.end()
        if code:
            why, fix = last_error(self.job.log, code)
            raise JobFailedError("no maps were made", code, why, fix or "run the same command again")
        maps = await asyncio.to_thread(maps_file.load, self.out)
        return RebuildReport(self.link, self.out, maps)


async def plan(
    source: Cluster, target: Cluster, link: str, topics: Mapping[str, str], ignore: Collection[RecordPart] = ()
) -> RebuildPlan:
    """Pin both logs of these topics, given as source name to target name; ``link`` is the id that the maps are for.

    Raises NoSuchCopyError, ClusterError.
    """
    known = (await source.metadata(sorted(topics))).topics
    copies = (await target.metadata(sorted(set(topics.values())))).topics
    pairs: list[tuple[TopicMeta, TopicMeta]] = []
    for name, copy in sorted(topics.items()):
        wanted = _partitions(source, known[name], 1)
        _partitions(target, copies[copy], wanted)
        pairs.append((known[name], copies[copy]))
    partitions = [(mine, its, number) for mine, its in pairs for number in sorted(mine.partitions)]
    # The target first: all that it holds by then came from below the end that the source has afterwards.
    after = await ends(target, [TopicPartition(its.name, number) for _, its, number in partitions], stable=True)
    before = await ends(source, [TopicPartition(mine.name, number) for mine, _, number in partitions], stable=True)
    lanes = []
    for mine, its, number in partitions:
        ours, theirs = TopicPartition(mine.name, number), TopicPartition(its.name, number)
        key = LaneKey(link, TopicId(mine.id), number)
        lanes.append(LaneLogs(key, ours, theirs, TopicId(its.id), Bounds(*before[ours], *after[theirs])))
    seen = [[str(one.lane), str(one.source), str(one.target), str(one.target_id)] for one in lanes]
    return RebuildPlan(link, tuple(lanes), plan_hash(link, seen, sorted(ignore)), dict(topics), frozenset(ignore))


async def apply(source: Cluster, target: Cluster, planned: RebuildPlan, out: Path, job: ReaderJob) -> StartedRebuild:
    """Start the job, whose directory gets its specification and its log; ``ended`` of the answer waits for the maps.

    Raises before what ``check_reader`` raises, and PlanChangedError where the topics are other ones by now.
    """
    arguments = await asyncio.to_thread(job.arguments)
    now = await plan(source, target, planned.link, planned.topics, planned.ignore)
    check_holds("the topics", planned, now)
    return start(planned.spec(job.source, job.target), out, job, arguments)


def start(spec: RebuildSpec, out: Path, job: ReaderJob, arguments: Sequence[str]) -> StartedRebuild:
    """Start the job of a specification; the arguments are the job's own."""
    path, log = job.directory / "rebuild.json", job.directory / "rebuild.log"
    path.write_text(spec.to_json(), encoding="utf-8")
    job_arguments = [str(path), "--out", str(out), *arguments]
    with log.open("wb") as err:
        process = jobprocess.start(JOB, job_arguments, out=subprocess.PIPE, err=err, tied=not job.detached)
    return StartedRebuild(spec.link, out, StartedJob(spec.link, log, process))


def step_of(line: str) -> Mapping[str, Any]:
    """A line that the job has printed; one that is no step of its own is told as it is."""
    try:
        fields = json.loads(line)
    except ValueError:
        fields = None
    return fields if isinstance(fields, dict) and "step" in fields else {"step": line.rstrip()}


def _partitions(cluster: Cluster, topic: TopicMeta, wanted: int) -> int:
    count = 0 if topic.error else len(topic.partitions)
    if count < wanted:
        raise NoSuchCopyError(topic.name, cluster.name, count, wanted)
    return count
