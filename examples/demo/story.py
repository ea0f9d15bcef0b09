"""The demo step by step: applications and jobs are moved to another cluster, back, and there again."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from anabranch.cli.words import count
from examples.demo import desk, load, migration, serving, shop, timeline
from examples.demo.control import CHECKPOINT, STOPPED
from examples.demo.ending import prove
from examples.demo.screen import Screen
from examples.demo.stage import Stage, context
from examples.demo.typed import Terminal
from examples.demo.views import Views
from examples.demo.workers import kill_one

_LOOK_S = 0.5
_MORE = 200
"""So many more orders are taken, and a few payments, before the next thing happens."""


class Story:
    """One demo; ``tell`` returns whether nothing was lost, repeated, reordered or altered."""

    def __init__(self, screen: Screen, stage: Stage) -> None:
        self._screen = screen
        self._stage = stage

    def tell(self) -> bool:
        """All steps."""
        self._screen.title("Anabranch: move running applications to another Kafka cluster, back, and there for good")
        self._begin()
        self._start()
        self._turn("switch", 0, "the switch: producers, groups, a Spark checkpoint and a Flink savepoint go to new")
        self._turn("reverse", 1, "back to old, with all that was written and read on new")
        with Views(self._screen, self._stage, self._terminal) as views:
            views.begin()
            self._turn("switch", 2, "and to new again")
            holds = prove(self._screen, self._stage, self._terminal, views)
        if serving.is_wanted():
            self._stay()
        return holds

    def _begin(self) -> None:
        stage, screen = self._stage, self._screen
        screen.step("two clusters, the service, and applications on old (the first time Maven brings the jars)")
        with screen.waiting("clusters and Flink start"):
            stage.begin()
        for name, cluster in stage.clusters.items():
            screen.say(f"{name}: Kafka {cluster.spec.version} at {cluster.bootstrap}")
        with screen.waiting("history, Spark and the service"), ThreadPoolExecutor(1) as pool:
            filled = pool.submit(load.fill, stage.old)
            stage.run("totals", str(stage.totals.directory), *stage.servers)
            stage.await_service()
            records = filled.result()
        self._terminal = Terminal(screen, stage.scratch, stage.url, stage.token, stage.scratch / "contexts.yaml")
        migration.write_routes(stage.scratch)
        screen.say(f"history: {count(records)} flights; the logs of orders and payments begin at other offsets")
        if serving.is_wanted():
            screen.say(f"watch it at {stage.url}/migrations/{migration.NAME}; the token is {stage.token}", "green")
        reason = "a code for the shop"
        self._terminal.type("route", "apply", "-f", migration.ROUTES, "--reason", reason, "--execute")
        stage.run("desk", str(stage.desk.directory), *stage.servers)
        stage.run("shop", stage.url, str(stage.scratch))
        for control in (stage.desk, stage.totals):
            control.want("old")
        stage.counts.start("old")
        with screen.waiting("applications start"):
            self._go_on("old")
        screen.table(
            "APPLICATION", "HOW", "WHAT IT DOES ON old",
            rows=[
                ("shop", "SDK, cluster code shop", f"takes {shop.RATE:.0f} orders/s; group {shop.GROUP} bills them"),
                ("desk", "plain client, stopped by a hook", f"writes {desk.RATE:.0f} payments/s; group {desk.GROUP}"),
                ("totals", "Spark query with a checkpoint", "counts and sums up orders by store"),
                ("counts", "Flink job with keyed state", "counts payments by desk"),
            ],
            left=3,
        )  # fmt: skip

    def _start(self) -> None:
        stage, screen = self._stage, self._screen
        screen.step("plan, start, verify: applications do not notice")
        migration.write(stage.scratch, stage.totals.directory / CHECKPOINT, None)
        screen.quote(self._terminal.type("migrate", "plan", "-f", migration.FILE, "--watch", "1s"))
        running = self._terminal.begin("migrate", "start", "-f", migration.FILE, "--execute")
        try:
            with screen.waiting("Spark starts, and the link copies"):
                killed = kill_one(context(stage.new), migration.link(0), lambda: not running.has_failed)
            lines = running.lines()
        finally:
            running.end()
        screen.quote(lines[-1:])
        if killed is not None:
            what = f"SIGKILL to worker {killed.pid}, which held {killed.lanes} of {killed.of} lanes, as it copied"
            screen.say(f"{what}: others took over in {killed.seconds:.1f} s", "green")
        else:
            screen.say("no worker was killed: none was seen to hold a lane, or none to take it over", "yellow")
        with screen.waiting("a Spark job compares record by record"):
            screen.quote(self._terminal.type("migrate", "verify", migration.NAME)[-1:])

    def _turn(self, verb: str, leg: int, title: str) -> None:
        """Stop the jobs as their owners do, switch, and have all go on."""
        stage, screen = self._stage, self._screen
        here, there = ("new", "old") if leg % 2 else ("old", "new")
        screen.step(title)
        stage.lead("the Spark query", stage.totals, STOPPED)
        savepoint = stage.counts.stop(here)
        screen.say("the Spark query is stopped, the Flink job stopped with a savepoint, which the file names now")
        migration.write(stage.scratch, stage.totals.directory / CHECKPOINT, savepoint)
        before = timeline.positions(stage.totals.directory / CHECKPOINT)
        self._terminal.type("migrate", "set", "-f", migration.FILE, "--execute")
        with screen.waiting("applications pause, and go on"):
            lines = self._terminal.type("migrate", verb, migration.NAME, "--execute")
        screen.quote(lines[-1:])
        if not leg:
            screen.paragraphs(timeline.lines(stage.runs()[0]))
        after = timeline.positions(stage.totals.directory / CHECKPOINT)
        screen.say(f"the Spark checkpoint: {timeline.moved(before, after, here, there)}; its state is as it was")
        stage.totals.want(there)
        stage.counts.start(there)
        with screen.waiting(f"all go on on {there}"):
            self._go_on(there)
        screen.say(f"shop, desk, the Spark query and the Flink job go on on {there}", "green")

    def _go_on(self, cluster: str) -> None:
        """Wait until each application and each job has done something more there."""
        stage = self._stage
        before = {name: stage.told(name) for name in ("shop", "desk")}
        read = {name: told.get("records_read", 0) for name, told in before.items()}

        def moved(name: str, more: int) -> bool:
            told = stage.told(name)
            return told.get("cluster") == cluster and told.get("records_read", 0) >= read[name] + more

        stage.until(f"the shop goes on on {cluster}", lambda: moved("shop", _MORE))
        stage.until(f"the desk goes on on {cluster}", lambda: moved("desk", _MORE // 10))
        stage.until(f"the Spark query runs on {cluster}", lambda: stage.totals.at() == cluster)
        batch = stage.told("totals").get("batch", -1)
        stage.until(f"the Spark query goes on on {cluster}", lambda: stage.told("totals").get("batch", -1) > batch)
        stage.counts.await_records(_MORE // 10)

    def _stay(self) -> None:
        """Leave the service up until Ctrl-C."""
        stage, screen = self._stage, self._screen
        screen.step("the service stays up beside both clusters")
        screen.say(stage.url, "bold green")
        screen.say(f"the migration: {stage.url}/migrations/{migration.NAME}")
        screen.say(f"sign in with the token {stage.token}")
        screen.say("Ctrl-C ends it all")
        with suppress(KeyboardInterrupt):
            while stage.service.alive:
                time.sleep(_LOOK_S)
            raise stage.service.failure("ended")
        screen.say("the service and the clusters are ended")
