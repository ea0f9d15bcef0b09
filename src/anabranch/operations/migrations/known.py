"""A migration that the service keeps, with the runs of its waves, and where each wave stands."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.config.migration_file import migration_of
from anabranch.errors import RefusedError
from anabranch.migration.journal import run_of
from anabranch.migration.kept import StoredMigration, StoredRun
from anabranch.migration.spec import Migration
from anabranch.migration.standing import WaveStanding, standing

if TYPE_CHECKING:  # a program without the service has no database
    from anabranch.store.waves import StoredMigrations


@dataclass(eq=False)
class NoWaveError(RefusedError):
    """A migration has no wave of that name."""

    migration: str
    wave: str

    _message = "migration {migration!r} has no wave {wave!r}"
    _hint = "list them: `anabranch migrate show {migration}`"


@dataclass(frozen=True, slots=True)
class KnownMigration:
    """A migration of the store, and all runs of its waves."""

    kept: StoredMigration
    runs: tuple[StoredRun, ...]

    @property
    def migration(self) -> Migration:
        """As its file says."""
        return migration_in(self.kept.document, self.kept.name)

    def runs_of(self, wave: str) -> tuple[StoredRun, ...]:
        """The runs of a wave, the oldest first."""
        return tuple(run for run in self.runs if run.wave == wave)

    def ended(self, wave: str) -> int:
        """How many runs of a wave have ended."""
        return sum(not run.is_open for run in self.runs_of(wave))

    def stands(self, wave: str) -> WaveStanding:
        """Where a wave stands; raises NoWaveError."""
        found = standings(self.migration, self.runs).get(wave)
        if found is None:
            raise NoWaveError(self.kept.name, wave)
        return found


async def known(stored: StoredMigrations, name: str) -> KnownMigration:
    """A migration as it is kept now; raises NoMigrationError, StoreError."""
    kept, runs = await asyncio.to_thread(lambda: (stored.get(name), stored.runs_of(name)))
    return KnownMigration(kept, tuple(runs))


def migration_in(document: Mapping[str, Any], name: str) -> Migration:
    """The migration that the store has under a name; raises ConfigError for one of a version that had other fields."""
    return migration_of(document, f"migration {name}")


def standings(migration: Migration, runs: Sequence[StoredRun]) -> dict[str, WaveStanding]:
    """Where each wave stands, by its name."""
    journals = [run_of(run.journal) for run in runs]
    return {
        wave.name: standing(migration, wave, [run for run in journals if run.wave == wave.name])
        for wave in migration.waves
    }
