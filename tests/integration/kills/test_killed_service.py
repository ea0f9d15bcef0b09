"""The whole service is killed during a migration, with Spark's links, and goes on by itself once it runs again."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from anabranch.migration.journal import run_of
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.steps import StepKind
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.store.database import open_database
from anabranch.store.waves import StoredMigrations
from qa.brokers import STEADY
from qa.inconclusive import InconclusiveError
from qa.postgres import postgres
from qa.route_service import RouteProcess
from qa.service import until
from qa.timeouts import TIMEOUT_S
from tests.chance import conclusive
from tests.integration.kills.reading import log_of
from tests.integration.links.groups import commit, committed
from tests.integration.links.topics import create, numbered, produce, transaction

pytestmark = pytest.mark.full

KILLED_IN: Mapping[str, tuple[StepKind, ...]] = {
    "start": (StepKind.CREATE_LINK, StepKind.RUN_LINK, StepKind.CATCH_UP),
    "switch": (StepKind.QUIET, StepKind.PREPARE_REVERSE, StepKind.PUBLISH_GROUPS, StepKind.RUN_REVERSE),
    "reverse": (StepKind.PAUSE_LINK, StepKind.STOP_LINK),
}
"""By verb, steps of which one is under way, or has just ended, as the service is killed."""


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Two clusters."""
    old, new = start_clusters([ClusterSpec("old", overrides=STEADY), ClusterSpec("new", overrides=STEADY)])
    with old, new:
        yield old, new


def runs(served: RouteProcess, migration: str) -> list[WaveRun]:
    """Its runs, the oldest first."""
    database = open_database(served.store)
    try:
        return [run_of(one.journal) for one in StoredMigrations(database).runs_of(migration)]
    finally:
        database.close()


def begun(served: RouteProcess, verb: str, request: Mapping[str, Any]) -> None:
    """Have a verb begin, as an approver plans and does it."""
    plan = served.ask("POST", f"/migrations/{verb}/plan", request, role="approver")
    assert plan.status == 200, plan.body
    done = served.ask("POST", f"/plans/{plan.json['id']}/apply", {"hash": plan.json["hash"]}, role="approver")
    assert done.status == 202, done.body


def killed(served: RouteProcess, migration: str, verb: str, kinds: tuple[StepKind, ...]) -> tuple[WaveRun, int]:
    """Kill the service in each of some steps of the newest run, and start it again.

    The run as it ended, and how many of the kills found it open: the others came after its end.
    """
    until(lambda: [run for run in runs(served, migration) if run.what == verb])
    struck = 0
    for kind in kinds:
        at = [step.kind for step in runs(served, migration)[-1].steps].index(kind)
        until(lambda at=at: runs(served, migration)[-1].at >= at)
        served.kill()
        struck += runs(served, migration)[-1].state.is_open
        served.start()
    return ended([served], migration), struck


def ended(services: list[RouteProcess], migration: str) -> WaveRun:
    """The newest run, once it has ended."""
    deadline = time.monotonic() + 3 * TIMEOUT_S  # Spark starts in it, perhaps twice
    while (run := runs(services[0], migration)[-1]).state.is_open:
        assert time.monotonic() < deadline, [one.log.read_text()[-3000:] for one in services]
        time.sleep(0.1)
    return run


def killed_in_turns(
    services: list[RouteProcess], migration: str, verb: str, kinds: tuple[StepKind, ...]
) -> tuple[WaveRun, int]:
    """Kill whichever of two services acts in each of some steps of the newest run; the other one goes on with it.

    The run as it ended, and how often one took over while it was open.
    """
    until(lambda: [run for run in runs(services[0], migration) if run.what == verb])
    took_over = 0
    for kind in kinds:
        at = [step.kind for step in runs(services[0], migration)[-1].steps].index(kind)
        until(lambda at=at: runs(services[0], migration)[-1].at >= at)
        acting, other = sorted(services, key=lambda one: not one.acts())
        acting.kill()
        took_over += runs(other, migration)[-1].state.is_open
        until(other.acts)
        acting.beside = True
        acting.start()
    return ended(services, migration), took_over


def assert_holds(cluster: SandboxCluster, topic: str, wrote: list[bytes]) -> None:
    """All that was written is there in order, once it is copied."""
    until(lambda: len(log_of(cluster, topic, 0)) >= len(wrote))
    assert [value for _, value in log_of(cluster, topic, 0)] == wrote, cluster.spec.name


@dataclass(frozen=True)
class Moved:
    """A migration of one wave: its file, and what was written to its topic; the group was to read ``read`` next."""

    fields: dict[str, Any]
    topic: str
    group: str
    wrote: list[bytes]
    read: bytes

    @property
    def name(self) -> str:
        """Of the migration."""
        return str(self.fields["name"])

    def assert_at(self, there: SandboxCluster) -> None:
        """The group goes on there at exactly its record."""
        at = next(offset for offset, value in log_of(there, self.topic, 0) if value == self.read)
        assert committed(there, self.group, [(self.topic, 0)]) == {(self.topic, 0): (at, "noted")}


