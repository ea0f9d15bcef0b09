"""A wave between two clusters whose engine is killed: what belongs to it, and engines that are begun again.

The links' processes, and what was written and read, are the test's: an engine that is killed takes none of it along.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Client, Listener
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from anabranch.config.migration_file import migration_fields
from anabranch.migration.journal import run_of
from anabranch.migration.kept import StoredRun
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun
from anabranch.migration.spec import Migration, Wave
from anabranch.sandbox import SandboxCluster
from anabranch.store.database import open_database
from anabranch.store.waves import StoredMigrations
from qa.timeouts import TIMEOUT_S
from tests.integration.kills import engine, link_process
from tests.integration.kills.engine import EngineOrder
from tests.integration.kills.points import KillPlan
from tests.integration.links.topics import numbered, produce

PARTITIONS = {"flights": 3, "paid": 1}
"""Of each topic, by the last part of its name."""
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([engine.__name__, link_process.__name__])


class Helper:
    """Starts links' processes for engines, and ends them with the test; ``address`` is where it is asked."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._listener = Listener(family="AF_UNIX")
        self.address = str(self._listener.address)
        self._directory, self._environment = directory, dict(environment)
        self._links: list[BaseProcess] = []
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    def _answer(self) -> None:
        while True:
            try:
                with self._listener.accept() as asked:
                    text = asked.recv()
                    if text is None:
                        return
                    log = self._directory / f"link-{len(self._links)}.log"
                    given = text, log, self._environment
                    made = _FORKS.Process(target=link_process.main, args=given, daemon=True)
                    made.start()
                    self._links.append(made)
                    asked.send((made.pid, str(log)))
            except (EOFError, ConnectionError, BrokenPipeError):
                continue  # who asked was killed meanwhile

    @property
    def alive(self) -> int:
        """How many links' processes there are."""
        return sum(one.is_alive() for one in self._links)

    def close(self) -> None:
        """Kill what is left of them."""
        with Client(self.address, "AF_UNIX") as ends:
            ends.send(None)
        self._thread.join(TIMEOUT_S)
        self._listener.close()
        for one in self._links:
            one.kill()
            one.join(TIMEOUT_S)


@dataclass
class Written:
    """What applications wrote to each partition, in order, wherever they were."""

    records: dict[tuple[str, int], list[bytes]] = field(default_factory=dict)

    def add(self, topic: str, partition: int, values: Sequence[bytes]) -> None:
        """They wrote more."""
        self.records.setdefault((topic, partition), []).extend(values)


@dataclass
class KillStand:
    """One wave, its engines and its links; ``points`` are those at which engines were killed, with the process ids."""

    old: SandboxCluster
    new: SandboxCluster
    store: str
    directory: Path
    contexts: Path
    helper: Helper
    migration: Migration
    environment: Mapping[str, str]
    written: Written = field(default_factory=Written)
    killed: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    @property
    def wave(self) -> Wave:
        """The only one."""
        return self.migration.waves[0]

    def leg(self, number: int = 0) -> Leg:
        """One of its legs."""
        return Leg(self.migration, self.wave, number)

    # -- engines ---------------------------------------------------------------------------------------

    def request(self, verb: str, **more: Any) -> dict[str, Any]:
        """What a verb is asked."""
        if verb == "start":
            return {"migration": migration_fields(self.migration), "waves": [self.wave.name], **more}
        return {"migration": self.migration.name, "wave": self.wave.name, **more}

    def engine(self, verb: str, plan: KillPlan, **more: Any) -> tuple[int, Mapping[str, str]]:
        """Have an engine carry a verb out; returns its exit code, and the outcome that it wrote."""
        for name in ("points", "outcome"):
            (self.directory / name).unlink(missing_ok=True)
        order = EngineOrder(
            self.store,
            self.contexts,
            self.directory,
            self.helper.address,
            verb,
            self.request(verb, **more),
            plan,
            {one: ("/bin/sh", "-c", f"echo $ANABRANCH_TO >> {self.directory}/{one}") for one in ("fence", "release")},
            self.environment,
        )
        process = _FORKS.Process(target=engine.main, args=(order,), daemon=True)
        process.start()
        process.join(TIMEOUT_S)
        if process.exitcode is None:
            process.kill()
            raise AssertionError(f"{verb} does not end: {self.told()}")
        outcome = self.directory / "outcome"
        return process.exitcode, json.loads(outcome.read_text()) if outcome.exists() else {}

    def told(self) -> str:
        """The last lines of the engines' log, and what runs wait for."""
        log = (self.directory / "engine.log").read_text(errors="replace")[-3000:]
        return f"{[(run.state, run.journal['at'], run.waits) for run in self.runs()]}\n{log}"

    def carried_out(self, verb: str, plan: KillPlan, **more: Any) -> WaveRun:
        """Have a verb carried out by engines that are killed at each point of a plan once; the run as it ended."""
        spared, before = set(plan.spared), sum(not run.is_open for run in self.runs())
        while True:
            code, outcome = self.engine(verb, replace(plan, spared=frozenset(spared)), **more)
            reached = self._points()
            self.seen += reached
            runs = self.runs()[before:]
            if code == -signal.SIGKILL:
                assert reached and reached[-1] not in spared, reached[-1:]
                spared.add(reached[-1])
                self.killed.append(reached[-1])
            elif code:
                raise AssertionError(f"{verb} ended with {code} after {self.killed[-1:]}: {self.told()}")
            if runs and not runs[-1].is_open:
                return run_of(runs[-1].journal)
            assert code == -signal.SIGKILL, (outcome, self.told())

    def killed_at(self, verb: str, point: str, **more: Any) -> WaveRun:
        """Have an engine die at one point, which it must reach; the run as it is then."""
        code, outcome = self.engine(verb, KillPlan(only=frozenset({point})), **more)
        assert code == -signal.SIGKILL, (point, outcome, self._points(), self.told())
        return run_of(self.runs()[-1].journal)

    def _points(self) -> list[str]:
        file = self.directory / "points"
        return file.read_text().splitlines() if file.exists() else []

    # -- its store -------------------------------------------------------------------------------------

    def runs(self) -> list[StoredRun]:
        """Its runs, the oldest first."""
        with migrations(self.store) as stored:
            return list(stored.runs_of(self.migration.name))

    def give_up(self, why: str) -> None:
        """A person wants what is under way given up."""
        with migrations(self.store) as stored:
            stored.give_up(self.runs()[-1].id, why)

    # -- applications ----------------------------------------------------------------------------------

    def write(self, cluster: SandboxCluster, number: int = 6) -> None:
        """Applications write to each partition of its topics, on one of the clusters."""
        names = self.leg().topics
        for topic in self.wave.topics:
            name = topic if cluster is self.old else names[topic]
            for partition in range(partitions_of(topic)):
                first = len(self.written.records.get((topic, partition), ()))
                records = numbered(number, first=first, partition=partition)
                produce(cluster, name, records, batch=4)
                self.written.add(topic, partition, [one["value"] for one in records])


def partitions_of(topic: str) -> int:
    """How many a topic of the wave has."""
    return PARTITIONS[topic.rpartition(".")[2]]


@contextmanager
def migrations(store: str) -> Iterator[StoredMigrations]:
    """The migrations of a store."""
    database = open_database(store)
    try:
        yield StoredMigrations(database)
    finally:
        database.close()
