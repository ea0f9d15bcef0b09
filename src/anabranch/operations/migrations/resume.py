"""Have a migration, or a wave, copy again as fast as its file and the clusters allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.migration.throttle import OperatorThrottle
from anabranch.operations.migrations import throttle
from anabranch.operations.migrations.hold import ChangedMigration
from anabranch.operations.migrations.known import known
from anabranch.operations.migrations.throttle import ThrottlePlan

if TYPE_CHECKING:  # a program without the service has no database
    from anabranch.store.waves import StoredMigrations


async def plan(stored: StoredMigrations, migration: str, *, wave: str | None = None) -> ThrottlePlan:
    """Resume a wave, or all of it with each of its waves; raises NoMigrationError, NoWaveError, StoreError."""
    return throttle.wishes(await known(stored, migration), wave, OperatorThrottle())


async def apply(stored: StoredMigrations, planned: ThrottlePlan) -> ChangedMigration:
    """Keep it; raises what ``throttle.apply`` raises."""
    return await throttle.apply(stored, planned)
