"""A real link, compared by the command line: equal, what is new, what differs, stop and resume."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from anabranch.sandbox import SandboxCluster
from qa.timeouts import LONG_TIMEOUT_S
from qa.verify_lab import connector_settings
from tests.integration.links.lab import link
from tests.integration.links.topics import create, fresh, numbered, produce, transaction

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]

SCHEMA = json.loads((Path(__file__).parents[3] / "schemas" / "verify-report.schema.json").read_text())


class Verbs:
    """``anabranch verify`` as processes of its own."""

    def __init__(self, directory: Path, old: SandboxCluster, new: SandboxCluster, link_id: str) -> None:
        self._file = directory / "contexts.yaml"
        self._file.write_text(yaml.safe_dump({"contexts": {"old": old.context(), "new": new.context()}}))
        self._directory = directory
        self._link = link_id

    def __call__(self, verb: str, *arguments: str, expected: int | None = 0) -> str:
        """Run a verb; returns its standard output."""
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "anabranch",
                "--contexts",
                str(self._file),
                "verify",
                verb,
                self._link,
                "--target",
                "new",
                *arguments,
            ],
            capture_output=True,
            text=True,
            timeout=LONG_TIMEOUT_S,
            check=False,
        )
        assert expected in (None, done.returncode), (done.returncode, done.stdout, done.stderr)
        return done.stdout

    def start(self, *arguments: str, expected: int, verb: str = "start") -> dict[str, Any]:
        """Compare to the end, with the connector that the verb brings; returns the report, which fits the schema."""
        place = ["--directory", str(self._directory), "--master", "local[2]"]
        out = self(verb, *place, "-o", "json", *arguments, expected=expected)
        made: dict[str, Any] = json.loads(out)
        jsonschema.validate(made, SCHEMA)
        return made

    def shown(self) -> dict[str, Any]:
        """What ``show`` says, whatever the verdict."""
        found: dict[str, Any] = json.loads(self("show", "-o", "json", expected=None))
        return found

    def state(self) -> str | None:
        """The state of the comparison, None before it has stored any."""
        text = self("show", "-o", "json", expected=None)
        return None if not text else json.loads(text)["run"]["state"]


def test_a_stranger_in_a_copy_is_named(old: SandboxCluster, new: SandboxCluster, tmp_path: Path) -> None:
    """One record that the link did not copy, without its contents; the exit code is the verdict, also of ``show``."""
    topic = create(old, fresh("judged"))
    produce(old, topic, numbered(100))
    with link(old, new, topic) as made:
        verbs = Verbs(tmp_path, old, new, made.id)
        verbs("show", expected=3)
        with made.running():
            made.await_position(topic, 100)
        produce(new, topic, [{"key": b"stranger", "value": b"secret contents"}])
        produce(old, topic, numbered(10, first=100))
        with made.running():
            made.await_position(topic, 110)
        told = verbs.start(expected=1)
        assert {name for name, number in told["counts"].items() if number} == {"unexpected"}
        assert told["lanes"][0]["source"]["records"] == 110
        assert "secret" not in json.dumps(told)
        assert json.loads(verbs("show", "-o", "json", expected=1))["report"] == told


def test_a_link_is_compared_then_what_is_new_then_what_differs(
    old: SandboxCluster, new: SandboxCluster, tmp_path: Path
) -> None:
    """The exit codes are the verdicts; a second comparison reads only what is new; a foreign record is named."""
    topic = create(old, fresh("compared"))
    produce(old, topic, numbered(200))
    transaction(old, topic, [b"aborted"], commit=False)
    transaction(old, topic, [b"committed"])
    with link(old, new, topic) as made:
        verbs = Verbs(tmp_path, old, new, made.id)
        verbs("show", expected=3)
        with made.running():
            made.await_position(topic, 204)
        first = verbs.start(expected=0)
        assert first["verdict"] == "equal"
        assert first["lanes"][0]["source"]["records"] == first["lanes"][0]["target"]["records"] == 201
        page = next(tmp_path.glob("*.html")).read_text()
        assert "equal" in page and first["lanes"][0]["source"]["digest"] in page

        produce(old, topic, numbered(30, first=200))
        with made.running():
            made.await_position(topic, 234)
        second = verbs.start(expected=0)
        assert second["lanes"][0]["source"]["records"] == 30

        produce(new, topic, [{"key": b"stranger", "value": b"secret contents"}])
        produce(old, topic, numbered(10, first=230))
        with made.running():
            made.await_position(topic, 244)
        third = verbs.start(expected=1)
        assert third["counts"]["unexpected"] == 1
        assert {name for name, number in third["counts"].items() if number} == {"unexpected"}
        (sample,) = third["samples"]
        assert sample["kind"] == "unexpected" and sample["source_offset"] is None
        assert "secret" not in json.dumps(third)
        fourth = verbs.start("--show-values", expected=1)
        assert "secret contents" in json.dumps(fourth), "what differed is looked at again"
        shown = json.loads(verbs("show", "-o", "json", expected=1))
        assert shown["report"] == fourth
        assert "does not run" in verbs("stop")
        verbs("resume", expected=3)


def test_a_lane_without_a_map_is_no_equality(old: SandboxCluster, new: SandboxCluster, tmp_path: Path) -> None:
    """A partition of which nothing was copied yet is named, and nobody is told that both sides hold the same."""
    topic = create(old, fresh("unmapped"), partitions=3)
    produce(old, topic, numbered(50))
    with link(old, new, topic) as made:
        verbs = Verbs(tmp_path, old, new, made.id)
        with made.running():
            made.await_position(topic, 50)
            for empty in (1, 2):
                made.await_position(topic, 0, partition=empty)
        produce(old, topic, numbered(7, partition=1))
        told = verbs.start(expected=2)
        assert told["verdict"] == "unknown"
        assert told["not_compared"] == [
            {"lane": f"{topic}-1", "reason": "it has no map yet: nothing of its offsets 0 to 7 was copied"}
        ]
        assert {lane["source"]["partition"]: lane["verdict"] for lane in told["lanes"]} == {0: "equal", 2: "equal"}


def test_a_stopped_comparison_goes_on_to_the_same_report(
    old: SandboxCluster, new: SandboxCluster, tmp_path: Path
) -> None:
    """What differed before the stop and what differs after it are in the resumed report, as in one that ran through."""
    topic = create(old, fresh("halted"))
    produce(old, topic, numbered(1000), batch=500)
    with link(old, new, topic) as made:
        verbs = Verbs(tmp_path, old, new, made.id)
        with made.running():
            made.await_position(topic, 1000)
        produce(new, topic, [{"key": b"early stranger", "value": b"one"}])
        produce(old, topic, numbered(69_000, first=1000), batch=5_000)
        with made.running():
            made.await_position(topic, 70_000)
        produce(new, topic, [{"key": b"late stranger", "value": b"two"}])
        produce(old, topic, numbered(1000, first=70_000), batch=500)
        with made.running():
            made.await_position(topic, 71_000)
        # The rate makes rounds of one chunk, the first of which lasts until the wish is stored.
        place = ["--directory", str(tmp_path), "--master", "local[2]", "--rate-limit", "60kB/s", "--detach"]
        settings = [part for key, value in connector_settings().items() for part in ("--conf", f"{key}={value}")]
        verbs("start", *settings, *place)
        until(lambda: verbs.state() is not None)
        verbs("stop")
        until(lambda: verbs.state() == "stopped")
        half = verbs.shown()["report"]
        lane = half["lanes"][0]["source"]
        assert lane["verified_to"] == 65_536 < lane["to"] == 71_000
        assert half["verdict"] == "unknown" and half["samples"] == [] and half["lanes"][0]["chunks_not_named"] == 1
        resumed = verbs.start(verb="resume", expected=1)
        assert resumed["lanes"][0]["source"]["verified_to"] == 71_000
        whole = verbs.start("--fresh", "--execute", expected=1)
        assert resumed["counts"] == whole["counts"] and whole["counts"]["unexpected"] == 2
        assert resumed["samples"] == whole["samples"] and len(whole["samples"]) == 2
        assert resumed["lanes"][0]["source"]["records"] == whole["lanes"][0]["source"]["records"] == 71_000
        assert resumed["lanes"][0]["source"]["digest"] == whole["lanes"][0]["source"]["digest"]
        assert resumed["lanes"][0]["target"]["digest"] == whole["lanes"][0]["target"]["digest"]


def until(question: Callable[[], bool]) -> None:
    """Ask until the answer is yes."""
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while not question():
        assert time.monotonic() < deadline
        time.sleep(0.2)
