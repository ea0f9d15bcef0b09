"""Carrying access rules and quotas over while waves copy: every minute, on the instance that acts.

Invariants
    AC1  a round changes nothing for a wave that has been switched, nor while anything is under way for one: it does so
         only after it has told runs to wait for it (``over``), and has found in the store since that no run of the wave
         is open, that none began since it looked at both clusters, and that the migration's file is the same.
    AC2  a round asks for no change once another instance may act: it has as long as the lease that it has found.
    AC3  where nothing has changed, clusters are only read.

The race: a run of the wave begins meanwhile.  It is in the store before anybody goes on with it; so either the round
finds it there and changes nothing, or who goes on with it finds that the round makes something, and waits for its end.
What was asked for as a round was given up may still be done, as with a step: it was written down before, and the next
look puts it right.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from anabranch.errors import AnabranchError
from anabranch.migration.access.diff import AccessDiff
from anabranch.migration.access.values import WaveName
from anabranch.migration.kept import NoMigrationError, StoredMigration, StoredRun
from anabranch.migration.legs import Leg
from anabranch.migration.spec import Migration
from anabranch.migration.standing import WaveStanding, WaveState
from anabranch.model.clock import now_ms
from anabranch.operations.migrations import access
from anabranch.operations.migrations.access import AccessReport
from anabranch.operations.migrations.known import migration_in, standings
from anabranch.service.access_audit import AccessAudit
from anabranch.service.access_looks import Came, last_good, look_fields, looks_after, looks_of, planned_words
from anabranch.service.acting import LEASE
from anabranch.service.clusters import ClusterPool
from anabranch.service.migrating import clusters_of
from anabranch.service.stored import Stored
from anabranch.store.leases import SKEW_MS

ACCESS_EVERY_S = 60.0
LOOK_S, MAKE_S = 30.0, 10.0
"""For how long both clusters are looked at, and something is made, before a round is given up for a wave."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Seen:
    """A migration as a round has read it."""

    kept: StoredMigration
    migration: Migration
    runs: Sequence[StoredRun]


