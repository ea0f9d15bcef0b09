"""Rebuild the maps of topics that another tool copied: pin both logs, start the job that aligns them.

The job is a process of its own (or a ``spark-submit`` elsewhere), and the maps file is all that it leaves.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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
from anabranch.operations.jobs.readerjob import ReaderJob

JOB = "anabranch.spark.jobs.rebuild"


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


async def apply(
    source: Cluster, target: Cluster, planned: RebuildPlan, out: Path, job: ReaderJob
) -> subprocess.Popen[str]:
    """Start the job, whose steps are lines of its standard output; its directory gets its specification and its log.

    Raises before what ``check_reader`` raises, and PlanChangedError where the topics are other ones by now.
    """
    arguments = await asyncio.to_thread(job.arguments)
    now = await plan(source, target, planned.link, planned.topics, planned.ignore)
    check_holds("the topics", planned, now)
    return start(planned.spec(job.source, job.target), out, job, arguments)


def start(spec: RebuildSpec, out: Path, job: ReaderJob, arguments: Sequence[str]) -> subprocess.Popen[str]:
    """Start the job of a specification; the arguments are the job's own."""
    path = job.directory / "rebuild.json"
    path.write_text(spec.to_json(), encoding="utf-8")
    job_arguments = [str(path), "--out", str(out), *arguments]
    with (job.directory / "rebuild.log").open("wb") as log:
        process: subprocess.Popen[str] = jobprocess.start(
            JOB, job_arguments, out=subprocess.PIPE, err=log, tied=not job.detached
        )
    return process


def _partitions(cluster: Cluster, topic: TopicMeta, wanted: int) -> int:
    count = 0 if topic.error else len(topic.partitions)
    if count < wanted:
        raise NoSuchCopyError(topic.name, cluster.name, count, wanted)
    return count
