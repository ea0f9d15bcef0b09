"""Random interleavings of owners, network and faults: weights drawn again for each run, one seed each.

A run is a span of chance, then a quiet ending: a last owner copies what is left without faults, whatever is
still under way is carried out after that, the owners that are left have their say, and everything is checked.
"""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from time import perf_counter

from anabranch.protocol import LaneStopped, Stop

from .gap_mutations import GapMutation
from .gap_owner import GapOwner
from .gap_world import GapWorld
from .mutations import Mutation
from .owner import Owner
from .partition import Violation
from .source import Source
from .world import EXPIRATION_MS, HOUR_MS, NOW_MS, World

WRAP = (1 << 31) - 4
FRESH, OLD, TURNING = "fresh", "old", "turning old"
QUIET_STEPS = 600
STEP, EXECUTE = "step", "execute"
ALWAYS = ("timeout", "cut", "crash", "file", "end lease", "late append", "restart", "refuse")


@dataclass(frozen=True, slots=True)
class Variant:
    """A protocol, the lane it is tried on, and the faults that strike besides those that always do.

    ``long``: the source has more records, so that an ownership may have many gap records.
    ``forgets_ms``: producer ids are a coordinator's, which forgets them when it was not asked about them for so long.
    ``stuck``: what is on its way on a broken connection is seldom carried out soon.
    """

    key: str
    what: str
    mutation: Callable[[], Mutation] = Mutation
    identity: bool = False
    records: str = OLD
    owners: int = 2
    faults: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    sole: bool = True
    broken: bool = False
    may_stop: tuple[Stop, ...] = ()
    transactions: bool = False
    compacts: bool = False
    lease_ms: int | None = None
    expiration_ms: int = EXPIRATION_MS
    forgets_ms: int | None = None
    stuck: bool = False
    long: bool = False

    @property
    def gaps(self) -> bool:
        """Whether the source log has gaps."""
        return self.transactions or self.compacts


@dataclass(slots=True)
class Tally:
    """What came of the runs of one variant."""

    runs: int = 0
    events: int = 0
    ownerships: int = 0
    seconds: float = 0.0
    counterexamples: list[tuple[int, Violation]] = field(default_factory=list)
    strikes: Counter[str] = field(default_factory=Counter)
    stops: Counter[str] = field(default_factory=Counter)


def explore(variant: Variant, seeds: range, *, stop_at: int = 1, until: float | None = None) -> Tally:
    """Run seeds until enough counterexamples are found or the clock (perf_counter) reaches ``until``."""
    tally = Tally()
    begun = perf_counter()
    for seed in seeds:
        try:
            Run(variant, seed, tally).play()
        except Violation as violation:
            tally.counterexamples.append((seed, violation))
        tally.runs += 1
        if len(tally.counterexamples) >= stop_at or (until is not None and perf_counter() > until):
            break
    tally.seconds = perf_counter() - begun
    return tally


