"""Have switches of a migration, or of a wave, wait no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.operations.migrations import hold
from anabranch.operations.migrations.hold import ChangedMigration, HoldPlan

if TYPE_CHECKING:  # a program without the service has no database
    from anabranch.store.waves import StoredMigrations


async def plan(stored: StoredMigrations, migration: str, *, wave: str | None = None) -> HoldPlan:
    """Release it, or a wave; raises NoMigrationError, NoWaveError, StoreError."""
    return await hold.planned_holds(stored, migration, wave, None)


async def apply(stored: StoredMigrations, planned: HoldPlan) -> ChangedMigration:
    """Keep it; raises MigrationChangedError where somebody has changed the migration since, StoreError."""
    return await hold.apply(stored, planned)
