"""A store on a file keeps what it has told was kept, whatever happens to the machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from anabranch.store import database as module
from anabranch.store.database import Database, open_database

pytestmark = pytest.mark.unit
FULL = 2
"""What SQLite calls the level at which a commit is on the disk when it is told."""


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A file without any table."""
    monkeypatch.setattr(module, "_upgrade", lambda _: None)
    made = open_database(str(tmp_path / "store.db"))
    yield made
    made.close()


def test_a_commit_of_either_kind_of_connection_waits_for_the_disk(database: Database) -> None:
    """A journal that says that a wave has been switched must still say so after a power cut."""
    with database.begin() as writing, database.read() as reading:
        told = [
            [one.execute(text(f"PRAGMA {name}")).scalar() for name in ("synchronous", "journal_mode", "foreign_keys")]
            for one in (writing, reading)
        ]
    assert told == [[FULL, "wal", 1]] * 2