class Carrying:
    """The rounds of an instance; ``acts`` says whether it is the one that acts.

    ``failures`` counts the rounds that failed for a wave of a migration.
    """

    def __init__(
        self, stored: Stored, clusters: ClusterPool, audit: AccessAudit, instance: str, acts: Callable[[], bool]
    ) -> None:
        self._stored = stored
        self._clusters = clusters
        self._audit = audit
        self._instance = instance
        self._acts = acts
        self._making: dict[WaveName, asyncio.Event] = {}
        self._good: dict[str, int] = {}
        self.failures: Counter[str] = Counter()

    async def watch(self) -> None:
        """Carry over for all migrations that want it, until this is cancelled."""
        while True:
            await asyncio.sleep(ACCESS_EVERY_S)
            if not self._acts():
                self._good.clear()
                continue
            try:
                await self.round()
            except Exception as error:
                _why(error)

    async def over(self, migration: str, wave: str) -> None:
        """Wait until no round makes anything for a wave; none begins to where a run of it is open (AC1)."""
        making = self._making.get(WaveName(migration, wave))
        if making is not None:
            await making.wait()

    def ages(self, at_ms: int) -> dict[str, float]:
        """For how many seconds each migration has not been carried over for all its waves; none where not known."""
        return {name: max(0.0, (at_ms - good) / 1000) for name, good in self._good.items()}

    async def round(self) -> None:
        """Each migration by itself: what fails for one holds up no other one.  Raises StoreError."""
        stored = self._stored.migrations
        found = await self._stored.ask(lambda: [(one, stored.runs_of(one.name)) for one in stored.all()])
        names = {kept.name for kept, _ in found}
        for name in {*self._good, *self.failures} - names:
            self._good.pop(name, None)
            del self.failures[name]
        for kept, runs in found:
            try:
                await self._of_migration(_Seen(kept, migration_in(kept.document, kept.name), runs))
            except NoMigrationError:
                continue  # it was removed meanwhile
            except Exception as error:
                self.failures[kept.name] += 1
                _why(error, migration=kept.name)

    async def _of_migration(self, seen: _Seen) -> None:
        kept, waves = seen.kept, carried_waves(seen.migration, seen.runs)
        legs = [stands.leg for stands in waves.values() if stands.open is None]
        came = await self._of_waves(seen, legs) if legs else {}
        looks = looks_after(looks_of(kept.access), waves, came, now_ms())
        good = last_good(looks, waves)
        if good is None:
            self._good.pop(kept.name, None)
        else:
            self._good[kept.name] = good
        if waves:
            self.failures[kept.name] += any(isinstance(one, str) for one in came.values())
        if (fields := look_fields(looks)) != kept.access:
            await self._stored.ask(lambda: self._stored.migrations.keep_access(kept.name, fields))

    async def _of_waves(self, seen: _Seen, legs: Sequence[Leg]) -> Mapping[str, Came]:
        """What became of each, but for those that were left alone; where nothing has changed one look is for all."""
        changed: list[Leg] = []

        async def look() -> AccessReport:
            source, target = clusters_of(self._clusters, seen.migration)
            async with asyncio.timeout(LOOK_S):
                changed.extend(await access.legs_to_carry(source, target, seen.migration, legs))
            return AccessReport(target.name, (), (), ())

        found = await _tried(seen.migration, look)
        came = {leg.wave.name: found for leg in legs if leg not in changed}
        for leg in changed:
            one = await self._of_wave(seen, leg)
            if one is not None:
                came[leg.wave.name] = one
        return came

    async def _of_wave(self, seen: _Seen, leg: Leg) -> Came | None:
        """What became of a wave of which something has changed, None where it was left alone."""
        owner = WaveName(seen.kept.name, leg.wave.name)
        made: list[AccessDiff] = []
        is_left = False

        async def carry_over() -> AccessReport:
            source, target = clusters_of(self._clusters, seen.migration)
            async with asyncio.timeout(LOOK_S) as limit:

                async def may(changes: AccessDiff) -> bool:
                    nonlocal is_left
                    self._making[owner] = asyncio.Event()
                    left_s = await self._left_s(seen, owner)
                    is_left = left_s <= 0 or not self._acts()
                    if is_left:
                        return False
                    limit.reschedule(asyncio.get_running_loop().time() + left_s)
                    made.append(changes)
                    log.info("access rules are carried over", **owner._asdict(), changes=planned_words(changes))
                    return True

                return await access.carry_over(source, target, leg, may)

        try:
            came = await _tried(seen.migration, carry_over)
        finally:
            if making := self._making.pop(owner, None):
                making.set()
        if is_left:
            return None
        for changes in made:
            await self._audit.note(owner, changes, came)
        return came

    async def _left_s(self, seen: _Seen, owner: WaveName) -> float:
        """For how many seconds something may be made for a wave, by what the store says now (AC1, AC2)."""
        stored = self._stored

        def read() -> float:
            runs = _runs_of(stored.migrations.runs_of(owner.migration), owner.wave)
            if len(runs) != len(_runs_of(seen.runs, owner.wave)) or any(run.is_open for run in runs):
                return 0.0
            if stored.migrations.get(owner.migration).revision != seen.kept.revision:
                return 0.0
            held, at_ms = stored.leases.get(LEASE), now_ms()
            if held is None or held.holder != self._instance:
                return 0.0
            return min(MAKE_S, (held.until - SKEW_MS - at_ms) / 1000)

        return await stored.ask(read)


def carried_waves(migration: Migration, runs: Sequence[StoredRun]) -> dict[str, WaveStanding]:
    """The waves that are to have on the target what the source has: they are copied, with all applications there.

    What is under way for one (``open``) carries over by itself.  One that was led back without its target is none.
    """
    if not migration.access.sync:
        return {}
    return {
        name: stands
        for name, stands in standings(migration, runs).items()
        if stands.state is WaveState.COPYING and not stands.leg.leads_back and stands.lost is None
    }


def _runs_of(runs: Sequence[StoredRun], wave: str) -> list[StoredRun]:
    return [run for run in runs if run.wave == wave]


async def _tried(migration: Migration, ask: Callable[[], Awaitable[AccessReport]]) -> Came:
    """What something came to, or why it failed."""
    try:
        return await ask()
    except Exception as error:
        names = f"{migration.source} and {migration.target}"
        return _why(error, f"{names} did not both answer in time", migration=migration.name)


def _why(error: Exception, late: str = "", **whose: str) -> str:
    """Why something failed, which the log has, too, and ``late`` where time was over.  Called while it is handled."""
    why = late if isinstance(error, TimeoutError) else ""
    if isinstance(error, AnabranchError):
        why = error.message
    if why:
        log.warning("access rules were not carried over", why=why, **whose)
        return why
    log.exception("access rules were not carried over", **whose)
    return "it failed unexpectedly: the log of the service has why"
