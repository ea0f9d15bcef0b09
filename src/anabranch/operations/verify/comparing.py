"""Comparisons as their owners handle them: start, show, stop, resume.

The job is a process of its own (or a ``spark-submit`` elsewhere); all that is known of it is on the target.
"""

from __future__ import annotations

import asyncio
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.config.jobspec import write_spec
from anabranch.config.verifyspec import Levels, Reader, VerifyOptions, VerifySpec
from anabranch.errors import RefusedError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.ends import ends
from anabranch.kafka.security import open_cluster
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.operations.jobs import jobprocess
from anabranch.operations.jobs.sparkready import check_reader
from anabranch.state.codecs.verified import NeverVerifiedError, RunState, VerifyStatus
from anabranch.state.maps.reading import LinkMaps, read_maps
from anabranch.state.topics.verified import Verified
from anabranch.verify.pins import LogEnds, Pin, pin

JOB = "anabranch.spark.jobs.verify"


@dataclass(eq=False)
class VerifyRunningError(RefusedError):
    """A comparison of the link runs already."""

    link: str
    run: str

    @property
    def message(self) -> str:
        return f"link {self.link!r} is being compared already, by {self.run}"

    @property
    def hint(self) -> str:
        return f"`anabranch verify show {self.link} --watch`, or `anabranch verify stop {self.link}` first"


@dataclass(eq=False)
class NothingToResumeError(RefusedError):
    """The last comparison of the link went to its end."""

    link: str
    run: str

    @property
    def message(self) -> str:
        return f"{self.run} of link {self.link!r} is done: there is nothing to resume"

    @property
    def hint(self) -> str:
        return f"`anabranch verify start {self.link}` compares what is new"


def plan(
    source: ClusterContext, target: ClusterContext, link_id: str, options: VerifyOptions, resume: bool = False
) -> VerifySpec:
    """Pin the link's lanes; a resumed comparison keeps the pins and options of the one that was stopped.

    Raises UnknownLinkError, VerifyRunningError, NothingToResumeError, NeverVerifiedError, ClusterError.
    """
    return asyncio.run(_plan(source, target, link_id, options, resume))


def show(target: ClusterContext, link_id: str) -> VerifyStatus:
    """The link's comparison; raises NeverVerifiedError."""

    async def ask() -> VerifyStatus:
        async with open_cluster(target) as cluster:
            verified = Verified(cluster)
            await verified.sync()
            return _status(verified, link_id)

    return asyncio.run(ask())


def stop(target: ClusterContext, link_id: str) -> VerifyStatus:
    """Have the running comparison end after its round; raises NeverVerifiedError."""

    async def ask() -> VerifyStatus:
        async with open_cluster(target) as cluster:
            verified = Verified(cluster)
            await verified.sync()
            status = _status(verified, link_id)
            if status.running:
                await verified.ask_to_stop(link_id, status.run.run)
            return status

    return asyncio.run(ask())


def launch(
    spec: VerifySpec, master: str, directory: Path, settings: Mapping[str, str], detached: bool = False
) -> subprocess.Popen[bytes]:
    """Start the job, which ends with this process unless ``detached``, then or by ``detach``.

    The directory gets its specification, log and reports.

    Raises what ``check_reader`` raises, before anything is started.
    """
    settings = check_reader(master, settings)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{spec.run}.json"
    write_spec(path, spec.to_json())
    arguments = [str(path), "--master", master]
    arguments += ["--report", str(directory / f"{spec.run}.report.json"), "--page", str(directory / f"{spec.run}.html")]
    for key, value in settings.items():
        arguments += ["--conf", f"{key}={value}"]
    with (directory / f"{spec.run}.log").open("ab") as log:
        process: subprocess.Popen[bytes] = jobprocess.start(JOB, arguments, out=log, err=log, tied=not detached)
    return process


def detach(job: subprocess.Popen[bytes]) -> None:
    """Have a job that was launched outlive this process."""
    jobprocess.detach(job)


# -- planning --------------------------------------------------------------------------------------------


