"""What is still to be committed for a group by whoever goes on with a step that another one had begun."""

from __future__ import annotations

import pickle
import shlex
from dataclasses import replace
from typing import Any

import pytest
import typer

from anabranch.cli.app import app
from anabranch.groups.undo import UndoRecord
from anabranch.migration.legs import Leg
from anabranch.migration.spec import Migration, Wave, WaveOrder
from anabranch.migration.steps import Part
from anabranch.model.groups import Commit
from anabranch.model.topics import TopicPartition
from anabranch.operations.migrations.positions import GroupsBlockedError, _left, _shows

pytestmark = pytest.mark.unit

A, B = TopicPartition("orders", 0), TopicPartition("orders", 1)
WANTED = {A: Commit(10, "noted"), B: Commit(20, "")}
MADE = UndoRecord("u", "shop", False, {}, WANTED, 1, "migration")


def test_the_first_time_what_is_there_stays_and_the_rest_is_recorded() -> None:
    """With what was there before, of those that are written alone."""
    found = _left(MADE, {A: Commit(10, "noted"), B: Commit(3, "x")}, None)
    assert found is not None
    assert (found.former, found.wrote) == ({B: Commit(3, "x")}, {B: Commit(20, "")})
    assert _left(MADE, dict(WANTED), None) is None


def test_again_the_record_stays_as_it_was_made_and_nobody_is_led_back() -> None:
    """Nothing was written yet, all was, or the group has gone on since."""
    known = UndoRecord("u", "shop", False, {A: None, B: None}, WANTED, 0, "migration")
    assert _left(MADE, {}, known) == known
    assert _left(MADE, dict(WANTED), known) is None
    assert _left(MADE, {A: Commit(11, ""), B: Commit(20, "")}, known) is None
    found = _left(MADE, {A: Commit(11, "")}, known)
    assert found is not None
    assert (found.former, found.wrote) == (known.former, {A: Commit(11, ""), B: Commit(20, "")})


def test_groups_that_are_blocked_say_the_command_that_shows_all_reasons() -> None:
    """It names the link, the cluster that stores it, and these groups alone, by expressions that match their names."""
    wave = Wave("orders", ("orders",), ("shop.eu", "it's"))
    leg = Leg(Migration("move", "old", "new", (wave,)), wave, 1)
    shown = _shows(leg, Part.ALL, "reverse", wave.groups)
    error = GroupsBlockedError("orders", {"shop.eu": "it reads"}, shown)
    assert error.hint == f"see every reason: `{shown}`"
    assert pickle.loads(pickle.dumps(error)).message == "wave orders: group shop.eu: it reads"
    words = shlex.split(shown)
    assert words[:3] == ["anabranch", "groups", "plan"]
    groups: Any = typer.main.get_command(app)
    plan = groups.get_command(None, "groups").get_command(None, "plan")
    typed = plan.make_context("plan", words[3:]).params
    assert (typed["link"], typed["target_name"], typed["groups"]) == (
        "move-orders-back",
        "old",
        ["it's", r"shop\.eu"],
    )
    last = Leg(leg.migration, replace(wave, order=WaveOrder.PRODUCERS_FIRST))
    assert _shows(last, Part.CONSUMERS, "switch", wave.groups) == "anabranch migrate switch move --wave orders"
