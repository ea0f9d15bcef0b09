"""Have a migration, or a wave, copy more slowly, or not at all, until it is resumed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.migration.throttle import OperatorThrottle, longest_pause
from anabranch.model.clock import now_ms
from anabranch.model.plans import check_holds, plan_hash
from anabranch.operations.migrations.copying import copying_links, operator_in, wish_of
from anabranch.operations.migrations.hold import ChangedMigration
from anabranch.operations.migrations.inventory import topic_retentions
from anabranch.operations.migrations.known import KnownMigration, known

if TYPE_CHECKING:  # a program without the service has no database
    from anabranch.store.waves import StoredMigrations

_LOOK_S = 5.0
"""For so long a source is asked before a pause: it may have too much to do, which is why copying is paused."""


@dataclass(frozen=True, slots=True)
class ThrottlePlan:
    """What a person wants of a migration's copying: at most a rate in bytes a second, or that it stands still.

    ``wave`` is the one of which that is wanted, None for all; ``ended`` are waves of which nothing is wanted any more.
    """

    migration: str
    wave: str | None
    before: OperatorThrottle
    after: OperatorThrottle
    ended: tuple[str, ...]
    hash: str


async def plan(
    stored: StoredMigrations,
    clusters: Callable[[str], Cluster],
    migration: str,
    rate: int | None,
    *,
    wave: str | None = None,
) -> ThrottlePlan:
    """At most so many bytes a second, or a pause where ``rate`` is None; ``clusters`` opens one by its context.

    A pause asks the source for how long it keeps what is not copied.  Raises NoMigrationError, NoWaveError, StoreError.
    """
    found = await known(stored, migration)
    longest = await _longest_pause(clusters, found, wave) if rate is None else None
    return wishes(found, wave, OperatorThrottle(rate, rate is None, longest_ms=longest))


def wishes(found: KnownMigration, wave: str | None, after: OperatorThrottle) -> ThrottlePlan:
    """What is wanted from now on; all of it that is resumed, is so of its waves, too.  Raises NoWaveError."""
    if wave is not None:
        found.stands(wave)
    name, throttle = found.kept.name, found.kept.throttle
    before = operator_in(throttle, wave)
    resumes = wave is None and after == OperatorThrottle()
    ended = tuple(one.name for one in found.migration.waves if resumes and throttle.get(wish_of(one.name)))
    fields = [before.rate, before.is_paused, after.rate, after.is_paused, after.longest_ms, wave, ended]
    return ThrottlePlan(name, wave, before, after, ended, plan_hash("migrations.throttle", name, fields))


async def apply(stored: StoredMigrations, planned: ThrottlePlan) -> ChangedMigration:
    """Keep it: links obey within one round of throttling.

    Raises PlanChangedError where somebody wants something else of it by now, NoMigrationError, NoWaveError, StoreError.
    """
    wish, name = planned.after, planned.migration
    check_holds(f"migration {name}", planned, wishes(await known(stored, name), planned.wave, wish))
    since = now_ms() if wish.is_paused else None
    fields = {"rate": wish.rate, "is_paused": wish.is_paused, "since_ms": since, "longest_ms": wish.longest_ms}
    parts = {wish_of(planned.wave): fields, **{wish_of(wave): {} for wave in planned.ended}}

    def keep() -> None:
        for part, value in parts.items():
            stored.slow_down(name, part, value)

    await asyncio.to_thread(keep)
    return ChangedMigration(name)


async def _longest_pause(clusters: Callable[[str], Cluster], found: KnownMigration, wave: str | None) -> int | None:
    """For how long copying may stand still, by what the source keeps; a source that does not answer is paused, too."""
    migration = found.migration
    copied = {one for one in copying_links(migration, found.runs).values() if wave in (None, one)}
    topics = sorted({topic for one in migration.waves if one.name in copied for topic in one.topics})
    try:
        async with asyncio.timeout(_LOOK_S):
            kept = await topic_retentions(clusters(migration.source), topics)
    except (AnabranchError, TimeoutError):
        return None
    return longest_pause(kept.values())
