"""One life of a link: load, faults at drawn moments, then quiet, and the judge of the real clusters.

A seed draws everything: what kinds of logs there are, how they are written, which faults fall when and for how long.
What must hold does not hang on any of it:

    L1  what a read-committed reader of the source sees is what any reader of the target sees, in the same order;
    L2  what is persisted of the offset maps says where each record lies, exactly, whenever it is looked at;
    L3  the target's log alone gives the same maps back;
    L4  no lane ever stops, no run ends by an error that a person must fix, and once all is quiet the link
        catches up by itself.
"""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from anabranch.config.jobspec import LinkJob
from anabranch.errors import AnabranchError
from anabranch.kafka.security import open_cluster
from anabranch.kafka.simulated import ClusterPlan, SimulatedCluster
from anabranch.kafka.simulated.access import CLUSTER_NAME
from anabranch.kafka.simulated.partition import NO_LEADER
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext, PasswordLogin, SaslMechanism, Security, SecurityProtocol
from anabranch.model.lane import LaneState
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, ModePolicy, WantedState
from anabranch.model.plugins import PluginSpec
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.offsets.offset_map import MappedRange
from anabranch.protocol.endings import Stop
from anabranch.state.segments.index import in_order
from anabranch.state.topics.control import Links, MappedRanges, Progress, ensure_topics
from qa.faults.proof import Persisted, Proof, joined, persisted_of, weigh
from qa.faults.topics import SOURCE_SETTINGS, LoadTopic, TopicKind
from qa.logcompare import ComparedRecord
from qa.simulation.claims import longest_held_s
from qa.simulation.faults import Fault, Faults
from qa.simulation.load import Load, entries
from qa.simulation.run import Run
from qa.simulation.scheduler import Process, State
from qa.simulation.world import World

LINK = "link"
MOVER, PASSWORD = "mover", "ANABRANCH_SIMULATED_PASSWORD"
"""Who copies where not everybody may do everything; the password is looked for in the environment."""
UNHURRIED = 4
"""One life of so many has its faults as slowly as its plan says."""
QUIET_S = 0.5


@dataclass(frozen=True, slots=True)
class Plan:
    """What a life is made of, before its seed draws the rest; times in virtual seconds.

    At a ``pace`` of two, three lives of four have as many faults in half the time, one upon the other: they take less
    computing, and meet more.  ``expiration_ms`` is the target's ``producer.id.expiration.ms``, whose check runs every
    second.  ``may_mark`` says that the target lets the link write markers (ALTER on the cluster), ``may_ask`` that it
    tells the link its settings where it does not (DescribeConfigs).
    """

    name: str
    topics: Sequence[LoadTopic]
    faults: Sequence[Fault]
    seconds: float = 12.0
    gap_s: float = 0.8
    pace: float = 2.0
    load_gap_s: float = 0.15
    burst: int = 0
    catch_up_s: float = 400.0

    brokers: int = 1
    version: str = "4.3.1"
    expiration_ms: int = 86_400_000
    lease_s: tuple[float, float] = (1.0, 6.0)
    slots: int = 2
    mode: ModePolicy = ModePolicy.AUTO
    may_mark: bool = True
    may_ask: bool = False

    @property
    def names(self) -> list[str]:
        """Those of the topics."""
        return [topic.name for topic in self.topics]

    def at(self, pace: float) -> Plan:
        """This plan with its faults so many times as fast, whatever the seed."""
        return replace(self, seconds=self.seconds / pace, gap_s=self.gap_s / pace, pace=1.0)


@dataclass(slots=True)
class Outcome:
    """What came of a life; it held where ``wrong`` is empty.

    ``leapt_s`` is what the wall clock leapt, ``longest_claim_s`` how long a claim was held by it at most.
    """

    plan: str
    seed: int
    proof: Proof
    struck: dict[Fault, int] = field(default_factory=dict)
    runs: int = 0
    looks: int = 0
    seconds: float = 0.0
    steps: int = 0
    leapt_s: float = 0.0
    longest_claim_s: float = 0.0
    wrong: list[str] = field(default_factory=list)
    raced: set[tuple[str, int]] = field(default_factory=set)
    """Partitions of the one race that remains: a leader that was lost to an unclean election led again before its lane
    had noticed, and the lane has stopped since.  What is wrong of these says nothing."""


