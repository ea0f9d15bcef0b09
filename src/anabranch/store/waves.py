"""Migrations, and the journals of what is done for their waves.

Invariants
    S12  a migration has one file; who writes another names the revision that was read, and of two one is refused.  No
         run begins by another revision than the one that it was planned by.
    S13  at most one run of a wave is open, and none begins that was planned before another one began, or ended.  They
         are told in the order in which they began, also where the clock was set back, or another instance's is behind.
    S14  a journal is written over the one that its writer has read (``revision``): of two engines one is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from anabranch.migration.kept import (
    MigrationChangedError,
    MigrationExistsError,
    NoMigrationError,
    NoRunError,
    RunTakenError,
    StoredMigration,
    StoredRun,
    WaveBusyError,
    WaveMovedError,
)
from anabranch.store.database import Database
from anabranch.store.tables import MIGRATION_RUNS, MIGRATIONS


class StoredMigrations:
    """The migrations of a store, with their runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- migrations ------------------------------------------------------------------------------------

    def add(self, name: str, document: Mapping[str, Any], author: str, now_ms: int) -> StoredMigration:
        """Keep a new one; raises MigrationExistsError."""
        made = StoredMigration(name, 1, now_ms, author, document)
        try:
            with self._database.begin() as connection:
                connection.execute(insert(MIGRATIONS).values(**_values(made)))
        except IntegrityError as error:
            raise MigrationExistsError(name) from error
        return made

    def change(self, changed: StoredMigration, seen: int | None = None) -> None:
        """Write its file and holds over its revision (S12); raises MigrationChangedError.

        ``seen`` is how many runs it had as that was read, None where that makes no difference.
        """
        with self._database.begin() as connection:
            written = connection.execute(
                update(MIGRATIONS)
                .where(MIGRATIONS.c.name == changed.name, MIGRATIONS.c.revision == changed.revision)
                .values(revision=changed.revision + 1, document=changed.document, holds=changed.holds)
            )
            if written.rowcount != 1:
                raise MigrationChangedError(changed.name)
            if seen is not None and _count(connection, MIGRATION_RUNS.c.migration == changed.name) != seen:
                raise MigrationChangedError(changed.name)

    def slow_down(self, name: str, part: str, value: Mapping[str, Any]) -> None:
        """Keep what a person wants of its copying (``OPERATOR``), or what was seen last (``SEEN``); no revision.

        Whoever writes one part leaves the other as it is.
        """
        chosen = MIGRATIONS.c.name == name
        with self._database.begin() as connection:
            before = connection.execute(select(MIGRATIONS.c.throttle).where(chosen).with_for_update()).scalar()
            if before is None:
                raise NoMigrationError(name)
            connection.execute(update(MIGRATIONS).where(chosen).values(throttle={**before, part: value}))

    def keep_access(self, name: str, access: Mapping[str, Any]) -> None:
        """Keep what a round came to that carried access rules over; no revision.  Raises NoMigrationError."""
        with self._database.begin() as connection:
            written = connection.execute(update(MIGRATIONS).where(MIGRATIONS.c.name == name).values(access=access))
            if written.rowcount != 1:
                raise NoMigrationError(name)

    def remove(self, name: str, revision: int) -> None:
        """Forget one of which nothing is under way, with its runs; raises MigrationChangedError."""
        with self._database.begin() as connection:
            chosen = MIGRATIONS.c.name == name, MIGRATIONS.c.revision == revision
            under_way = MIGRATION_RUNS.c.migration == name, MIGRATION_RUNS.c.open.is_not(None)
            if connection.execute(select(MIGRATION_RUNS.c.id).where(*under_way)).first() is not None:
                raise MigrationChangedError(name)
            if connection.execute(delete(MIGRATIONS).where(*chosen)).rowcount != 1:
                raise MigrationChangedError(name)
            connection.execute(delete(MIGRATION_RUNS).where(MIGRATION_RUNS.c.migration == name))

    def get(self, name: str) -> StoredMigration:
        """A migration; raises NoMigrationError."""
        with self._database.read() as connection:
            row = connection.execute(select(MIGRATIONS).where(MIGRATIONS.c.name == name)).first()
        if row is None:
            raise NoMigrationError(name)
        return StoredMigration(**row._mapping)

    def all(self) -> Sequence[StoredMigration]:
        """Every one, by name."""
        with self._database.read() as connection:
            rows = connection.execute(select(MIGRATIONS).order_by(MIGRATIONS.c.name))
            return [StoredMigration(**row._mapping) for row in rows]

    # -- runs ------------------------------------------------------------------------------------------

    def begin(self, made: StoredRun, seen: int | None = None, revision: int | None = None) -> None:
        """Keep a run that begins; ``seen`` is how many of its wave had ended as it was planned, None if nobody counted.

        They are counted once no other one can begin.  One that was open as it was planned, and has ended since, counts:
        the wave may stand somewhere else.  ``revision`` is the migration's by which it was planned.  Raises
        WaveBusyError, WaveMovedError (S13), MigrationChangedError (S12).
        """
        values = {name: value for name, value in _values(made).items() if name != "is_open"}
        same = MIGRATION_RUNS.c.migration == made.migration, MIGRATION_RUNS.c.wave == made.wave
        try:
            with self._database.begin() as connection:
                last = connection.execute(select(func.max(MIGRATION_RUNS.c.began)).where(*same)).scalar()
                values["began"] = made.began if last is None else max(made.began, last + 1)
                connection.execute(insert(MIGRATION_RUNS).values(**values, open=_open(made)))
                ended = *same, MIGRATION_RUNS.c.open.is_(None), MIGRATION_RUNS.c.id != made.id
                if seen is not None and _count(connection, *ended) != seen:
                    raise WaveMovedError(made.migration, made.wave)
                if revision is not None:
                    kept = select(MIGRATIONS.c.revision).where(MIGRATIONS.c.name == made.migration).with_for_update()
                    if connection.execute(kept).scalar() != revision:
                        raise MigrationChangedError(made.migration)
        except IntegrityError:
            asked = select(MIGRATION_RUNS.c.id).where(MIGRATION_RUNS.c.open == _open(made))
            with self._database.begin() as connection:
                other = connection.execute(asked).scalar()
            if other is None:
                raise
            raise WaveBusyError(made.migration, made.wave, other) from None

    def keep(self, run: str, revision: int, state: str, journal: Mapping[str, Any], *, is_open: bool) -> None:
        """Write a journal over the one of that revision; raises RunTakenError (S14)."""
        values: dict[str, Any] = {"revision": revision + 1, "state": state, "journal": journal, "waits": ""}
        if not is_open:
            values["open"] = None
        chosen = MIGRATION_RUNS.c.id == run, MIGRATION_RUNS.c.revision == revision, MIGRATION_RUNS.c.open.is_not(None)
        with self._database.begin() as connection:
            if connection.execute(update(MIGRATION_RUNS).where(*chosen).values(**values)).rowcount != 1:
                raise RunTakenError(run)

    def tell(self, run: str, waits: str) -> None:
        """Keep what a run waits for now."""
        with self._database.begin() as connection:
            connection.execute(update(MIGRATION_RUNS).where(MIGRATION_RUNS.c.id == run).values(waits=waits[:1000]))

    def give_up(self, run: str, why: str) -> None:
        """Have whoever goes on with a run know that a person wants it given up; one that has ended stays as it is."""
        chosen = MIGRATION_RUNS.c.id == run, MIGRATION_RUNS.c.open.is_not(None)
        with self._database.begin() as connection:
            connection.execute(update(MIGRATION_RUNS).where(*chosen).values(cancelled=why))

    def run(self, run: str) -> StoredRun:
        """A run; raises NoRunError."""
        with self._database.read() as connection:
            row = connection.execute(select(MIGRATION_RUNS).where(MIGRATION_RUNS.c.id == run)).first()
        if row is None:
            raise NoRunError(run)
        return _run(row)

    def run_of(self, migration: str, run: str) -> StoredRun:
        """A run of a migration; raises NoRunError."""
        found = self.run(run)
        if found.migration != migration:
            raise NoRunError(run)
        return found

    def open_runs(self) -> Sequence[StoredRun]:
        """Those that have not ended, the oldest first."""
        return self._runs(MIGRATION_RUNS.c.open.is_not(None))

    def runs_of(self, migration: str) -> Sequence[StoredRun]:
        """All runs of a migration, the oldest first."""
        return self._runs(MIGRATION_RUNS.c.migration == migration)

    def _runs(self, chosen: ColumnElement[bool]) -> Sequence[StoredRun]:
        asked = select(MIGRATION_RUNS).where(chosen).order_by(MIGRATION_RUNS.c.began, MIGRATION_RUNS.c.id)
        with self._database.read() as connection:
            return [_run(row) for row in connection.execute(asked)]


def _count(connection: Connection, *chosen: ColumnElement[bool]) -> int:
    """How many runs there are."""
    return connection.execute(select(func.count()).select_from(MIGRATION_RUNS).where(*chosen)).scalar_one()


def _values(made: StoredMigration | StoredRun) -> dict[str, Any]:
    return {name: getattr(made, name) for name in made.__slots__}


def _open(run: StoredRun) -> str | None:
    """What is the same of two runs that must not be open at once, None of one that has ended."""
    return f"{run.migration}/{run.wave}" if run.is_open else None


def _run(row: Row[Any]) -> StoredRun:
    fields = {name: getattr(row, name) for name in StoredRun.__slots__ if name != "is_open"}
    return StoredRun(**fields, is_open=row.open is not None)
