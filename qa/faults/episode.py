"""One episode: fresh clusters, a link under load and faults, and the proof at the end."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from anabranch.errors import AnabranchError
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa import brokers
from qa.faults.injector import FaultInjector
from qa.faults.ledger import Ledger
from qa.faults.load import Load
from qa.faults.proof import Proof, prove
from qa.faults.schedule import LOCAL_KINDS, FaultKind, schedule
from qa.faults.standalone import StandaloneSpark
from qa.faults.testbed import LINK, LinkTestbed
from qa.faults.topics import CLEANER_SETTINGS, SOURCE_SETTINGS, LoadTopic, TopicKind, create_topics
from qa.links import abort_transaction
from qa.timeouts import LONG_TIMEOUT_S

CATCH_UP_S = LONG_TIMEOUT_S
QUIET_S = 3.0
QUIET_LOOKS = 5
TOPICS = (LoadTopic("history", 3, old=True), LoadTopic("live", 2, old=False))
#: Logs of every kind.
EVERY_KIND = (
    LoadTopic("history", 2, old=True),
    LoadTopic("live", 1, old=False),
    LoadTopic("payments", 2, old=False, kind=TopicKind.TRANSACTIONAL),
    LoadTopic("balances", 2, old=False, kind=TopicKind.COMPACTED),
    LoadTopic("stock", 1, old=False, kind=TopicKind.BOTH_COMPACTED),
    LoadTopic("clicks", 1, old=False, kind=TopicKind.SINGLE),
    LoadTopic("stamped", 1, old=False, kind=TopicKind.APPEND_TIME),
)
#: Beside them where elections are unclean: the target takes back what it has acknowledged of these.
LOSABLE = (
    LoadTopic("history-losable", 1, old=True, unclean=True),
    LoadTopic("live-losable", 1, old=False, unclean=True),
    LoadTopic("payments-losable", 1, old=False, kind=TopicKind.TRANSACTIONAL, unclean=True),
)


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """What an episode is made of.

    ``seconds`` is how long faults are injected, on average ``gap`` apart; ``expiration_ms`` the target's
    ``producer.id.expiration.ms`` (None: Kafka's default of a day, under which ``live`` becomes identity);
    ``standalone`` runs Spark on a master with two workers of one core and speculation, else it is ``local[2,8]``.
    ``catch_up_s`` is how long the link may take to reach the source's end after the last fault.  ``stop_under_load``
    ends it once while producers go on, and sees that nothing is appended after.  ``environment`` is given to every
    process of the link.
    """

    seed: int
    seconds: float
    gap: float = 4.0
    kinds: Sequence[FaultKind] = LOCAL_KINDS
    long_share: float = 0.0
    standalone: bool = False
    source_brokers: int = 1
    target_brokers: int = 1
    expiration_ms: int | None = 60_000
    idle_ms: int = 600_000
    lease_seconds: int = 10
    rate: int = 1500
    topics: Sequence[LoadTopic] = TOPICS
    catch_up_s: float = CATCH_UP_S
    stop_under_load: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class EpisodeResult:
    """What came out; the link held if ``wrong`` is empty."""

    spec: EpisodeSpec
    injections: dict[FaultKind, int]
    moves: int
    transactions: tuple[int, int, int]
    ended_by_hand: int
    proof: Proof
    runs: int
    speculative_attempts: int
    slowest_end: float
    caught_up_after: float | None
    seconds: float
    exits: list[str]
    wrong: list[str]

    @property
    def never_injected(self) -> list[FaultKind]:
        """Kinds that were wanted and never injected."""
        return [kind for kind in self.spec.kinds if not self.injections.get(kind)]

    @property
    def found(self) -> list[str]:
        """All that is wrong: a run that ended by itself was ended by an error, and a link in a crash loop catches up
        all the same."""
        return [*self.wrong, *(f"a run ended: {one}" for one in self.exits)]

    def lines(self) -> list[str]:
        """The verdict for people."""
        spec, proof = self.spec, self.proof
        spark = "standalone, speculation" if spec.standalone else "local[2,8]"
        told = [
            f"episode {spec.seed}: {spark}, {spec.source_brokers} -> {spec.target_brokers} brokers, "
            f"{self.seconds:.0f} s, expiration {spec.expiration_ms or 'default'}",
            *(f"  {count:4d} x {kind}" for kind, count in sorted(self.injections.items())),
            f"  {proof.records} records in {proof.lanes} lanes {proof.modes}, {proof.claims} claims, "
            f"{proof.markers} kills, {proof.ranges} runs of the map, {proof.gap_records} records of gap records, "
            f"{proof.differences} differences",
            "  {} transactions were committed, {} aborted, {} left hanging, ".format(*self.transactions)
            + f"{self.ended_by_hand} ended by hand; {proof.cleaned} records were cleaned from compacted sources; "
            f"{self.moves} leaders moved",
            f"  {self.runs} runs of the link, {len(self.exits)} ended by themselves, {self.speculative_attempts} "
            "speculative attempts, "
            f"processes gone within {self.slowest_end:.1f} s of their driver",
            f"  caught up {self.caught_up_after:.1f} s after the last fault"
            if self.caught_up_after is not None
            else "  did not catch up",
        ]
        return [*told, *(f"  EXIT: {one}" for one in self.exits), *(f"  WRONG: {one}" for one in self.wrong)]


class ParallelWork(Protocol):
    """What goes on beside an episode's load and faults; ``finish`` is called once the link has caught up."""

    def start(self) -> None:
        """Begin: the link copies, and faults begin."""

    def finish(self, ledger: Ledger) -> list[str]:
        """Come to an end, while the link still runs, and say what was wrong."""

    def halt(self) -> None:
        """Give up: the episode failed, or is over."""


def run_episode(
    spec: EpisodeSpec,
    tell: Callable[[str], None] = print,
    keep_in: Path | None = None,
    beside: Callable[[LinkTestbed], ParallelWork] | None = None,
) -> EpisodeResult:
    """Run one episode and leave nothing running; ``keep_in`` keeps the link's logs there.

    Raises what the sandbox raises where the clusters do not start.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        root = keep_in or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="anabranch-faults-")))
        root.mkdir(parents=True, exist_ok=True)
        specs = (
            ClusterSpec("source", brokers=spec.source_brokers, proxied=True, overrides=SOURCE_SETTINGS),
            ClusterSpec("target", brokers=spec.target_brokers, proxied=True, overrides=_target_settings(spec)),
        )
        source, target = start_clusters(specs)
        stack.enter_context(source)
        stack.enter_context(target)
        spark = None
        if spec.standalone:
            spark = stack.enter_context(StandaloneSpark(root, environment=dict(spec.environment)))
        testbed = LinkTestbed(
            root,
            source,
            target,
            lease_seconds=spec.lease_seconds,
            standalone=spark,
            environment=spec.environment,
        )
        create_topics(source, spec.topics)
        testbed.create_link()
        stack.callback(testbed.end_all)
        load = Load(source.client_config(), spec.topics, spec.rate, spec.seed)
        stack.callback(load.halt)
        injector = FaultInjector(testbed, spec.topics, tell)
        testbed.keep()
        _await_progress(testbed, spec.topics)
        others = beside(testbed) if beside is not None else None
        if others is not None:
            stack.callback(others.halt)
            others.start()
        injector.run_schedule(schedule(spec.seed, spec.seconds, spec.kinds, spec.gap, spec.long_share))
        wrong = list(injector.failures)
        if spec.standalone:
            _await_speculative_attempt(root)
        if spec.stop_under_load:
            tell("all faults are undone; the link ends and begins again")
            _await_progress(testbed, spec.topics)
            testbed.stop_runs()
            wrong += _growth(target, spec.topics)
            testbed.keep()
        load.stop()
        tell(f"all faults are undone and {load.sent} records were sent: waiting for the link")
        by_hand, open_still = end_transactions(testbed, spec.topics)
        wrong += open_still
        ended = time.monotonic()
        caught_up = _caught_up(testbed, spec.topics, ended, spec.catch_up_s)
        if caught_up is None:
            wrong.append(f"the link did not catch up within {spec.catch_up_s:.0f} s: {_states(testbed)}")
        if others is not None:
            wrong += others.finish(load.ledger)
        testbed.stop_runs()
        wrong += testbed.notes.wrong
        wrong += _growth(target, spec.topics)
        proof = prove(source, target, testbed.target_context, LINK, spec.topics, load.ledger)
        return EpisodeResult(
            spec,
            dict(injector.injected),
            injector.moves,
            load.transactions,
            by_hand,
            proof,
            testbed.notes.runs,
            _speculative_attempts(root),
            testbed.notes.slowest_end,
            caught_up,
            time.monotonic() - began,
            testbed.notes.exits,
            [*wrong, *proof.wrong],
        )


def _target_settings(spec: EpisodeSpec) -> dict[str, str]:
    settings = {
        **CLEANER_SETTINGS,
        "producer.id.expiration.check.interval.ms": "1000",
        "connections.max.idle.ms": str(spec.idle_ms),
    }
    if spec.expiration_ms is not None:
        settings["producer.id.expiration.ms"] = str(spec.expiration_ms)
    return settings


def _await_progress(testbed: LinkTestbed, topics: Sequence[LoadTopic], seconds: float = LONG_TIMEOUT_S) -> None:
    """Wait until a run copies: faults before that would only hit Spark's start."""
    deadline = time.monotonic() + seconds
    before = sum(watermarks(testbed.target, topics).values())
    while sum(watermarks(testbed.target, topics).values()) <= before:
        if time.monotonic() > deadline:
            logs = "\n".join(path.read_text(errors="replace")[-2000:] for path in testbed.root.glob("run-*.log"))
            raise RuntimeError(f"the link copied nothing in {seconds:.0f} s:\n{_states(testbed)}\n{logs}")
        time.sleep(0.2)


def _await_speculative_attempt(root: Path, seconds: float = LONG_TIMEOUT_S) -> None:
    """Wait for a speculative attempt, which any task gets that runs for long enough beside an executor with room."""
    deadline = time.monotonic() + seconds
    while not _speculative_attempts(root) and time.monotonic() < deadline:
        time.sleep(0.5)


def end_transactions(
    testbed: LinkTestbed, topics: Sequence[LoadTopic], seconds: float = LONG_TIMEOUT_S
) -> tuple[int, list[str]]:
    """Wait until no transaction is open at the source: how many had to be ended by hand, and which could not.

    Timeouts end those of the load.  A request that a stopped broker carries out after its transaction was ended opens
    it once more, and no coordinator knows of it then (KIP-890): what the product names as hanging is ended with it.
    """
    ended, refused, deadline = 0, dict[str, str](), time.monotonic() + seconds
    while True:
        stable, ends = watermarks(testbed.source, topics, committed=True), watermarks(testbed.source, topics)
        still = [place for place, end in ends.items() if stable.get(place) != end]
        if not still:
            return ended, []
        if time.monotonic() > deadline:
            return ended, [f"a transaction stays open on {name}-{number}: {refused}" for name, number in still]
        time.sleep(0.5)
        for name, number in still:
            where = f"{name}:{number}"
            try:
                abort_transaction(testbed.source_context, testbed.target_context, LINK, where)
                ended += 1
            except AnabranchError as error:  # mostly that it will end by itself
                refused[where] = error.message


def _growth(target: SandboxCluster, topics: Sequence[LoadTopic]) -> list[str]:
    """What is appended to the target by something that goes on after the link's end.

    Not what the link had sent before: a broker that is slow takes it from its connections, and hears of its followers,
    later than the processes are gone.
    """
    before = after = watermarks(target, topics)
    for _ in range(QUIET_LOOKS):
        before = after
        time.sleep(QUIET_S)
        after = watermarks(target, topics)
        if before == after:
            return []
    return [f"the target grew after the link's end: {before} to {after}"]


def watermarks(
    cluster: SandboxCluster, topics: Sequence[LoadTopic], *, committed: bool = False
) -> dict[tuple[str, int], int]:
    """The high watermarks (``committed``: the last stable offsets) of those of the loaded topics that exist.

    A broker that is late is waited for: what is left out would look as if it had grown, or need not be waited for.
    """
    config = cluster.client_config()
    there = brokers.existing(config, [topic.name for topic in topics])
    places = [(name, partition) for name, count in there.items() for partition in range(count)]
    isolation = "read_committed" if committed else "read_uncommitted"
    return brokers.log_ends({**config, "isolation.level": isolation}, places)


def _caught_up(testbed: LinkTestbed, topics: Sequence[LoadTopic], since: float, seconds: float) -> float | None:
    """Seconds from ``since`` until every lane stood at its source's end; None if that took too long."""
    wanted = watermarks(testbed.source, topics)
    while time.monotonic() - since < seconds:
        positions = {(lane.source.topic, lane.source.partition): lane.position for lane in testbed.lanes()}
        if all(positions.get(key, 0) >= end for key, end in wanted.items()):
            return time.monotonic() - since
        time.sleep(0.3)
    return None


def _states(testbed: LinkTestbed) -> str:
    return "; ".join(
        f"{lane.source} at {lane.position} of {lane.high_watermark}, {lane.state} by {lane.owner}: "
        f"{lane.stop_reason or lane.mode_reason}"
        for lane in testbed.lanes()
    )


def _speculative_attempts(root: Path) -> int:
    """How many speculative tasks Spark started, by its event logs."""
    count = 0
    for path in (root / "events").glob("*"):
        # A driver that ends in order gives its log another name, which the next look finds.
        with suppress(FileNotFoundError), path.open(errors="replace") as lines:
            for line in lines:
                if '"SparkListenerTaskStart"' in line:
                    try:
                        count += bool(json.loads(line)["Task Info"]["Speculative"])
                    except (ValueError, KeyError):
                        continue  # the last line of a killed driver is torn
    return count
