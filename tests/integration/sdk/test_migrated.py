"""Applications of the SDK live through a migration: there, back, and there again, its service killed on the way."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psutil
import pytest

from anabranch.sandbox import SandboxCluster
from qa.service import until
from qa.timeouts import LONG_TIMEOUT_S
from tests.chance import seed
from tests.integration.links.topics import create, delete_records, fresh, numbered, produce
from tests.integration.sdk.lab import Lab, stored
from tests.integration.sdk.test_coordinated import KEYS, PARTITIONS, Application, application

pytestmark = [pytest.mark.full, pytest.mark.real]
WAVE = "shop"


@dataclass
class Migrated:
    """A migration of one wave, whose applications are held and led by its routes."""

    lab: Lab
    name: str
    topic: str

    def file(self, **wave: Any) -> Mapping[str, Any]:
        """Its file, for these applications."""
        named = {"topics": [self.topic], "groups": [self.lab.group], "codes": ["orders"], "fences": ["routes"]}
        limits = {"quiet": "300ms", "longest_pause": "60s"}
        waves = [{"name": WAVE, **named, **wave}]
        return {
            "name": self.name,
            "source": "old",
            "target": "new",
            "limits": limits,
            "copy": {"mode": "mapped"},
            "waves": waves,
        }

    def begin(self, verb: str, **body: Any) -> str:
        """Plan and begin it; returns where its operation is."""
        plan = self.lab.service.ask("POST", f"/migrations/{verb}/plan", body, role="approver")
        assert plan.status == 200, plan.body
        wanted = {"hash": plan.json["hash"]}
        begun = self.lab.service.ask("POST", f"/plans/{plan.json['id']}/apply", wanted, role="approver")
        assert begun.status == 202, (begun.body, plan.json)
        return begun.headers["location"].removeprefix("/api/v1")

    def start(self, **wave: Any) -> None:
        """Until it copies, and has caught up."""
        where = self.begin("start", migration=self.file(**wave))
        until(lambda: self.lab.service.ask("GET", where).json["state"] != "running")
        ended = self.lab.service.ask("GET", where).json
        assert ended["state"] == "done", ended

    def led(self, verb: str, at: Callable[[Any], bool] = lambda _: False) -> Any:
        """Switch, or reverse; the service is killed, and begun again, where ``at`` says; returns the run that ended."""
        runs = len(self.runs())
        where = self.begin(verb, migration=self.name, wave=WAVE)
        until(lambda: len(self.runs()) > runs or self.lab.service.ask("GET", where).json["state"] != "running")
        killed = False

        def ended() -> bool:
            nonlocal killed
            run = self.runs()[0]["run"]
            if not killed and at(run):
                self.lab.service.kill()
                self.lab.service.start()
                killed = True
            return not run["is_open"]

        until(ended, LONG_TIMEOUT_S)
        run = self.runs()[0]["run"]
        assert (run["what"], run["state"], run["why"]) == (verb, "done", "")
        return run

    def runs(self) -> list[Any]:
        """All of its runs, the newest first."""
        return list(self.lab.service.ask("GET", f"/migrations/{self.name}").json["runs"])

    def check(self, app: Application) -> None:
        """Both clusters hold what was written, each record once, those of a key in their order."""
        for cluster in (self.lab.old, self.lab.new):
            until(lambda cluster=cluster: len(self.records(cluster)) >= app.total)
            found = self.records(cluster)
            for key in KEYS:
                mine = [number for name, number in found if name == key]
                assert mine == list(range(app.written[key])), (cluster.spec.name, key)

    def records(self, cluster: SandboxCluster) -> list[tuple[str, int]]:
        """What the applications have written, by partition, as a plain client reads it."""
        found = [value.partition(":") for part in stored(cluster, self.topic, PARTITIONS) for value in part]
        return [(key, int(number)) for key, _, number in found]


@contextmanager
def ends_links_of(name: str) -> Iterator[None]:
    """Links' jobs outlive the service that began them; those of a test that fails are ended with it."""
    try:
        yield
    finally:
        for one in psutil.process_iter(["cmdline"]):
            words = " ".join(one.info["cmdline"] or ())
            if "anabranch.spark.jobs.link" in words and f"/{name}-" in words:
                one.kill()


@pytest.mark.parametrize("order", ["together", "consumers first", "producers first"])
def test_applications_go_on_exactly_through_there_and_back_and_there_again(lab: Lab, order: str) -> None:
    """Nothing is lost, read twice or out of order; the service is killed once on each way, at a step by chance."""
    chance = random.Random(seed(18))
    topic = create(lab.old, fresh("shop"), PARTITIONS)
    for partition in range(PARTITIONS):
        produce(lab.old, topic, numbered(20, partition=partition))
        delete_records(lab.old, topic, 20, partition)
    moved = Migrated(lab, f"mv{uuid.uuid4().hex[:8]}", topic)
    with ends_links_of(moved.name):
        with application(lab, topic) as app:
            moved.start(order=order)
            for verb in ("switch", "reverse", "switch"):
                for _ in range(1 if order == "together" else 2):
                    step = chance.randrange(2, 12)
                    print(f"{verb}: the service is killed at step {step}")
                    run = moved.led(verb, lambda run, step=step: run["at"] >= step)
                    assert run["paused_until_ms"] > run["paused_since_ms"]
                there = "old" if verb == "reverse" else "new"
                until(lambda there=there: {one["cluster"] for one in lab.service.clients()} == {there})
                written, read = app.total, len(app.read)
                until(lambda written=written, read=read: app.total > written + 100 and len(app.read) > read + 100)
        moved.check(app)
        where = moved.begin("complete", migration=moved.name, wave=WAVE)
        until(lambda: lab.service.ask("GET", where).json["state"] == "done")
