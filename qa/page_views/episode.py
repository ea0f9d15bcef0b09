"""A stream under random kills while clicks come in, and whether its numbers are those of a batch over all clicks."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import psycopg
from confluent_kafka.admin import NewTopic

from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.brokers import RESTARTED, create_topics
from qa.inconclusive import InconclusiveError
from qa.page_views.clicks import PARTITIONS, Clicks
from qa.page_views.counts import BatchCounts, difference, in_database, in_topic
from qa.page_views.kills import OUTSIDE, Strike, Victim, processes_of, strikes
from qa.page_views.script import MAKE_TABLE, script
from qa.postgres import Postgres, postgres
from qa.service import until
from qa.stream_lab import StandIns, StandInService, stand_ins
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S

NAME = "page-views"
CLICKS, FINAL = "clicks", "final"
LOCAL, EXECUTORS = "local[2]", "local-cluster[1,2,1024]"
_LOOK_S = 0.1
_RESTARTS = 100


@dataclass(frozen=True, slots=True)
class EpisodePlan:
    """``seconds`` of kills from a seed, at least one of each victim; ``rate`` is clicks a second."""

    seed: int
    seconds: float
    victims: tuple[Victim, ...]
    master: str = LOCAL
    rate: int = 200


@dataclass(slots=True)
class EpisodeFound:
    """What became of it: ``wrong`` in words; ``kills`` that struck; how often the stream was started."""

    clicks: int = 0
    windows: int = 0
    final: int = 0
    kills: Counter[Victim] = field(default_factory=Counter)
    starts: int = 0
    asked: int = 0
    late: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """For people."""
        killed = ", ".join(f"{name} {count}" for name, count in sorted(self.kills.items()))
        return [
            f"{self.clicks:,} clicks, {self.windows} windows, {self.final} of them final; {self.seconds:.0f} s",
            f"killed: {killed}; {self.starts} starts, {self.asked} of them asked for by a person",
            *(f"WRONG: {one}" for one in self.wrong),
        ]


@dataclass
class PageViews:
    """The stream on its servers; ``service`` is the one that runs now, or was killed last."""

    cluster: SandboxCluster
    server: Postgres
    database: str
    services: StandIns
    service: StandInService
    store: str

    @property
    def config(self) -> Mapping[str, Any]:
        """Of an independent client of the cluster."""
        return {"bootstrap.servers": self.cluster.internal_bootstrap}

    def kill(self, strike: Strike) -> None:
        """All victims at once; raises InconclusiveError where one is not there."""
        broker = self.cluster.brokers[0]
        job = self.service.run_of(NAME)["pid"]
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            inside = [processes_of(job, one) for one in strike.victims if one not in OUTSIDE]
            if all(inside):
                break
            if time.monotonic() > deadline or not psutil.pid_exists(job):
                raise InconclusiveError(f"there was nobody to kill for {strike.victims}")
            time.sleep(_LOOK_S)
        for process in [process for found in inside for process in found]:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                raise InconclusiveError(f"{strike.victims}: one had just ended") from None
        if Victim.SERVICE in strike.victims:
            self.service.kill()
        if Victim.BROKER in strike.victims:
            broker.kill()
        if Victim.DATABASE in strike.victims:
            self.server.kill()

    def bring_back(self, strike: Strike) -> None:
        """Start what is outside again."""
        if Victim.BROKER in strike.victims:
            self.cluster.brokers[0].start()
            self.cluster.wait_ready()
        if Victim.DATABASE in strike.victims:
            self.server.start()
        if Victim.SERVICE in strike.victims:
            self.service = self.services.serve(self.store)

    def ask(self, verb: str, **request: object) -> bool:
        """Plan and apply a verb; whether it was done.  What passes, as that no service acts just now, is no error."""
        status, plan = self.service.plan(verb, **request)
        if status == 200:
            status, plan = self.service.ask("POST", f"/api/v1/plans/{plan['id']}/apply", {"hash": plan["hash"]})
        if status not in (200, 202):
            assert status == 409, plan
            return False
        until(lambda: self.service.get(f"/api/v1/operations/{plan['id']}")["state"] != "running")
        return bool(self.service.get(f"/api/v1/operations/{plan['id']}")["state"] == "done")

    def told_since(self, since: str) -> bool:
        """Whether each query has ended a micro-batch after a time; raises AssertionError where the stream failed."""
        shown = self.service.stream(NAME)["stream"]
        assert shown["state"] != "failed", shown["why"]
        queries = shown["queries"]
        return len(queries) == 2 and all(one["batch"] is not None and one["told_at"] > since for one in queries)

    def late(self) -> int:
        """Clicks that came too late, as the events of all runs tell them; they would be the clicks' own fault."""
        found = 0
        for file in (self.service.directory / "jobs" / "streams" / NAME).glob("run-*.events*"):
            for line in file.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):
                    found += int(json.loads(line).get("rows_late") or 0)
        return found


