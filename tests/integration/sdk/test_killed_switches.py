"""Processes that are killed in a switch of the real service: applications that it moves, and the service itself."""

from __future__ import annotations

import json
import os
import signal
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from anabranch.routes.journal import switch_of
from anabranch.routes.switch import Switch
from anabranch.sandbox import SandboxCluster
from anabranch.sdk import Consumer
from anabranch.store.database import open_database
from anabranch.store.switches import Switches
from qa.route_service import RouteProcess
from qa.service import until
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.sdk.dying_service import MOMENTS
from tests.integration.sdk.lab import Lab, committed, read, stored, values
from tests.integration.sdk.test_coordinated import PARTITIONS, Moving, linked, moving
from tests.integration.sdk.test_lost_partitions import Process, running
from tests.integration.sdk.test_typed_moves import are_on, routes_file, typed

pytestmark = [pytest.mark.full, pytest.mark.real]
__all__ = ["moving"]
PATIENCE_S = round(LONG_TIMEOUT_S)


class PatientLab(Lab):
    """Applications wait for as long as a machine with too much to do takes to start a service again."""

    def configured(self, **more: Any) -> dict[str, Any]:
        """See ``TwoClusters``."""
        return super().configured(**{"route_block_max_ms": PATIENCE_S * 1000, **more})


@pytest.fixture
def lab(lab: Lab) -> Lab:
    """With such applications."""
    return PatientLab(lab.old, lab.new, lab.cache, service=lab.service)


# -- applications ------------------------------------------------------------------------------------------


def kill(one: Process) -> None:
    """SIGKILL."""
    one.process.kill()
    one.process.wait()


def assert_exact(moving: Moving, lives: list[Process]) -> None:
    """All that was acknowledged is on the new cluster, once and in order; nothing is read again once committed."""
    there = stored(moving.lab.new, moving.there, PARTITIONS)
    place = {value: (number, at) for number, part in enumerate(there) for at, value in enumerate(part)}
    assert len(place) == sum(map(len, there)), "each is there once"
    for part in there:
        of_writer: defaultdict[str, list[int]] = defaultdict(list)
        for value in part:
            writer, _, number = value.rpartition(":")
            of_writer[writer].append(int(number))
        assert all(numbers == sorted(numbers) for numbers in of_writer.values())
    assert not any(one.lines("refused") for one in lives)
    assert {value for one in lives for _, value in one.lines("acknowledged")} <= place.keys()
    missing = place.keys() - {value for one in lives for _, value in one.lines("read")}
    with Consumer(moving.lab.reading()) as consumer:  # what their last polls did not reach
        consumer.subscribe([moving.topic])
        late = values(read(consumer, lambda found: missing <= set(values(found))))
    done = dict.fromkeys(range(PARTITIONS), -1)
    told = [line for one in lives for line in one.lines("read", "committed")]
    for word, value in [*told, *(("read", value) for value in late)]:
        number, at = place[value]
        if word == "committed":
            done[number] = at
        assert word != "read" or at > done[number], f"{value} was read again after it was committed"


def test_an_application_that_is_killed_as_it_is_asked_to_pause_is_moved_later(moving: Moving, tmp_path: Path) -> None:
    """Its producer might still write, so the switch is given up; by its next life the same is done, once it is gone."""
    service = moving.lab.service
    with ExitStack() as stack:
        first = stack.enter_context(running(moving, tmp_path, 1))
        first.works()
        os.kill(first.process.pid, signal.SIGSTOP)
        operation = moving.begin(timeout_s=20)
        moving.await_state("preparing")
        until(lambda: moving.switch()["clients"] == 2)
        kill(first)
        second = stack.enter_context(running(moving, tmp_path, 2))
        until(lambda: operation()["state"] != "running")
        assert "not paused in time: " in operation()["problem"]["detail"], operation()
        assert moving.switch()["state"] == "cancelled"
        second.works()
        until(lambda: sum(one["live"] for one in service.clients()) == 2)
        again = moving.begin(timeout_s=PATIENCE_S)
        until(lambda: again()["state"] != "running")
        assert (again()["state"], moving.switch()["clients"]) == ("done", 2), again()
        second.works()
    assert_exact(moving, [first, second])