class Run:
    """One interleaving."""

    def __init__(self, variant: Variant, seed: int, tally: Tally) -> None:
        self.variant = variant
        self.tally = tally
        self.rng = rng = random.Random(zlib.crc32(variant.key.encode()) * 1_000_003 + seed)
        self.world: World = self._gap_world() if variant.gaps else self._dense_world()
        self.world.lease_ms = variant.lease_ms
        self.world.forgets_ms = variant.forgets_ms
        self.world.partition.expiration_ms = variant.expiration_ms
        self.world.partition.lagging = rng.random() < 0.3
        self.mutation = variant.mutation()
        self.doubt = rng.choice((0.0, 0.0, 0.05, 0.2, 0.5))
        self.names = 0
        self.owners = [self.new_owner() for _ in range(variant.owners)]
        self.spares = rng.choice((0, 1, 3))

    def _dense_world(self) -> World:
        rng, variant = self.rng, self.variant
        size = rng.choice((5, 7, 9))
        batches = []
        offset = WRAP
        turn = rng.randrange(1, size)
        for i in range(size):
            count = rng.choice((1, 1, 2))
            old = variant.records == OLD or (variant.records == TURNING and i >= turn)
            batches.append((offset, count, self._timestamp(old)))
            offset += count
        return World(batches, WRAP if variant.identity else 0, identity=variant.identity, sole=variant.sole)

    def _gap_world(self) -> GapWorld:
        variant = self.variant
        source = Source(self.rng, WRAP, long=variant.long, transactions=variant.transactions, compacts=variant.compacts)
        timestamps = {at: self._timestamp(variant.records == OLD) for at in range(source.start, source.end)}
        world = GapWorld(source, timestamps, sole=variant.sole)
        world.fenced = getattr(variant.mutation, "fenced", True)
        return world

    def _timestamp(self, old: bool) -> int:
        return NOW_MS - (10 * EXPIRATION_MS if old else self.rng.randrange(HOUR_MS))

    def new_owner(self, doubt: float | None = None) -> Owner:
        """Another process that wants the lane; its journal appends fail as often as the run says."""
        self.names += 1
        name, doubt = f"owner-{self.names}", self.doubt if doubt is None else doubt
        if isinstance(self.world, GapWorld):
            assert isinstance(self.mutation, GapMutation)
            return GapOwner(name, self.world, self.mutation, self.rng, doubt)
        return Owner(name, self.world, self.mutation, self.rng, doubt)

    def play(self) -> None:
        """Play the run to its end; raises Violation."""
        self._chance()
        self.quiet()
        self.tally.ownerships += sum(owner.ownerships for owner in self.owners)
        self.tally.strikes.update(self.world.seen)
        for owner in self.owners:
            if owner.stopped is not None:
                self._judge(owner.stopped)

    def _judge(self, stopped: LaneStopped) -> None:
        if stopped.reason not in self.variant.may_stop:
            raise Violation("STOPPED", str(stopped))
        self.tally.stops[stopped.reason.name] += 1

    # --- chance
    def _chance(self) -> None:
        rng, variant = self.rng, self.variant
        names: list[str] = [STEP, EXECUTE]
        weights: list[float] = [100.0, rng.choice((20.0, 60.0, 120.0))]
        for fault in (*ALWAYS, *variant.faults, "replicate"):
            if fault not in variant.without and (weight := rng.choice((0.0, 0.3, 1.0, 3.0, 8.0))):
                names.append(fault)
                weights.append(weight)
        cumulative = list(accumulate(weights))
        pace = [rng.choice((0.3, 1.0, 3.0)) for _ in self.owners]
        if rng.random() < 0.5:
            pace[rng.randrange(len(pace))] = 0.04
        paces = list(accumulate(pace))
        actions: dict[str, Callable[[], bool]] = {n: getattr(self, "_" + n.replace(" ", "_")) for n in names[1:]}
        length = rng.choice((60, 120, 240))
        self.tally.events += length
        for name in rng.choices(names, cum_weights=cumulative, k=length):
            if name == STEP:
                rng.choices(self.owners, cum_weights=paces)[0].step()
                self.world.partition.now_ms += 1
            elif name == EXECUTE:
                self._execute()
            elif actions[name]():
                self.tally.strikes[name] += 1

    def _execute(self, refuse: int = 0) -> bool:
        ready = [c for c in self.world.connections if c.requests]
        if self.variant.stuck and self.rng.random() < 0.97:
            ready = [c for c in ready if not c.broken]
        if ready:
            connection = self.rng.choice(ready)
            self.world.execute(connection, refuse)
            if connection.broken and not connection.requests:
                self.world.sweep()
        return bool(ready)

    def _refuse(self) -> bool:
        return self._execute(19)

    def _any(self) -> Owner:
        return self.rng.choice(self.owners)

    def _timeout(self) -> bool:
        return self._any().give_up_waiting()

    def _cut(self) -> bool:
        return self._any().lose_connection(self.rng.randrange(3))

    def _crash(self) -> bool:
        if not self.spares:
            return False
        self.spares -= 1
        i = self.rng.randrange(len(self.owners))
        self.owners[i].crash()
        self.tally.ownerships += self.owners[i].ownerships
        self.owners[i] = self.new_owner()
        return True

    def _file(self) -> bool:
        return self._any().file()

    def _end_lease(self) -> bool:
        return self._any().end_lease()

    def _late_append(self) -> bool:
        late = self.world.late_appends
        if late:
            self.world.append_late(late.pop(self.rng.randrange(len(late))))
            return True
        return False

    def _replicate(self) -> bool:
        self.world.partition.high_watermark = self.world.partition.end
        return True

    def _restart(self) -> bool:
        self.world.restart()
        return True

    def _expire(self) -> bool:
        self.world.partition.expire()
        return True

    def _move(self) -> bool:
        self.world.change_leader(0, and_back=False)
        return True

    def _truncate(self) -> bool:
        self.world.change_leader(self.rng.randrange(1, 4), and_back=False)
        return True

    def _truncate_and_back(self) -> bool:
        self.world.change_leader(self.rng.randrange(1, 4), and_back=True)
        return True

    def _age(self) -> bool:
        self.world.age()
        return True

    def _hours(self) -> bool:
        self.world.pass_hours(self.rng.choice((1, 8, 22)))
        return True

    def _retain(self) -> bool:
        self.world.partition.retain(self.rng.randrange(3))
        return True

    def _foreign(self) -> bool:
        self.world.partition.foreign()
        return True

    # --- what strikes lanes with gaps
    def _compact(self) -> bool:
        return isinstance(self.world, GapWorld) and self.world.source.compact(self.rng)

    def _drop(self) -> bool:
        owner = self._any()
        return isinstance(owner, GapOwner) and owner.drop()

    def _forget(self) -> bool:
        owner = self._any()
        return isinstance(owner, GapOwner) and owner.forget()

    # --- quiet
    def quiet(self) -> None:
        """A last owner finishes without faults, then everything still under way happens, then all is checked."""
        world, partition, rng = self.world, self.world.partition, self.rng
        partition.lagging = False
        partition.high_watermark = partition.end
        last = self.new_owner(0.0)
        for _ in range(QUIET_STEPS):
            last.step()
            if last.stopped is not None:
                self._judge(last.stopped)
                return
            if last.connection is not None and last.connection.requests:
                world.execute(last.connection)
            if last.done:
                break
        else:
            raise Violation("STUCK", partition.describe())
        while world.late_appends:
            world.append_late(world.late_appends.pop())
        for _ in range(4 * len(self.owners)):
            rng.choice(self.owners).step()
            self._execute()
        while any(connection.requests for connection in world.connections):
            self._execute()
            partition.expire()
        world.check_complete()
        for owner in (last, *self.owners):
            owner.file()
        world.check_ranges()
