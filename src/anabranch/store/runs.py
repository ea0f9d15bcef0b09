"""The processes that the service started: what it finds again after a restart."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from sqlalchemy import Select, insert, select, update

from anabranch.store.database import Database
from anabranch.store.tables import RUNS


class RunKind(StrEnum):
    """What the process does."""

    LINK = "link"
    VERIFY = "verify"
    REBUILD = "rebuild"


@dataclass(frozen=True, slots=True)
class Run:
    """A process; ``created`` is when the system says that it began (ms), since a process id may be another's by now."""

    kind: RunKind
    target: str
    link: str
    host: str
    pid: int
    created: int
    log: str
    account: str
    began_at: int
    ended_at: int | None = None
    exit_code: int | None = None
    id: str = ""


class StartedRuns:
    """The processes of a store's instances."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def began(self, run: Run) -> Run:
        """Note a process that was started; it is given an id."""
        made = replace(run, id=uuid.uuid4().hex)
        with self._database.begin() as connection:
            connection.execute(insert(RUNS).values(**{name: getattr(made, name) for name in Run.__slots__}))
        return made

    def ended(self, run_id: str, exit_code: int | None, now_ms: int) -> None:
        """Note the end of a process; without a code nobody saw how it ended."""
        with self._database.begin() as connection:
            still = RUNS.c.ended_at.is_(None)
            values = {"ended_at": now_ms, "exit_code": exit_code}
            connection.execute(update(RUNS).where(RUNS.c.id == run_id, still).values(**values))

    def of_link(self, link: str, most: int = 20) -> Sequence[Run]:
        """The processes of a link, the newest first."""
        return self._all(select(RUNS).where(RUNS.c.link == link).order_by(RUNS.c.began_at.desc()).limit(most))

    def link_failures(self, since_ms: int) -> Mapping[tuple[str, str], tuple[int, ...]]:
        """When runs of links have failed since then (ms), by target and link; not those whose end nobody saw."""
        failed = RUNS.c.kind == RunKind.LINK.value, RUNS.c.exit_code != 0, RUNS.c.ended_at > since_ms
        asked = select(RUNS.c.target, RUNS.c.link, RUNS.c.ended_at).where(*failed).order_by(RUNS.c.ended_at)
        found: dict[tuple[str, str], tuple[int, ...]] = {}
        with self._database.read() as connection:
            for target, link, at in connection.execute(asked):
                found[target, link] = (*found.get((target, link), ()), at)
        return found

    def alive(self, host: str) -> Sequence[Run]:
        """The processes of a machine whose end nobody has noted."""
        return self._all(select(RUNS).where(RUNS.c.host == host, RUNS.c.ended_at.is_(None)).order_by(RUNS.c.began_at))

    def _all(self, asked: Select[Any]) -> Sequence[Run]:
        with self._database.begin() as connection:
            rows = connection.execute(asked).all()
        return [Run(**{**row._mapping, "kind": RunKind(row.kind)}) for row in rows]
