"""The service beside two simulated clusters with a link between them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import uvicorn.server

from anabranch.kafka.groups import snapshot
from anabranch.service import board
from anabranch.service.stored import Stored
from anabranch.store.database import open_database
from qa.service import Served, serving, until
from tests.unit.link_lab import Lab, lab


@pytest.fixture(scope="package", autouse=True)
def _ended_soon() -> Iterator[None]:
    """Whether it is to end uvicorn looks each 0.1 s, and then waits as long again: here it is a tenth of that."""

    async def soon(seconds: float) -> None:
        await asyncio.sleep(seconds / 10)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn.server, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": soon}))
        yield


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store of the newest revision."""
    path: Path = tmp_path_factory.mktemp("store") / "store.db"
    open_database(str(path)).close()
    return path


@pytest.fixture
def empty_store(migrated: Path, tmp_path: Path) -> str:
    """Where a test's own store is: a copy, since to make its tables takes longer than most tests."""
    return str(shutil.copy(migrated, tmp_path))


@pytest.fixture
def stored(empty_store: str) -> Iterator[Stored]:
    """An empty store."""
    database = open_database(empty_store)
    try:
        yield Stored(database)
    finally:
        database.close()


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters."""
    with lab() as made:
        yield made


@pytest.fixture
def served(both: Lab, empty_store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The service, once it has read them; it looks again soon, and for groups that commit at once."""
    monkeypatch.setattr(board, "PERIOD_S", 0.2)
    monkeypatch.setattr(snapshot, "SETTLE_S", 0.0)
    contexts = {"old": both.here.context(), "new": both.there.context()}
    with serving(empty_store, contexts, tmp_path, roots=(str(tmp_path / "checkpoints"),)) as made:
        until(lambda: made.instance.acting.acts and len(made.instance.board.seen) == 2)
        yield made


@pytest.fixture
def alone(empty_store: str, tmp_path: Path) -> Iterator[Served]:
    """The service without any cluster."""
    with serving(empty_store, {}, tmp_path) as made:
        until(lambda: made.instance.acting.acts)
        yield made


@pytest.fixture(scope="module")
def unchanged(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The service without any cluster, for all tests of a file that change nothing of it."""
    directory: Path = tmp_path_factory.mktemp("unchanged")
    with serving(str(shutil.copy(migrated, directory)), {}, directory) as made:
        until(lambda: made.instance.acting.acts)
        yield made