class Life:
    """A world with a link in it."""

    def __init__(self, plan: Plan, seed: int) -> None:
        self.plan = plan = plan.at(plan.pace if seed % UNHURRIED else 1.0)
        self.world = World(seed)
        self.outcome = Outcome(plan.name, seed, Proof())
        self._runs: list[Run] = []
        self._numbers = 0
        self._keeps = True
        self._observer: Process | None = None
        self._progress: dict[tuple[str, int], tuple[int, LaneState, str | None]] = {}
        self._target_ends: dict[tuple[str, int], int] = {}
        self._stopped: set[str] = set()
        self._last_copied: dict[tuple[str, int], int] = {}
        self.source = self._cluster("source", "3.9.1" if seed % 3 == 0 else "4.3.1", SOURCE_SETTINGS)
        target = {
            "producer.id.expiration.ms": str(plan.expiration_ms),
            "producer.id.expiration.check.interval.ms": "1000",
            "log.cleaner.backoff.ms": "300",
            "replica.lag.time.max.ms": "3000",
        }
        self.target = self._cluster("target", plan.version, target)
        self.load = Load(self.source, tuple(plan.topics), plan.load_gap_s, plan.burst)
        self.faults = Faults(
            self.world,
            self.source,
            self.target,
            plan.topics,
            self._runs,
            self._start_run,
            lambda paused: self._operate(paused=paused),
            lambda names: self._operate(names=names),
            self._persisted_to,
            self.outcome.struck,
        )

    def _cluster(self, name: str, version: str, overrides: dict[str, str] | object) -> SimulatedCluster:
        addresses = [(f"{name}-{number}", 9092) for number in range(1, self.plan.brokers + 1)]
        settings = dict(overrides) if isinstance(overrides, dict) else dict(SOURCE_SETTINGS)
        # Without the right to write markers a takeover fences through the transaction coordinator.
        authorizer = name == "target" and not self.plan.may_mark
        users = {MOVER: "secret"} if authorizer else {}
        seed = self.world.chance.getrandbits(32)
        made = self.world.cluster(ClusterPlan(name, version, addresses, settings, users, authorizer, seed=seed))
        rules = [(kind, "*", AclOperation.ALL) for kind in (ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID)]
        if self.plan.may_ask:
            rules.append((ResourceType.CLUSTER, CLUSTER_NAME, AclOperation.DESCRIBE_CONFIGS))
        made.access.rules += [
            Acl(kind, resource, PatternType.LITERAL, f"User:{MOVER}", "*", operation, AclPermission.ALLOW)
            for kind, resource, operation in rules
        ]
        return made

    def context(self, name: str) -> ClusterContext:
        """How processes reach a cluster."""
        cluster = self.world.clusters[name]
        addresses = tuple(f"{broker.host}:{broker.port}" for broker in cluster.brokers.values())
        if not cluster.access.authorizer:
            return ClusterContext(name, addresses)
        os.environ[PASSWORD] = cluster.access.users[MOVER]
        login = PasswordLogin(SaslMechanism.PLAIN, MOVER, SecretRef(SecretKind.ENV, PASSWORD))
        return ClusterContext(name, addresses, Security(SecurityProtocol.SASL_PLAINTEXT, login=login))

    # -- the whole -------------------------------------------------------------------------------------

    def live(self) -> Outcome:
        """From the first record to the verdict."""
        world, plan = self.world, self.plan
        with world.entered():
            self.load.start()
            world.ask(lambda: asyncio.run(self._store_link()))
            self._keep()
            self._observer = world.process("observer", self._observe)
            world.scheduler.run(lambda: bool(self._progress), 60.0)
            self.faults.begin(plan.faults, plan.gap_s, world.scheduler.now + plan.seconds)
            world.scheduler.run(lambda: False, plan.seconds)
            self._quiet()
            self.load.stop()
            self._catch_up()
            self._stop_runs()
            self._observer.kill()
            self._judge()
        self.outcome.seconds, self.outcome.steps = world.scheduler.now, world.scheduler.steps
        self.outcome.leapt_s = world.scheduler.leapt_ms / 1000
        self.outcome.longest_claim_s = longest_held_s(self.target)
        self.outcome.wrong += sorted(self._stopped)
        for name, error in world.scheduler.failures:
            where = "".join(traceback.format_exception(error)[-3:])
            self.outcome.wrong.append(f"{name} ended by {type(error).__name__}: {error}\n{where}")
        for cluster in world.clusters.values():
            self.outcome.wrong += [f"{cluster.plan.name} could not answer: {one}" for one in cluster.unanswered[:3]]
        return self.outcome

    async def _store_link(self) -> None:
        async with open_cluster(self.context("target")) as target:
            await ensure_topics(target)
            links = Links(target)
            await links.sync()
            spec = LinkSpec(
                LINK,
                ClusterRef("source", self.source.id),
                ClusterRef("target", self.target.id),
                _filter(self.plan.names),
                replication_factor=min(3, self.plan.brokers),
                mode=self.plan.mode,
            )
            await links.put(LinkRecord(WantedState(spec), (self.source.id,), now_ms()))

    # -- runs ------------------------------------------------------------------------------------------

    def _keep(self) -> None:
        """See to it that a run is there, as whoever operates a link does."""
        if not self._keeps:
            return
        alive = [run for run in self._runs if run.driver is not None and run.driver.state is not State.DEAD]
        if not alive:
            self._start_run()
        self.world.scheduler.call_later(0.5, self._keep)

    def _start_run(self) -> None:
        self._numbers += 1
        chance = self.world.chance
        job = LinkJob(
            LINK,
            f"run-{self._numbers}",
            self.context("source"),
            self.context("target"),
            chance.uniform(*self.plan.lease_s),
        )
        run = Run(self.world, job, self.plan.slots, lambda: chance.choice([0, 0, 0, -3000, 2500]))
        self._runs.append(run)
        run.start()
        self.outcome.runs += 1

    def _stop_runs(self) -> None:
        self._keeps = False
        for run in self._runs:
            run.stop()
        if not self.world.scheduler.run(lambda: not any(run.is_alive for run in self._runs), 60.0):
            self.outcome.wrong.append("the runs did not end")
        for run in self._runs:
            self.outcome.wrong += [f"a run ended: {one}" for one in run.exits if not one.startswith("passing")]

    def _operate(self, *, paused: bool | None = None, names: list[str] | None = None) -> None:
        self.world.process("operator", lambda: asyncio.run(self._change(paused, names)))

    async def _change(self, paused: bool | None, names: list[str] | None) -> bool:
        """Change what is wanted of the link; False where the cluster could not be reached."""
        try:
            async with open_cluster(self.context("target")) as target:
                links = Links(target)
                await links.sync()
                record = links.links[LINK]
                wanted = replace(record.wanted, revision=record.wanted.revision + 1)
                if paused is not None:
                    wanted = replace(wanted, paused=paused)
                if names is not None:
                    wanted = replace(wanted, spec=replace(wanted.spec, filter=_filter(names)))
                await links.put(replace(record, wanted=wanted))
        except AnabranchError:
            return False  # whoever could not reach the cluster tries it another time
        return True

    def _quiet(self) -> None:
        """No fault lasts any longer, and the link is not paused."""
        self.faults.end()
        for _ in range(20):
            self.world.scheduler.run(lambda: False, QUIET_S)
            if self.world.ask(lambda: asyncio.run(self._change(False, self.plan.names))):
                return

    # -- looking ---------------------------------------------------------------------------------------

    def _observe(self) -> None:
        asyncio.run(self._look_on())

    async def _look_on(self) -> None:
        """Read what is persisted, about once a second, and hold it against both logs as they are in that moment."""
        async with open_cluster(self.context("target")) as target:
            progress, ranges = Progress(target), MappedRanges(target)
            while True:
                await asyncio.sleep(1.0)
                try:
                    await progress.sync()
                    await ranges.sync()
                except AnabranchError:
                    progress, ranges = Progress(target), MappedRanges(target)
                    continue
                self.outcome.looks += 1
                for key, lane in progress.lanes.items():
                    place = (lane.source.topic, lane.source.partition)
                    self._progress[place] = (lane.position, lane.state, lane.stop_reason)
                    self._target_ends[place] = lane.target_end
                    if lane.state is LaneState.STOPPED and not self._has_raced(place):
                        self._stopped.add(f"a lane stopped: {lane.stop_reason}")
                    persisted = in_order(ranges.segments.get(key, {}))
                    self._last_copied[place] = persisted[-1].source_end if persisted else 0
                    self._hold(place, persisted)

    def _persisted_to(self) -> dict[tuple[str, int], tuple[int, int]]:
        """How far the lanes have persisted; of transactional logs to the last record: an owner begins again behind
        that.
        """
        kinds = {topic.name: topic.kind for topic in self.plan.topics}
        copied = {
            place: self._last_copied[place] if kinds[place[0]] is TopicKind.TRANSACTIONAL else told[0]
            for place, told in self._progress.items()
        }
        return {place: (offset, self._target_ends[place]) for place, offset in copied.items()}

    def _hold(self, place: tuple[str, int], runs: Sequence[MappedRange]) -> None:
        """L2: of what both logs hold now, the persisted runs say exactly where it is."""
        topic = next(one for one in self.plan.topics if one.name == place[0])
        if topic.unclean or topic.kind is TopicKind.BOTH_COMPACTED or not runs:
            return  # what the target lost again is persisted until its owner has noticed
        source, target = self.source.partition(*place), self.target.partition(*place)
        if NO_LEADER in {source.leader, target.leader}:
            return
        last = runs[-1]
        here = {one.offset: one.digest for one in entries(source, committed=True, newest=40)}
        there = {one.offset: one.digest for one in entries(target, committed=False, newest=60)}
        for run in runs[-20:]:
            for at in range(run.length):
                ours, theirs = here.get(run.source + at), there.get(run.target + at)
                if ours is not None and theirs is not None and ours != theirs:
                    self.outcome.wrong.append(
                        f"{place}: while it ran, {run} was persisted, and source {run.source + at} is not there "
                        f"({last})"
                    )
                    return

    # -- the end ---------------------------------------------------------------------------------------

    def _catch_up(self) -> None:
        scheduler = self.world.scheduler
        scheduler.run(lambda: not self._open_transactions(), 30.0)
        wanted = {
            (partition.topic, partition.index): partition.stable_end(partition.led)
            for partition in self.source.partitions()
        }

        looked = -1

        def there() -> bool:
            nonlocal looked
            if looked == self.outcome.looks:
                return False
            looked = self.outcome.looks
            return all(self._progress.get(place, (0,))[0] >= end for place, end in wanted.items() if end)

        if not scheduler.run(there, self.plan.catch_up_s):
            behind = {
                place: (end, self._progress.get(place))
                for place, end in wanted.items()
                if self._progress.get(place, (0,))[0] < end
            }
            self.outcome.raced = {place for place in behind if self._has_raced(place)}
            if late := {place: behind[place] for place in behind if place not in self.outcome.raced}:
                self.outcome.wrong.append(f"the link did not catch up within {self.plan.catch_up_s:.0f} s: {late}")

    def _has_raced(self, place: tuple[str, int]) -> bool:
        """Whether a lane stopped since its batches do not follow each other, and lost its leader uncleanly before."""
        _, state, reason = self._progress.get(place, (0, None, None))
        stopped = state is LaneState.STOPPED and (reason or "").startswith(Stop.DIVERGED)
        return stopped and place in self.faults.unclean

    def _open_transactions(self) -> bool:
        return any(
            partition.leader == NO_LEADER or partition.stable_end(partition.led) < partition.high_watermark
            for partition in self.source.partitions()
        )

    def _judge(self) -> None:
        persisted: dict[tuple[str, int], Persisted] = {}
        persisted, self.outcome.proof.gap_records = self.world.ask(
            lambda: asyncio.run(persisted_of(self.context("target"), LINK)), 300.0
        )
        proof = self.outcome.proof
        for topic in self.plan.topics:
            for index in range(topic.partitions):
                if (topic.name, index) in self.outcome.raced:
                    continue
                gone = {name: self.faults.gone.get((name, topic.name, index), []) for name in self.world.clusters}
                ours = gone["source"] + entries(self.source.partition(topic.name, index), committed=True)
                there = self.target.topics.get(topic.name)
                target = None if there is None else there.partitions[index]
                if target is not None:
                    proof.markers += sum(one.header.is_control for one in target.led.log.batches)
                theirs = [] if target is None else gone["target"] + entries(target, committed=False)
                lane = persisted.get((topic.name, index))
                if lane is not None and target is not None and lane.first:
                    starts = self.source.partition(topic.name, index).led.log.start, target.led.log.start
                    lane = self._with_retired(lane, ours, theirs, starts)
                if lane is not None and target is not None and gone["target"]:
                    lane = _with_deleted(lane, target.led.log.start)
                if ours or theirs:
                    weigh(proof, topic, index, ours, theirs, lane, self.load.ledger)
        self.outcome.wrong += proof.wrong

    def _with_retired(
        self, lane: Persisted, ours: Sequence[ComparedRecord], theirs: Sequence[ComparedRecord], starts: tuple[int, int]
    ) -> Persisted:
        """The lane as if the runs that were retired were persisted still; they must be of what both logs have
        deleted.
        """
        first = lane.ranges[0]
        if first.source > starts[0] or first.target > starts[1]:
            self.outcome.wrong.append(f"runs below {first} were retired, and the logs begin at {starts}")
        pairs = zip(ours, theirs, strict=False)
        below = [MappedRange(here.offset, there.offset, 1) for here, there in pairs if there.offset < first.target]
        return replace(lane, ranges=joined((*below, *lane.ranges)))


def _filter(names: list[str]) -> PluginSpec:
    return PluginSpec("regex", {"include": names})


def _with_deleted(lane: Persisted, start: int) -> Persisted:
    """The lane as if the target's log, which begins at ``start``, gave back what was persisted of the records below."""
    below = [replace(run, length=min(run.length, start - run.target)) for run in lane.ranges if run.target < start]
    return replace(lane, rebuilt=joined((*below, *lane.rebuilt)))
