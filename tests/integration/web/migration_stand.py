"""``python -m tests.integration.web.migration_stand``: the service beside real clusters, and a migration.

Links run in threads of this process in place of Spark, and everything else is the service's own.  The fence of the
migration is a hook that has applications pause and then waits until it is told to go on, so that whoever looks sees
them held up; its release has them go on, where they belong then.

Prints one line of JSON as the other stands do.  Words on standard input, each answered by a line: ``go`` has hooks go
on, ``wait`` has those that begin from now on wait again, ``committed SIDE`` says where the group stands on a cluster;
from ``write`` on applications write all the time, and ``written`` ends that and says how much they wrote, once both
clusters hold it.  The end of the input ends it all.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from anabranch.operations.migrations import lost
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.service.logs import log_plainly
from anabranch.service.migration_desk import ServiceMigrationDesk
from qa.brokers import STEADY
from qa.service import serving, until
from tests.integration.links.groups import commit, committed
from tests.integration.links.lab import Running, link
from tests.integration.links.test_migration_switch import values
from tests.integration.links.topics import create, numbered, produce
from tests.simulated import Simulated

TOPIC, GROUP = "orders", "billing"
RECORDS, READ = 200, 12
NAME, WAVE = "move", "orders"


@dataclass
class Threads:
    """The links that run in threads of this process, by their ids."""

    sides: Mapping[str, SandboxCluster]
    stack: ExitStack
    runs: dict[str, Running] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def start(self, target: str, name: str) -> None:
        """Have a link run, unless it does."""
        if name in self.runs:
            return
        (source,) = [side for side in self.sides if side != target]
        made = self.stack.enter_context(
            link(self.sides[source], self.sides[target], ".*", id=name, create=False)
        )  # fmt: skip
        self.runs[name] = Running(made, f"run-{next(self._numbers)}", 60.0, 1)
        self.runs[name].start()

    def stop(self, name: str) -> None:
        """End its run, if it has one."""
        if (found := self.runs.pop(name, None)) is not None:
            found.stop()

    def end(self) -> None:
        """End them all."""
        for name in list(self.runs):
            self.stop(name)


@dataclass(frozen=True, slots=True)
class ThreadDesk(ServiceMigrationDesk):
    """The service's desk, but for who runs links and compares them."""

    threads: Threads | None = None

    async def run_link(self, target: str, link: str) -> None:
        """In threads of this process."""
        assert self.threads is not None
        self.threads.start(target, link)

    async def stop_link(self, _: str, link: str) -> None:
        """If it runs."""
        assert self.threads is not None
        await asyncio.to_thread(self.threads.stop, link)

    async def verify(self, _: str, __: str, ___: int) -> str:
        """Comparisons have tests of their own."""
        return "compared"


_PAUSE = 'echo $$ > stop; until [ -e gate ] && [ "$(cat paused)" = $$ ]; do sleep 0.1; done'
_GO_ON = 'printf %s "$ANABRANCH_AT" > at; rm -f stop'


class Applications:
    """Somebody who writes one record after the other where hooks lead; ``stop`` and ``paused`` name who holds them."""

    def __init__(self, sides: Mapping[str, SandboxCluster], directory: Path) -> None:
        self.sides, self._directory = sides, directory
        self._writes, self._ends = threading.Event(), threading.Event()
        self._wrote = 0
        (directory / "at").write_text("old")
        (directory / "paused").touch()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        stop = self._directory / "stop"
        while not self._ends.wait(0.02):
            try:
                held = stop.read_text()
            except FileNotFoundError:
                if self._writes.is_set():
                    at = (self._directory / "at").read_text()
                    produce(self.sides[at], TOPIC, numbered(1, first=RECORDS + self._wrote))
                    self._wrote += 1
                continue
            (self._directory / "paused").write_text(held)

    def write(self) -> None:
        """From here on."""
        self._writes.set()

    def written(self) -> int:
        """No more; how many records they have written, each of which both clusters hold in order."""
        self._writes.clear()
        until(lambda: all(len(values(one, TOPIC)) == RECORDS + self._wrote for one in self.sides.values()))
        old, new = (values(one, TOPIC) for one in self.sides.values())
        assert old == new and len({*old}) == len(old)
        return self._wrote

    def end(self) -> None:
        """Nobody writes any more."""
        self._ends.set()
        self._thread.join()


