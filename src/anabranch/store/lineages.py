"""The lineage of streams, by version.

Invariants
    S18  a version has one lineage: what its job told last.
    S19  of each stream that has one, the lineage of now is that of the version that runs, else of the one that is
         published, else of the newest that was told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row, delete, insert, select
from sqlalchemy.exc import IntegrityError

from anabranch.store.database import Database
from anabranch.store.tables import STREAM_LINEAGES, STREAM_RUNS, STREAMS
from anabranch.streams.lineage.document import StoredLineage


class StoredLineages:
    """The lineages of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, told: StoredLineage) -> bool:
        """Keep one in the place of the one before (S18); False where its stream is gone, or another keeps it."""
        chosen = STREAM_LINEAGES.c.stream == told.stream, STREAM_LINEAGES.c.version == told.version
        values = {"stream": told.stream, "version": told.version, "at": told.at, "document": told.document}
        try:
            with self._database.begin() as connection:
                connection.execute(delete(STREAM_LINEAGES).where(*chosen))
                connection.execute(insert(STREAM_LINEAGES).values(**values))
        except IntegrityError:
            return False
        return True

    def of(self, stream: str, version: int) -> StoredLineage | None:
        """That of a version; None where no job has told it."""
        chosen = STREAM_LINEAGES.c.stream == stream, STREAM_LINEAGES.c.version == version
        with self._database.read() as connection:
            row = connection.execute(select(STREAM_LINEAGES).where(*chosen)).first()
        return None if row is None else _lineage(row)

    def now(self) -> Mapping[str, StoredLineage]:
        """The lineage of now of each stream, by its name (S19)."""
        lineages = select(STREAM_LINEAGES).order_by(STREAM_LINEAGES.c.stream, STREAM_LINEAGES.c.version)
        published = select(STREAMS.c.name, STREAMS.c.published)
        running = select(STREAM_RUNS.c.stream, STREAM_RUNS.c.version).where(STREAM_RUNS.c.open.is_not(None))
        with self._database.read() as connection:
            every = [_lineage(row) for row in connection.execute(lineages)]
            wanted = {name: [number] for name, number in connection.execute(published)}
            for name, number in connection.execute(running):
                wanted.setdefault(name, []).insert(0, number)
        told: dict[str, dict[int, StoredLineage]] = {}
        for one in every:
            told.setdefault(one.stream, {})[one.version] = one
        found: dict[str, StoredLineage] = {}
        for name, versions in told.items():
            number = next((one for one in wanted.get(name, ()) if one in versions), max(versions))
            found[name] = versions[number]
        return found


def _lineage(row: Row[Any]) -> StoredLineage:
    return StoredLineage(row.stream, row.version, row.at, row.document)
