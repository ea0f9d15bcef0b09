"""``python -m tests.integration.web.stand``: the service beside simulated clusters, for whoever opens its pages.

Prints one line of JSON: addresses, and a token for each role.  Lanes move on each second.  Words on standard input:
``away`` ends the cluster ``far``, ``back`` starts it again; ``expire ID`` has a token's time be over; ``lock`` has
another program hold the store until ``unlock``, ``full`` has its file not grow any more until ``room``.  The end of the
input ends it all.

``--lanes N`` adds the link ``wide`` of so many lanes; ``--port`` names the service's.  ``fresh`` is a second one: it
knows neither a cluster nor a link, nor a directory of checkpoints.  With ``--alone`` no other instance has the store.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from sqlalchemy import Connection, event, update

from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups import snapshot
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.lane import LaneProgress
from anabranch.sandbox import ClusterSpec
from anabranch.service.logs import log_plainly
from anabranch.state.topics.control import Progress
from anabranch.store.database import Database
from anabranch.store.tables import TOKENS
from qa.blocking import on
from qa.service import Served, serving, until
from qa.timeouts import TIMEOUT_S
from tests.integration.web import world
from tests.simulated import Simulated
from tests.unit.link_lab import LINK, Lab, lab

AT_ONCE = 300
SETTLE_S = 0.3
"""How long groups are looked at, whether they commit: here none does unless a test says so."""


class Moving:
    """Files a running link's lanes each second, as its workers would."""

    def __init__(self, context: ClusterContext, link: str, lanes: Sequence[LaneProgress], seed: int) -> None:
        self._context = context
        self._link = link
        self._lanes = list(lanes)
        self._chance = random.Random(seed)
        self._findings = world.FINDINGS if link == "orders-eu" else ()

    def file(self) -> None:
        """One second more."""
        changed = world.moved(self._lanes, self._chance, AT_ONCE)
        for at, lane in changed:
            self._lanes[at] = lane

        async def put(cluster: Cluster) -> None:
            progress = Progress(cluster)
            await progress.persist([lane for _, lane in changed])
            await progress.plan(world.plan_of(self._link, self._lanes, self._findings))

        on(self._context, put)


def fill(both: Lab, far: ClusterContext, wide: int) -> list[Moving]:
    """Every link; those that run."""
    chance = random.Random(7)
    world.commit_groups(both)
    both.on(both.target, lambda cluster: world.compared(cluster, both.lanes))
    both.on(both.source, world.mirrored_source)
    both.on(both.target, world.mirrored_target)
    moving = []
    ids = ("simulated-old", "simulated-new")
    for link, number, limit in (("orders-eu", 48, 52_428_800), *([("wide", wide, None)] if wide else [])):
        lanes = world.lanes_of(link, number, world.RUN, chance, partitions=100 if wide and link == "wide" else 12)
        if link != "wide":
            lanes[5], lanes[17] = world.stopped(lanes[5]), world.stopped(lanes[17])
        made = world.record(link, "old", "new", ids, rate_limit=limit)
        both.on(both.target, lambda cluster, m=made, n=lanes: world.add_link(cluster, m, n, world.FINDINGS))  # type: ignore[misc]
        moving.append(Moving(both.target, link, lanes, len(moving)))
    old = [world.paused(lane) for lane in world.lanes_of("archive", 6, "run-0a1b2c3d4e5f", chance, partitions=6)]
    archive = world.record("archive", "old", "new", ids, paused=True)
    both.on(both.target, lambda cluster: world.add_link(cluster, archive, old))
    moving.append(Moving(both.target, "archive", old, len(moving)))
    lanes = world.lanes_of("new-far", 8, "run-aaaabbbbcccc", chance, partitions=8)
    on(far, lambda cluster: world.add_link(cluster, world.record("new-far", "new", "far", ids), lanes))
    moving.append(Moving(far, "new-far", lanes, len(moving)))
    return moving