def moved(old: SandboxCluster) -> Moved:
    """A topic with a transaction, of which a group has read some."""
    name = f"mv{uuid.uuid4().hex[:5]}"
    topic, group = create(old, f"{name}-orders"), f"{name}-shop"
    transaction(old, topic, [b"paid 1", b"paid 2"])
    produce(old, topic, numbered(50), batch=7)
    commit(old, group, {(topic, 0): (25, "noted")})
    wave = {"name": "orders", "topics": [topic], "groups": [group]}
    limits = {"quiet": "300ms", "longest_pause": "1h"}
    fields = {"name": name, "source": "old", "target": "new", "limits": limits, "waves": [wave]}
    wrote = [value for _, value in log_of(old, topic, 0)]
    return Moved(fields, topic, group, wrote, next(value for at, value in log_of(old, topic, 0) if at >= 25))


def test_of_two_services_on_one_store_the_other_goes_on_with_a_switch(
    pair: tuple[SandboxCluster, SandboxCluster], tmp_path: Path
) -> None:
    """The one that acts is killed before and behind the point of no return, and comes back beside the other one."""
    old, new = pair
    contexts = json.loads(json.dumps({"old": old.context(), "new": new.context()}))

    def attempt(number: int) -> None:
        made = moved(old)
        places = [tmp_path / str(number) / name for name in ("first", "second")]
        for place in places:
            place.mkdir(parents=True)
        with postgres() as server, ExitStack() as stack:
            store = server.database()
            first = stack.enter_context(RouteProcess(places[0], contexts, store=store))
            second = stack.enter_context(RouteProcess(places[1], contexts, store=store, beside=True))
            services = [first, second]
            assert (first.acts(), second.acts()) == (True, False)
            begun(first, "start", {"migration": made.fields})
            assert killed_in_turns(services, made.name, "start", ())[0].state is WaveRunState.DONE
            begun(first, "switch", {"migration": made.name, "wave": "orders"})
            run, took_over = killed_in_turns(services, made.name, "switch", (StepKind.QUIET, StepKind.RUN_REVERSE))
            assert (run.state, run.why) == (WaveRunState.DONE, "")
            made.assert_at(new)
            produce(new, made.topic, numbered(5, first=len(made.wrote)))
            wrote = [*made.wrote, *(one["value"] for one in numbered(5, first=len(made.wrote)))]
            for cluster in pair:
                assert_holds(cluster, made.topic, wrote)
            acting = next(one for one in services if one.acts())
            begun(acting, "complete", {"migration": made.name, "wave": "orders"})
            assert killed_in_turns(services, made.name, "complete", ())[0].state is WaveRunState.DONE
        if took_over < 2:
            raise InconclusiveError(f"the switch had ended before {2 - took_over} of 2 kills of whoever acts")

    conclusive(attempt)


def test_a_service_that_is_killed_goes_on_where_it_was(
    pair: tuple[SandboxCluster, SandboxCluster], tmp_path: Path
) -> None:
    """There and back; each record is there once and in order, and the group at exactly its record."""
    old, new = pair
    contexts = json.loads(json.dumps({"old": old.context(), "new": new.context()}))

    def attempt(number: int) -> None:
        made = moved(old)
        name, topic, wrote, fields = made.name, made.topic, list(made.wrote), made.fields
        late: list[str] = []

        def done(served: RouteProcess, verb: str, kinds: tuple[StepKind, ...]) -> None:
            run, struck = killed(served, name, verb, kinds)
            assert (run.state, run.why) == (WaveRunState.DONE, "")
            if struck < len(kinds):
                late.append(f"{verb} had ended before {len(kinds) - struck} of {len(kinds)} kills")

        place = tmp_path / str(number)
        place.mkdir()
        with RouteProcess(place, contexts) as served:
            for verb, kinds in KILLED_IN.items():
                begun(served, verb, {"migration": fields} if verb == "start" else {"migration": name, "wave": "orders"})
                done(served, verb, kinds)
                there = new if verb == "switch" else old
                if verb != "start":
                    made.assert_at(there)
                    produce(there, topic, numbered(5, first=len(wrote)))
                    wrote += [one["value"] for one in numbered(5, first=len(wrote))]
                for cluster in pair:
                    assert_holds(cluster, topic, wrote)
            begun(served, "cancel", {"migration": name, "wave": "orders"})
            done(served, "cancel", (StepKind.DELETE_LINK,))
            until(lambda: served.ask("GET", "/links").json["links"] == [])
        if late:
            raise InconclusiveError("; ".join(late))

    conclusive(attempt)