@contextmanager
def page_views(root: Path, master: str = LOCAL) -> Iterator[PageViews]:
    """Cluster, database and service, and the stream, which is not started yet."""
    (cluster,) = start_clusters([ClusterSpec("here", overrides=RESTARTED)])
    with cluster, postgres() as server:
        create_topics(cluster, [NewTopic(CLICKS, PARTITIONS, 1), NewTopic(FINAL, PARTITIONS, 1)])
        database = server.database()
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(MAKE_TABLE)
        contexts = root / "contexts.json"
        contexts.write_text(json.dumps({"here": cluster.context()}), encoding="utf-8")
        with stand_ins(root, str(contexts), master) as services:
            store = str(root / "store.db")
            service = services.serve(store)
            made = PageViews(cluster, server, database, services, service, store)
            text = script("here", CLICKS, database, FINAL)
            settings = {"restarts": _RESTARTS, "trigger": "1 second"}
            _await(lambda: made.ask("create", stream=NAME, script=text, **settings), "it is not made")
            yield made


def run_episode(root: Path, plan: EpisodePlan, tell: Callable[[str], None] = print) -> EpisodeFound:
    """Kill for as long as the plan says, let the stream catch up, and compare; raises InconclusiveError."""
    found, began = EpisodeFound(), time.monotonic()

    def say(text: str) -> None:
        tell(f"{time.monotonic() - began:5.0f} s  {text}")

    with page_views(root, plan.master) as lab:
        clicks = Clicks(lab.config, CLICKS, plan.seed, plan.rate)
        clicks.start()
        _await(lambda: lab.ask("start", stream=NAME), "it is not started")
        _await(lambda: lab.told_since(""), "the stream never began")
        say("the stream runs")
        first, until_then = len(plan.victims), time.monotonic() + plan.seconds
        for number, strike in enumerate(strikes(plan.seed, plan.victims)):
            if number >= first and time.monotonic() > until_then:
                break
            time.sleep(strike.pause_s)  # when a kill comes is the seed's
            lab.kill(strike)
            found.kills.update(strike.victims)
            say(f"killed: {', '.join(strike.victims)}; for {strike.outage_s:.1f} s")
            time.sleep(strike.outage_s)
            lab.bring_back(strike)
            _go_on(lab, strike.impatient, found, say)
        clicks.stop()
        say(f"{clicks.sent:,} clicks; no more come")
        _compare(lab, clicks, found, say)
        found.starts = lab.service.stream(NAME)["runs"][0]["fence"]
        found.late = lab.late()
    if found.late and found.wrong:
        raise InconclusiveError(f"{found.late} clicks were late")
    found.seconds = time.monotonic() - began
    return found


def _go_on(lab: PageViews, impatient: bool, found: EpisodeFound, say: Callable[[str], None]) -> None:
    """Wait until each query has written again; the service waits longer from failure to failure, a person does not."""
    since = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    mine = False

    def is_well() -> bool:
        nonlocal mine
        shown = lab.service.stream(NAME)
        failures = sum(one["failed"] for one in shown["runs"][:4])
        if shown["stream"]["state"] == "degraded" and not mine and (impatient or failures > 1):
            mine = lab.ask("restart", stream=NAME)
            found.asked += mine
        return lab.told_since(since)

    _await(is_well, "the stream does not go on")
    say("it goes on" + (", restarted by a person" if mine else ""))


def _compare(lab: PageViews, clicks: Clicks, found: EpisodeFound, say: Callable[[str], None]) -> None:
    """Both sinks with a batch over what another client reads: at the end of the clicks, and once windows are ended."""

    def caught_up(batch: BatchCounts) -> bool:
        differ = difference(in_database(lab.database), batch.windows)
        lab.told_since("")
        return not differ

    batch = BatchCounts(lab.config, CLICKS)
    assert batch.clicks == clicks.sent, f"{batch.clicks} clicks are there, {clicks.sent} were acknowledged"
    with suppress(AssertionError):
        _await(lambda: caught_up(batch), "it never caught up")
    found.wrong += difference(in_database(lab.database), batch.windows)
    say("PostgreSQL has what a batch has" if not found.wrong else "PostgreSQL differs")
    clicks.end_windows()
    batch = BatchCounts(lab.config, CLICKS)
    found.clicks, found.windows, found.final = batch.clicks, len(batch.windows), batch.final.total()
    with suppress(AssertionError):
        _await(lambda: in_topic(lab.config, FINAL).total() >= found.final, "windows did not end")
    _await(lambda: lab.ask("stop", stream=NAME), "it is not stopped")
    until(lambda: lab.service.is_in(NAME, "stopped"))
    written = in_topic(lab.config, FINAL)
    for (since, page), numbers in sorted((written - batch.final).elements())[:5]:
        found.wrong.append(f"the topic has {since:%d %H:%M} {page} {numbers}, which is wrong or once too often")
    for (since, page), numbers in sorted((batch.final - written).elements())[:5]:
        found.wrong.append(f"the topic has not {since:%d %H:%M} {page} {numbers}")
    found.wrong += difference(in_database(lab.database), batch.windows)
    say("the topic has what a batch has" if not found.wrong else "the topic or the database differs")


def _await(holds: Callable[[], bool], why: str) -> None:
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline, why
        time.sleep(_LOOK_S)