def move(moving: Sequence[Moving], ended: threading.Event) -> None:
    """Until it is ended; what a cluster that is away does not hear is lost."""
    while not ended.wait(1.0):
        for one in moving:
            with suppress(AnabranchError):
                one.file()


def remember(served: Served, wide: bool) -> None:
    """An hour of the past, which the service would have to live for."""
    for link, rate in (("orders-eu", 85_000.0), (LINK, 15.0), *([("wide", 250_000.0)] if wide else [])):
        served.instance.board._past[("new", link)] = world.past(random.Random(3), rate)


def room(database: Database, pages: int) -> None:
    """Have SQLite's file grow to so many pages at most; to what it has, where that is more."""

    def most(connection: Connection) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    event.listen(database._engine, "begin", most)


def obey(far: Simulated, served: Served, store: Path) -> None:
    """What standard input says, until its end."""
    database = served.instance.stored.database
    with closing(sqlite3.connect(store, isolation_level=None, timeout=TIMEOUT_S)) as another:
        for line in sys.stdin:
            match line.split():
                case ["away"]:
                    far.brokers[0].kill()
                case ["back"]:
                    far.brokers[0].start()
                case ["expire", token]:
                    with database.begin() as connection:
                        connection.execute(update(TOKENS).where(TOKENS.c.id == token).values(expires_at=now_ms()))
                case ["lock"]:
                    another.execute("BEGIN EXCLUSIVE")
                case ["unlock"]:
                    another.execute("ROLLBACK")
                case ["full"]:
                    room(database, 1)
                case ["room"]:
                    room(database, 1_000_000_000)
                case word:
                    raise ValueError(f"no such word: {word}")
            print(json.dumps({"done": line.strip()}), flush=True)


def main(arguments: Sequence[str]) -> None:
    """Serve until standard input ends."""
    snapshot.SETTLE_S = SETTLE_S
    log_plainly()  # on standard error: what stands on standard output is for who started this
    parser = argparse.ArgumentParser()
    parser.add_argument("--lanes", type=int, default=0)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--alone", action="store_true")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name, lab() as both, Simulated(ClusterSpec(name="far"), 3) as far:
        directory, ended = Path(name), threading.Event()
        context = ClusterContext("far", tuple(far.bootstrap.split(",")))
        moving = fill(both, context, asked.lanes)
        for one in moving:
            one.file()
        mover = threading.Thread(target=move, args=(moving, ended), daemon=True)
        mover.start()
        known = world.contexts_of(("old", both.here.context()), ("new", both.there.context()), ("far", far.context()))
        checkpoint = world.checkpoint(directory / "checkpoints" / "orders-job")
        maps = world.maps(both, directory / "checkpoints" / "adopting.json", "adopting")
        for other in ("second", "fresh"):
            (directory / other).mkdir()
        store, roots = str(directory / "store.db"), (str(directory / "checkpoints"),)
        with serving(store, known, directory, roots=roots, port=asked.port) as served, ExitStack() as others:
            until(lambda: served.instance.acting.acts)  # before there is another one that could
            shows = ""
            if not asked.alone:
                second = others.enter_context(serving(store, known, directory / "second", roots=roots))
                until(lambda: second.instance.acting.holder)
                shows = f"http://127.0.0.1:{second.port}"
            until(lambda: len(served.instance.board.seen) >= len(known) - 1)
            fresh = others.enter_context(serving(str(directory / "fresh.db"), {}, directory / "fresh"))
            remember(served, bool(asked.lanes))
            told = {
                "url": f"http://127.0.0.1:{served.port}",
                "shows": shows,
                "acting": served.instance.name,
                "tokens": served.tokens,
                "fresh": {"url": f"http://127.0.0.1:{fresh.port}", "tokens": fresh.tokens},
                "link": LINK,
                "checkpoint": str(checkpoint),
                "maps": str(maps),
            }
            print(json.dumps(told), flush=True)
            obey(far, served, Path(store))
            ended.set()
            mover.join(TIMEOUT_S)


if __name__ == "__main__":
    main(sys.argv[1:])