async def _plan(
    source: ClusterContext, target: ClusterContext, link_id: str, options: VerifyOptions, resume: bool
) -> VerifySpec:
    async with open_cluster(source) as here, open_cluster(target) as there:
        verified = Verified(there)
        await verified.sync()
        last = verified.runs.get(link_id)
        if last is not None and _status(verified, link_id).running:
            raise VerifyRunningError(link_id, last.run)
        if resume and last is None:
            raise NeverVerifiedError(link_id)
        if resume and last is not None and last.state is RunState.DONE:
            raise NothingToResumeError(link_id, last.run)
        maps = await read_maps(there, link_id)
        unmapped = await _unmapped(here, maps)
        pins = [pin for pin in await _pins(here, there, maps) if pin.source not in unmapped]
        since: dict[str, tuple[int, int]] = {}
        again: dict[str, tuple[tuple[int, int], ...]] = {}
        if options.fresh and not resume:
            await verified.forget([pin.lane for pin in pins if pin.lane in verified.lanes])
        else:
            for pin in pins:
                known = verified.lanes.get(pin.lane)
                if known is not None:
                    since[pin.lane] = (known.source[1], known.target[1])
                    again[pin.lane] = known.differs
        if resume and last is not None:
            pins = [_cut(pin, last.pins[pin.lane]) for pin in pins if pin.lane in last.pins]
            options = _options(last.options)
        doubts = {str(partition): doubt.message for partition, doubt in maps.doubts.items()}
        doubts |= {str(partition): why for partition, why in unmapped.items()}
        if not pins and not doubts:
            doubts[link_id] = "no lane of the link has begun"
        return VerifySpec(
            link=link_id,
            run=f"verify-{uuid.uuid4().hex[:12]}",
            source=source,
            target=target,
            pins=tuple(pins),
            reader=options.reader,
            levels=options.levels,
            rate_limit=options.rate_limit,
            samples=options.samples,
            values=options.values,
            since=since,
            again=again,
            doubts=doubts,
        )


async def _pins(here: Cluster, there: Cluster, maps: LinkMaps) -> list[Pin]:
    lanes = list(maps)
    if not lanes:
        return []
    ours, theirs = await asyncio.gather(
        ends(here, [lane.source for lane in lanes], stable=True), ends(there, [lane.target for lane in lanes])
    )
    compacted = await asyncio.gather(
        _compacted(here, {lane.source.topic for lane in lanes}),
        _compacted(there, {lane.target.topic for lane in lanes}),
    )
    return [
        pin(
            str(lane.lane),
            lane.source,
            lane.target,
            lane.runs,
            LogEnds(*ours[lane.source]),
            LogEnds(*theirs[lane.target]),
            compacts=(lane.source.topic in compacted[0], lane.target.topic in compacted[1]),
        )
        for lane in lanes
    ]


async def _unmapped(here: Cluster, maps: LinkMaps) -> dict[TopicPartition, str]:
    """Why partitions that the link copies and that hold something cannot be compared: nothing was copied yet."""
    topics = (await here.metadata(sorted(maps.topics))).topics if maps.topics else {}
    blank = [
        partition
        for name, topic in topics.items()
        if not topic.error
        for number in topic.partitions
        if (partition := TopicPartition(name, number)) not in maps.doubts
        and not ((lane := maps.maps.get(partition)) and lane.runs)
    ]
    found = {}
    for partition, (start, end) in (await ends(here, blank, stable=True) if blank else {}).items():
        lane = maps.maps.get(partition)
        first = start if lane is None else max(start, lane.runs.source_end)
        if first < end:
            found[partition] = f"it has no map yet: nothing of its offsets {first:,} to {end:,} was copied"
    return found


async def _compacted(cluster: Cluster, topics: set[str]) -> set[str]:
    """The topics whose cleanup policy compacts now; one whose configuration may not be read counts as not compacted."""
    found = await admin.topic_configs(cluster, sorted(topics))
    return {
        topic
        for topic, configs in found.items()
        if (policy := configs.get("cleanup.policy")) is not None and "compact" in (policy.value or "")
    }


def _cut(pin: Pin, to: tuple[int, int]) -> Pin:
    """The pin up to where the stopped run's went."""
    return pin.up_to(max(pin.source_from, to[0]), max(pin.target_from, to[1]))


def _options(stored: Mapping[str, Any]) -> VerifyOptions:
    return VerifyOptions(
        Reader(stored["reader"]),
        Levels(stored["levels"]),
        stored["rate_limit"],
        int(stored["samples"]),
        bool(stored["values"]),
    )


def _status(verified: Verified, link_id: str) -> VerifyStatus:
    run = verified.runs.get(link_id)
    if run is None:
        raise NeverVerifiedError(link_id)
    lanes = tuple(lane for name, lane in sorted(verified.lanes.items()) if name.startswith(f"{link_id}/"))
    return VerifyStatus(run, lanes, verified.reports.get(link_id), now_ms())
