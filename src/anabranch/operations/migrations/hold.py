"""Have switches of a migration, or of a wave, wait until they are released, and say why."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from anabranch.migration.kept import StoredMigration
from anabranch.model.plans import REQUEST, plan_hash
from anabranch.operations.migrations.known import known

if TYPE_CHECKING:  # a program without the service has no database
    from anabranch.store.waves import StoredMigrations


@dataclass(frozen=True, slots=True)
class HoldPlan:
    """Why the switches of a migration wait, by wave, and of all at the empty one: before, and after."""

    migration: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    hash: str
    kept: StoredMigration = field(metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class ChangedMigration:
    """That a migration is kept otherwise."""

    migration: str


async def plan(stored: StoredMigrations, migration: str, reason: str, *, wave: str | None = None) -> HoldPlan:
    """Have its switches wait, or those of a wave; raises NoMigrationError, NoWaveError, StoreError."""
    return await planned_holds(stored, migration, wave, reason)


async def planned_holds(stored: StoredMigrations, migration: str, wave: str | None, reason: str | None) -> HoldPlan:
    """Another reason to wait, or none any more; raises NoMigrationError, NoWaveError, StoreError."""
    found = await known(stored, migration)
    if wave is not None:
        found.stands(wave)
    after = {one: why for one, why in found.kept.holds.items() if one != (wave or "")}
    if reason is not None:
        after[wave or ""] = reason
    hash_ = plan_hash(migration, found.kept.revision, after)
    return HoldPlan(migration, found.kept.holds, after, hash_, found.kept)


async def apply(stored: StoredMigrations, planned: HoldPlan) -> ChangedMigration:
    """Keep it over the revision that the plan has seen, which is all that it rests on.

    Raises MigrationChangedError where that is another one by now, StoreError.
    """
    await asyncio.to_thread(stored.change, replace(planned.kept, holds=planned.after))
    return ChangedMigration(planned.migration)
