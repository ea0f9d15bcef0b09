"""The demo step by step."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from anabranch.cli.words import count, size
from anabranch.errors import AnabranchError, ClusterError
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneProgress
from anabranch.model.link import ClusterRef, LinkSpec
from anabranch.model.reports import LinkStatus
from anabranch.model.totals import totals
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.sandbox.process import SupervisedProcess
from anabranch.sandbox.replay_process import ReplayProcess
from examples.demo import group, job, load, proof, serving
from examples.demo.screen import Screen
from qa import links
from qa.brokers import retry

LINK = "old-new"
GROUP = "delay-report"
GROUP_AT = (0.5, 0.9, 0.99, 0.999)
# The history would be copied in two seconds: slow enough to be watched, until the killed worker's lanes are back.
RATE_LIMIT = 2_000_000
KILL_AT = 0.25
LIFT_AT = 0.6
LEASE_SECONDS = 15
TIMEOUT_S = 600.0
_LOOK_SECONDS = 0.5
_END_SECONDS = 30.0


class DemoStuckError(ClusterError):
    """The link did not get where it should in time."""

    @property
    def message(self) -> str:
        return f"the link did not get on for {TIMEOUT_S:.0f} s"

    @property
    def hint(self) -> str:
        return "run `make demo` again on a machine with less to do"


class Story:
    """Clusters, producers and the link's job of one demo; leaving the ``with`` block ends them all."""

    def __init__(self, screen: Screen, scratch: Path) -> None:
        self._screen = screen
        self._scratch = scratch
        self._resources = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._resources.close()

    def tell(self) -> bool:
        """All steps; returns whether everything was equal."""
        self._screen.title("Anabranch: copy a Kafka cluster while it is written to, kill a worker, and prove the copy")
        old, new = self._clusters()
        producers = self._producers(old)
        source, target = context(old), context(new)
        running = self._link(source, target)
        survived = self._copy(target)
        produced = self._end(target, old, running, producers)
        equal = self._prove(source, target, old, new, produced) and survived
        if serving.is_wanted():
            self._serve(old, new)
        return equal

    def _serve(self, old: SandboxCluster, new: SandboxCluster) -> None:
        """Leave the service up, with the link running and records arriving, until Ctrl-C."""
        self._screen.step("the service, beside both clusters; producers and the link go on")
        for producer in load.start_producers(old, self._scratch):
            self._resources.callback(end_producer, producer)
        running = job.start_job(context(new), context(old), LINK, 60, self._scratch)
        self._resources.callback(running.terminate, _END_SECONDS)
        text, port = serving.token(self._scratch), serving.free_port()
        served = serving.serve(self._scratch, {"old": old.context(), "new": new.context()}, port)
        self._resources.callback(serving.end, served, self._scratch)
        serving.await_answer(served, port)
        self._screen.say(f"http://127.0.0.1:{port}", "bold green")
        self._screen.say(f"sign in with the token {text}")
        self._screen.say("Ctrl-C ends it all")
        with suppress(KeyboardInterrupt):
            while served.alive:  # the link may be stopped by its page
                time.sleep(_LOOK_SECONDS)
            raise served.failure("ended")
        self._screen.say("the service, the link, the producers and the clusters are ended")

    def _clusters(self) -> tuple[SandboxCluster, SandboxCluster]:
        specs = [ClusterSpec("old"), ClusterSpec("new")]
        self._screen.step("two clusters (the first time Maven brings the jars of Kafka)")
        old, new = start_clusters(specs)
        for cluster in (old, new):
            self._resources.callback(cluster.stop)
            self._screen.say(f"{cluster.spec.name}  Kafka {cluster.spec.version} at {cluster.bootstrap}")
        return old, new

    def _producers(self, old: SandboxCluster) -> list[ReplayProcess]:
        self._screen.step("the flights of 2013 into old, by producers that go on running")
        history = load.load_history(old)
        self._screen.say("history: " + ", ".join(f"{count(number)} {topic}" for topic, number in history.items()))
        producers = load.start_producers(old, self._scratch)
        for producer in producers:
            self._resources.callback(end_producer, producer)
        self._screen.say("and more: " + ", ".join(f"{rate:,.0f} {topic}/s" for topic, rate in load.RATES.items()))
        return producers

    def _link(self, source: ClusterContext, target: ClusterContext) -> SupervisedProcess:
        self._screen.step(f"link {LINK}: a Spark streaming query with two workers")
        spec = LinkSpec(
            LINK,
            ClusterRef(source.name, ""),
            ClusterRef(target.name, ""),
            rate_limit=RATE_LIMIT,
            lease_seconds=LEASE_SECONDS,
        )
        report = links.create(source, target, spec).plan
        for finding in report.findings:
            self._screen.say(f"{finding.severity}: {finding.what}", "yellow")
        running = job.start_job(target, source, LINK, LEASE_SECONDS, self._scratch)
        self._resources.callback(running.kill)
        lanes = sum(topic.partitions for topic in report.topics)
        self._screen.say(
            f"{len(report.topics)} topics, {lanes} lanes, at most {size(RATE_LIMIT)}/s to begin with; Spark starts"
        )
        return running

    def _copy(self, target: ClusterContext) -> bool:
        with self._screen.progress() as show:
            # Between two leases nobody may hold a lane.
            status = self._until(
                target, show, lambda found: (totals(found).done or 0.0) >= KILL_AT and job.is_owned(found)
            )
            killed, lanes = job.busiest_worker(status)
            before = {lane.lane: lane for lane in status.lanes if job.owner_pid(lane) == killed}
            job.kill_worker(killed)
        self._screen.step(f"SIGKILL to worker {killed}, which holds {lanes} of {len(status.lanes)} lanes")
        struck = time.monotonic()
        with self._screen.progress() as show:

            def taken_over(found: LinkStatus) -> bool:
                mine = [lane for lane in found.lanes if lane.lane in before]
                return all(job.owner_pid(lane) != killed and moved(lane, before[lane.lane]) for lane in mine)

            status = self._until(target, show, taken_over)
        self._screen.say(f"other processes own its lanes and copy on, {time.monotonic() - struck:.1f} s later", "green")
        return len(before) > 0

    def _end(
        self, target: ClusterContext, old: SandboxCluster, running: SupervisedProcess, producers: list[ReplayProcess]
    ) -> dict[tuple[str, int], int]:
        with self._screen.progress() as show:
            self._until(target, show, lambda found: (totals(found).done or 0.0) >= LIFT_AT)
        links.set_wanted(target, LINK, rate_limit=None)
        self._screen.step("the rate limit is lifted while the link runs")
        with self._screen.progress() as show:
            self._until(target, show, lambda found: (totals(found).done or 0.0) >= 0.99)
        for producer in producers:
            producer.stop()
        self._commit(old)
        ends = proof.ends(old.client_config(), load.PARTITIONS)
        self._screen.step(f"producers stopped at {count(sum(ends.values()))} records; the link catches up")
        stopped = time.monotonic()
        with self._screen.progress() as show:
            status = self._until(target, show, lambda found: reached(found, ends))
        self._screen.say(
            f"all {len(status.lanes)} lanes at the end of their logs {time.monotonic() - stopped:.1f} s later"
        )
        job.stop_job(running)
        return ends

    def _commit(self, old: SandboxCluster) -> None:
        ends = proof.ends(old.client_config(), {"flights": load.PARTITIONS["flights"]})
        positions = {key: int(end * share) for (key, end), share in zip(ends.items(), GROUP_AT, strict=True)}
        group.commit(old.client_config(), GROUP, positions)

    def _prove(
        self,
        source: ClusterContext,
        target: ClusterContext,
        old: SandboxCluster,
        new: SandboxCluster,
        produced: dict[tuple[str, int], int],
    ) -> bool:
        self._screen.step("the proof: every record of both clusters read by another client (librdkafka)")
        status = links.show(target, LINK)
        lanes = proof.prove(status, old.client_config(), new.client_config(), target)
        topics = proof.topics(lanes)
        self._screen.table(
            "TOPIC", "PARTITIONS", "RECORDS IN old", "IN new", "DIGEST OF old", "OF new", "",
            rows=[
                (
                    one.topic,
                    str(one.partitions),
                    *(count(number) for number in one.records),
                    *one.digests,
                    "[green]equal[/]" if one.equal else "[bold red]DIFFERENT[/]",
                )
                for one in topics
            ],
        )  # fmt: skip
        self._screen.say("digest: key, value, headers, timestamp of every record, in order", "dim")
        for lane in lanes:
            for sample in lane.samples:
                self._screen.say(f"{lane.progress.source}: {sample}", "red")
        whole = sum(one.records[0] for one in topics) == sum(produced.values()) and len(lanes) == len(produced)
        self._screen.step("the runs in __anabranch_runs, held against both logs")
        self._screen.table(
            "LANE", "MODE", "SOURCE", "TARGET", "RUNS", "RECORDS IN RUNS", "",
            rows=[
                (
                    str(lane.progress.source),
                    lane.progress.mode,
                    f"{lane.persisted.source_start}-{lane.persisted.source_end}",
                    f"{lane.persisted.target_start}-{lane.persisted.target_end}",
                    str(len(lane.persisted)),
                    count(lane.persisted.records),
                    "[green]true[/]" if lane.equal else "[bold red]UNTRUE[/]",
                )
                for lane in lanes
            ],
            left=2,
        )  # fmt: skip
        answers = self._group(source, target, new, lanes)
        equal = whole and all(one.equal for one in topics) and all(lane.equal for lane in lanes)
        equal = equal and bool(answers) and all(one.same for one in answers)
        text = "Equal: nothing lost, repeated, reordered or altered." if equal else "NOT equal; see above."
        self._screen.verdict(equal, text)
        return equal

    def _group(
        self, source: ClusterContext, target: ClusterContext, new: SandboxCluster, lanes: list[proof.LaneProof]
    ) -> list[group.GroupAnswer]:
        self._screen.step(f"consumer group {GROUP} is moved from old to new, and reads on there")
        done = group.move(source, target, LINK, GROUP)
        for reason in done.reasons:
            self._screen.say(f"{reason.why}: {reason.what}", "red")
        read = group.read_on(new.client_config(), GROUP, "flights")
        by_source = {str(lane.progress.source): lane for lane in lanes}
        answers = [
            group.answer(by_source[str(moved.source)], moved, read.get(moved.source.partition, []))
            for moved in done.moves
        ]
        self._screen.table(
            "PARTITION", "POSITION IN old", "IN new", "READ ON", "", "MIRRORMAKER 2", "WOULD READ AGAIN",
            rows=[
                (
                    one.partition,
                    count(one.position),
                    "-" if one.exact is None else count(one.exact),
                    count(one.read),
                    "[green]exactly what was unread[/]" if one.same else "[bold red]SOMETHING ELSE[/]",
                    "none" if one.mirror_maker is None else count(one.mirror_maker),
                    "-" if one.read_again is None else count(one.read_again),
                )
                for one in answers
            ],
        )  # fmt: skip
        self._screen.say("MirrorMaker 2 at its best: its offset syncs and its 64 slots, read in order", "dim")
        return answers

    def _until(
        self, target: ClusterContext, show: Callable[[LinkStatus], None], there: Callable[[LinkStatus], bool]
    ) -> LinkStatus:
        """Look twice a second until ``there``; raises ``DemoStuckError`` after ten minutes."""
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            status = retry(lambda: links.show(target, LINK))
            show(status)
            if there(status):
                return status
            time.sleep(_LOOK_SECONDS)
        raise DemoStuckError


def context(cluster: SandboxCluster) -> ClusterContext:
    """How the link reaches a sandbox cluster."""
    return ClusterContext(cluster.spec.name, tuple(cluster.bootstrap.split(",")))


def moved(now: LaneProgress, before: LaneProgress) -> bool:
    """Whether a lane was copied further since."""
    return now.position > before.position


def reached(status: LinkStatus, ends: dict[tuple[str, int], int]) -> bool:
    """Whether every lane stands where its source ends."""
    at = {(lane.source.topic, lane.source.partition): lane.position for lane in status.lanes}
    return all(at.get(key, -1) >= end for key, end in ends.items())


def end_producer(producer: ReplayProcess) -> None:
    """End a producer that may have ended or failed already."""
    with suppress(AnabranchError):
        producer.stop(5.0)
