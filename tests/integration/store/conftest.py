"""A store on each database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.store.database import Database, open_database
from qa.postgres import Postgres, postgres


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    """One PostgreSQL for all."""
    with postgres() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty store may be."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    running: Postgres = request.getfixturevalue("server")
    return running.database()


@pytest.fixture
def database(address: str) -> Iterator[Database]:
    """An empty store."""
    made = open_database(address)
    try:
        yield made
    finally:
        made.close()
