"""Maps of topics that another tool copied, as their owners ask for them: pin both logs, start the job, read the maps.

The job is a process of its own (or a ``spark-submit`` elsewhere), and the maps file is all that it leaves.
"""

from __future__ import annotations

import asyncio
import subprocess
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch.config.maps_file import StoredMap
from anabranch.config.rebuildspec import LaneLogs, Part, RebuildSpec
from anabranch.config.verifyspec import VerifySpec
from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster, TopicMeta
from anabranch.kafka.ends import ends
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneKey
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.offsets.align.lane import Bounds
from anabranch.operations.jobs import jobprocess
from anabranch.operations.jobs.sparkready import check_reader
from anabranch.verify.pins import Pin

JOB = "anabranch.spark.jobs.rebuild"


@dataclass(eq=False)
class NoSuchCopyError(RefusedError):
    """A topic that is to be aligned is not there, or has fewer partitions than its source."""

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


def plan(
    source: ClusterContext,
    target: ClusterContext,
    link: str,
    topics: Mapping[str, str],
    ignore: Collection[Part] = (),
) -> RebuildSpec:
    """Pin both logs of these topics, given as source name to target name; ``link`` is the id that the maps are for.

    Raises NoSuchCopyError, ClusterError.
    """
    return asyncio.run(_plan(source, target, link, topics, frozenset(ignore)))


def run(spec: RebuildSpec, out: Path, master: str, settings: Mapping[str, str], work: Path) -> subprocess.Popen[str]:
    """Start the job, which ends with this process; its steps are lines of its standard output.

    ``work`` gets its specification and its log.
    Raises what ``check_reader`` raises, before anything is started.
    """
    settings = check_reader(master, settings)
    path = work / "rebuild.json"
    path.write_text(spec.to_json(), encoding="utf-8")
    arguments = [str(path), "--out", str(out), "--master", master]
    for key, value in settings.items():
        arguments += ["--conf", f"{key}={value}"]
    with (work / "rebuild.log").open("wb") as log:
        process: subprocess.Popen[str] = jobprocess.start(JOB, arguments, out=subprocess.PIPE, err=log, tied=True)
    return process


def comparison(source: ClusterContext, target: ClusterContext, link: str, maps: Sequence[StoredMap]) -> VerifySpec:
    """A comparison of both sides through these maps, which keeps nothing on the target.

    Of a map with unclear stretches it is about what lies behind the last one, and says so.
    """
    pins, doubts = [], {}
    for one in maps:
        runs = one.runs
        since = (runs.source_start, runs.target_start)
        if one.unclear:
            since = (one.unclear[-1].source_to, one.unclear[-1].target_to)
            doubts[str(one.source)] = f"unclear up to source offset {since[0]:,}; only what follows is compared"
        whole = (runs.source_end, runs.target_end)
        pins.append(Pin(str(one.lane), one.source, one.target, since[0], whole[0], since[1], whole[1], runs))
    return VerifySpec(link, f"verify-{uuid.uuid4().hex[:12]}", source, target, tuple(pins), keep=False, doubts=doubts)


async def _plan(
    source: ClusterContext, target: ClusterContext, link: str, topics: Mapping[str, str], ignore: frozenset[Part]
) -> RebuildSpec:
    async with open_cluster(source) as here, open_cluster(target) as there:
        known = (await here.metadata(sorted(topics))).topics
        copies = (await there.metadata(sorted(set(topics.values())))).topics
        pairs: list[tuple[TopicMeta, TopicMeta]] = []
        for name, copy in sorted(topics.items()):
            wanted = _partitions(here, known[name], 1)
            _partitions(there, copies[copy], wanted)
            pairs.append((known[name], copies[copy]))
        partitions = [(mine, its, number) for mine, its in pairs for number in sorted(mine.partitions)]
        # The target first: all that it holds by then came from below the end that the source has afterwards.
        after = await ends(there, [TopicPartition(its.name, number) for _, its, number in partitions], stable=True)
        before = await ends(here, [TopicPartition(mine.name, number) for mine, _, number in partitions], stable=True)
        lanes = []
        for mine, its, number in partitions:
            ours, theirs = TopicPartition(mine.name, number), TopicPartition(its.name, number)
            key = LaneKey(link, TopicId(mine.id), number)
            lanes.append(LaneLogs(key, ours, theirs, TopicId(its.id), Bounds(*before[ours], *after[theirs])))
        return RebuildSpec(link, source, target, tuple(lanes), ignore)


def _partitions(cluster: Cluster, topic: TopicMeta, wanted: int) -> int:
    count = 0 if topic.error else len(topic.partitions)
    if count < wanted:
        raise NoSuchCopyError(topic.name, cluster.name, count, wanted)
    return count
