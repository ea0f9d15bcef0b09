"""Verbs as they are typed, on simulated clusters: what a dry run says to type does what it showed, and nothing else."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups import snapshot as grouplook
from anabranch.kafka.log import KeyedLog
from anabranch.model.groups import Commit
from examples.api.move_groups import move
from tests.integration.console import Run, console
from tests.unit.link_lab import LINK, TO_A, TO_B, A, B, Lab, lab

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def both() -> Iterator[Lab]:
    """A link with its clusters."""
    with lab() as made:
        yield made


@pytest.fixture
def run(both: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The console script; nobody commits while it looks twice."""
    read = grouplook.read_commits

    async def impatient(cluster: Cluster, names: Iterable[str], *_: float) -> object:
        return await read(cluster, names, 0.0)

    monkeypatch.setattr(grouplook, "SETTLE_S", 0.0)
    monkeypatch.setattr(grouplook, "read_commits", impatient)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANABRANCH_TARGET", "new")
    contexts = {"old": both.here.context(), "new": both.there.context()}
    return console(contexts, tmp_path, monkeypatch, capsys)


def said(text: str) -> list[str]:
    """The command that is said behind ``Apply with`` or ``take it back with``."""
    (line,) = [line for line in text.splitlines() if "with: anabranch " in line]
    return shlex.split(line.partition("with: anabranch ")[2])


def test_groups_are_moved_and_taken_back_by_what_is_said(run: Run, both: Lab) -> None:
    """Plan, sync, undo: each names the next command whole; a plan that is no longer so changes nothing."""
    both.commit(both.source, "shop", {A: Commit(12), B: Commit(30)})
    code, _, err = run("groups", "plan", LINK, "shop", "--target", "new")
    assert (code, both.committed(both.target, "shop")) == (0, {})
    both.commit(both.source, "shop", {A: Commit(13)})
    code, _, changed = run(*said(err))
    assert (code, both.committed(both.target, "shop")) == (3, {}), changed
    assert f"hint: look again: `anabranch groups sync {LINK} shop --target new`" in changed
    code, _, err = run("groups", "plan", LINK, "shop", "--target", "new")
    code, out, _ = run(*said(err))
    assert (code, both.committed(both.target, "shop")) == (0, {TO_A: Commit(3), TO_B: Commit(15)})
    (*undo, execute) = said(out)
    assert execute == "--execute"
    code, _, err = run(*undo)
    assert (code, len(both.committed(both.target, "shop"))) == (0, 2)
    assert run(*said(err))[0] == 0
    assert both.committed(both.target, "shop") == {}


def test_a_program_moves_groups_as_the_command_line_does(
    run: Run, both: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example of the API: without ``--execute`` nothing is changed, with it the group stands where it should."""
    both.commit(both.source, "program", {A: Commit(12)})
    assert run("context", "list")[0] == 0
    monkeypatch.setenv("ANABRANCH_CONTEXTS", str(tmp_path / "contexts.yaml"))
    assert asyncio.run(move(LINK, "new", execute=False)) == 0
    assert both.committed(both.target, "program") == {}
    assert "this is plan" in capsys.readouterr().out
    assert asyncio.run(move(LINK, "new", execute=True)) >= 1
    assert both.committed(both.target, "program") == {TO_A: Commit(2)}


def test_a_group_is_begun_by_what_is_said(run: Run, both: Lab) -> None:
    """At the offsets that were given; a second time it is refused, and nothing is written."""
    start = f"{TO_A}:4,{TO_B}:6"
    code, _, err = run("groups", "create", "made", "--topic", TO_A.topic, "--start", start, "--target", "new")
    assert (code, both.committed(both.target, "made")) == (0, {})
    assert run(*said(err))[0] == 0
    assert both.committed(both.target, "made") == {TO_A: Commit(4), TO_B: Commit(6)}
    assert run(*said(err))[0] == 3


def test_positions_are_published_by_what_is_said(run: Run, both: Lab) -> None:
    """Where the group stands then: it may have read on since they were shown."""
    both.commit(both.source, "reads", {A: Commit(12)})
    code, _, err = run("mm2", "publish", LINK, "--target", "new", "--source-alias", "o")
    assert code == 0
    both.commit(both.source, "reads", {A: Commit(13)})
    code, out, _ = run(*said(err), "-o", "json")
    assert (code, [one["upstream"] for one in json.loads(out)["checkpoints"] if one["group"] == "reads"]) == (0, [13])
    stored = both.on(both.target, lambda cluster: KeyedLog(cluster, "o.checkpoints.internal").read())
    assert len(stored) == len(json.loads(out)["checkpoints"])


def test_baselines_maps_and_offsets_are_asked_of_clusters(run: Run, both: Lab, tmp_path: Path) -> None:
    """The verbs that look, and the one that stores at once."""
    both.commit(both.source, "marked", {A: Commit(12)})
    code, out, _ = run("groups", "baseline", LINK, "marked", "-o", "json")
    assert (code, json.loads(out)["stored"], both.stored().baselines[LINK]["marked"].coverage) == (0, True, "covered")
    code, out, _ = run("groups", "show", LINK, "marked", "-o", "json")
    assert (code, json.loads(out)["baseline"]["partitions"][0]["begin"]) == (0, 10)
    code, out, _ = run("offsets", "translate", LINK, "--group", "marked", "--out", "there.json", "-o", "json")
    assert (code, json.loads(out)["answers"][0]["answer"]) == (0, 2)
    code, out, _ = run("offsets", "translate", LINK, "-f", "there.json", "--reverse", "-o", "json")
    assert (code, json.loads(out)["answers"][0]["answer"]) == (0, 12)
    assert run("offsets", "export", LINK, "--out", "maps.json")[0] == 0
    code, out, _ = run("offsets", "ranges", LINK, "-o", "json")
    assert (code, [one["source"] for one in json.loads(out)]) == (0, [str(A), str(B)])
    topic = f"private={TO_A.topic}"
    code, _, err = run("offsets", "rebuild", "--source", "old", "--topic", topic, "--out", "m", "--spec", "s")
    assert (code, json.loads((tmp_path / "s").read_text())["lanes"][0]["bounds"]) == (0, [0, 32, 0, 15]), err
    code, _, err = run("verify", "start", LINK, "--spec", "v")
    assert (code, len(json.loads((tmp_path / "v").read_text())["lanes"])) == (0, 2), err
    assert run("verify", "show", LINK)[0] == 3