def test_an_application_that_is_killed_once_it_has_paused_is_moved(moving: Moving, tmp_path: Path) -> None:
    """What it has handed over counts; its next life waits, and goes on on the new cluster."""
    lab = moving.lab
    with ExitStack() as stack:
        first = stack.enter_context(running(moving, tmp_path, 1))
        first.works()
        other = stack.enter_context(Consumer({**lab.reading(client_id="late"), "group.id": f"{lab.group}-late"}))
        other.subscribe([moving.topic])
        until(lambda: other.poll(0.1))
        operation = moving.begin(timeout_s=PATIENCE_S)
        moving.await_state("preparing")
        until(lambda: moving.switch()["paused"] == 2)
        kill(first)
        second = stack.enter_context(running(moving, tmp_path, 2))
        until(lambda: len(lab.service.clients()) == 5)
        assert (moving.switch()["state"], second.lines("read", "acknowledged")) == ("preparing", [])

        def is_over() -> bool:
            other.poll(0.1)  # gives out what the next life writes, once it has gone over
            return bool(operation()["state"] != "running")

        until(is_over)
        assert operation()["state"] == "done", operation()
        second.works()
    assert_exact(moving, [first, second])


def test_an_application_that_is_killed_while_its_last_records_are_copied_is_moved(
    moving: Moving, tmp_path: Path
) -> None:
    """They were pinned before; its next life goes on behind them."""
    lab, link = moving.lab, ("--target", "new")
    with ExitStack() as stack:
        first = stack.enter_context(running(moving, tmp_path, 1))
        first.works()
        typed(lab, "link", "pause", moving.link.id, *link)
        first.works()
        operation = moving.begin(timeout_s=PATIENCE_S)
        moving.await_state("draining")
        kill(first)
        second = stack.enter_context(running(moving, tmp_path, 2))
        until(lambda: len(lab.service.clients()) == 4)
        assert (moving.switch()["state"], second.lines("read", "acknowledged")) == ("draining", [])
        typed(lab, "link", "resume", moving.link.id, *link)
        until(lambda: operation()["state"] != "running")
        assert operation()["state"] == "done", operation()
        second.works()
    assert_exact(moving, [first, second])


# -- the service -------------------------------------------------------------------------------------------


@pytest.fixture
def dying(
    pair: tuple[SandboxCluster, SandboxCluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Moving]:
    """A topic and its link beside a service of its own."""
    old, new = pair
    with RouteProcess(tmp_path, {"old": old.context(), "new": new.context()}) as service:
        service.publish({"codes": {"orders": {"cluster": "old"}}})
        monkeypatch.setenv("ANABRANCH_SERVICE", service.url)
        monkeypatch.setenv("ANABRANCH_TOKEN", service.tokens["client"])
        with linked(PatientLab(old, new, tmp_path / "cache", service=service)) as made:
            yield made


def left_by(service: RouteProcess) -> Switch:
    """The switch as the journal has it that the service has left."""
    database = open_database(service.store)
    try:
        return switch_of(Switches(database).last(1)[0].journal)
    finally:
        database.close()


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_service_that_is_killed_at_an_exact_moment_goes_on_with_its_switch(
    dying: Moving, tmp_path: Path, moment: str
) -> None:
    """Each record once and in its order; what was typed again is done already, and changes nothing."""
    lab, service = dying.lab, dying.lab.service
    with dying.application(consumers=1) as app:
        service.stop()
        service.program = ("tests.integration.sdk.dying_service", moment)
        service.start()
        dying.begin(timeout_s=PATIENCE_S)
        until(lambda: not service.runs)
        journal = left_by(service)
        assert journal.state.value == ("moving" if moment == "moved" else moment)
        assert bool(journal.starts) == (moment == "published"), "what follows the move is noted with it"
        at_new = committed(lab.new, lab.group, dying.there, PARTITIONS)
        assert (max(at_new) > 0) == (moment != "moving"), at_new
        service.program = ("anabranch",)
        service.start()
        assert dying.await_state("done", "cancelled")["state"] == "done"
        until(lambda: are_on(dying, "new"))
        apply = ("route", "apply", "-f", routes_file(tmp_path, "new", topics="old.{topic}"), "--reason", "again")
        assert "no code and no rule changes" in typed(lab, *apply, "--execute")
        assert json.loads(typed(lab, "route", "versions", "-o", "json"))[0]["version"] == journal.version
        written = app.total
        until(lambda: app.total > written + 50)