def document(approvers: list[str]) -> dict[str, object]:
    """The migration's file."""
    hooks = {"fence": "stop-producers", "release": "start-producers"}
    wave = {"name": WAVE, "topics": [TOPIC], "groups": [GROUP], "fences": ["hook"], "hooks": hooks}
    return {
        "version": 1,
        "name": NAME,
        "source": "old",
        "target": "new",
        "limits": {"longest_pause": "10m", "quiet": "200ms"},
        **({"approvers": approvers} if approvers else {}),
        "waves": [wave],
    }


def obey(sides: Mapping[str, SandboxCluster], gate: Path, applications: Applications) -> None:
    """What standard input says, until its end."""
    for line in sys.stdin:
        word, *told = line.split()
        found: int | None = None
        if word == "go":
            gate.touch()
        elif word == "wait":
            gate.unlink(missing_ok=True)
        elif word == "away":
            for broker in sides[told[0] if told else "old"].brokers:
                broker.kill()
        elif word == "back":
            side = sides[told[0] if told else "old"]
            for broker in side.brokers:
                broker.start()
            side.wait_ready()
        elif word == "write":
            applications.write()
        elif word == "written":
            found = applications.written()
        elif word == "committed":
            position = committed(sides[told[0]], GROUP, [(TOPIC, 0)])[TOPIC, 0]
            found = None if position is None else position[0]
        print(json.dumps({"done": word, "found": found}), flush=True)


def clusters(simulated: bool) -> Sequence[Any]:
    """The old one, which is restarted, and the new one."""
    specs = [ClusterSpec("old"), ClusterSpec("new", overrides=STEADY)]
    return [Simulated(spec, seed) for seed, spec in enumerate(specs)] if simulated else start_clusters(specs)


def main(arguments: Sequence[str]) -> None:
    """Serve until standard input ends."""
    log_plainly()  # on standard error: what stands on standard output is for who started this
    old, new = clusters("--simulated" in arguments)
    with tempfile.TemporaryDirectory() as name, old, new, ExitStack() as stack:
        directory, sides = Path(name), {"old": old, "new": new}
        stack.enter_context(patch.object(lost, "LOOK_LOST_S", 0.5))  # killed here, it does not answer later either
        create(old, TOPIC)
        produce(old, TOPIC, numbered(RECORDS), batch=50)
        commit(old, GROUP, {(TOPIC, 0): (READ, "noted")})
        gate, threads, applications = directory / "gate", Threads(sides, stack), Applications(sides, directory)
        stack.callback(applications.end)
        within = f"cd '{directory}'; "
        hooks = {
            "stop-producers": ("/bin/sh", "-c", within + _PAUSE),
            "start-producers": ("/bin/sh", "-c", within + _GO_ON),
        }
        known = {"old": old.context(), "new": new.context()}
        with serving(str(directory / "store.db"), known, directory, hooks=hooks) as served:
            migrating = served.instance.migrating
            its = migrating.desk
            migrating.desk = ThreadDesk(its.launching, its.route_desk, its.hooks, threads=threads)
            until(lambda: served.instance.acting.acts and len(served.instance.board.seen) == len(known))
            told = {
                "url": f"http://127.0.0.1:{served.port}",
                "tokens": served.tokens,
                "name": NAME,
                "wave": WAVE,
                "read": READ,
                "file": document([]),
                "approved": document(["approver"]),
            }
            print(json.dumps(told), flush=True)
            try:
                obey(sides, gate, applications)
            finally:
                gate.touch()
                threads.end()


if __name__ == "__main__":
    main(sys.argv[1:])
