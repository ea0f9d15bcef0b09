"""The moves of how-tos as they are typed, without `--at-once`: by a link, back by its way back, off a lost cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from qa.service import until
from qa.timeouts import TIMEOUT_S
from tests.integration.links.lab import Link
from tests.integration.sdk.lab import Lab
from tests.integration.sdk.test_coordinated import KEYS, Moving, mortal, moving, values_there

__all__ = ["mortal", "moving"]
pytestmark = [pytest.mark.full, pytest.mark.real]


def typed(lab: Lab, *words: str, token: str = "approver") -> str:
    """What a command that ends well writes."""
    service = lab.service
    done = subprocess.run(
        [sys.executable, "-m", "anabranch", "--contexts", str(service.contexts), *words],
        env={**os.environ, "ANABRANCH_TOKEN": service.tokens[token], "COLUMNS": "160"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=4 * TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout + done.stderr


def routes_file(directory: Path, cluster: str, **code: str) -> str:
    """A file by which the code leads there."""
    file = directory / f"{cluster}.yaml"
    file.write_text(yaml.safe_dump({"version": 1, "codes": {"orders": {"cluster": cluster, **code}}}))
    return str(file)


def are_on(moving: Moving, cluster: str) -> bool:
    """Whether all that are registered are led there."""
    return {one["cluster"] for one in moving.lab.service.clients()} == {cluster}


def test_applications_are_moved_and_moved_back_by_what_is_typed(moving: Moving, tmp_path: Path) -> None:
    """docs/how-to/route-migration.md: each record once and in its order, there and back, while all runs."""
    lab, link = moving.lab, moving.link
    before = json.loads(typed(lab, "route", "versions", "-o", "json"))[0]["version"]
    apply = ("route", "apply", "-f", routes_file(tmp_path, "new", topics="old.{topic}"), "--reason", "a pilot")
    with moving.application(consumers=1) as app:
        typed(lab, "link", "wait", link.id, "--target", "new", "--caught-up")
        assert f"old -> new, by the map of link {link.id}" in typed(lab, *apply)
        shown = typed(lab, *apply, "--execute")
        assert f"done: version {before + 1} of the route table applies" in shown and "in doubt" not in shown
        until(lambda: are_on(moving, "new"))
        there = app.total
        until(lambda: app.total > there + 50)
        typed(lab, "link", "pause", link.id, "--target", "new")
        back = f"back-{link.id}"
        create = ("link", "create", "--source", "new", "--target", "old", "--back-of", link.id, "--id", back)
        typed(lab, *create, "--execute")
        way_back = Link(link.new, link.old, replace(link.spec, id=back), link.target, link.source)
        with way_back.running():
            typed(lab, "link", "wait", back, "--target", "old", "--caught-up")
            rollback = ("route", "rollback", str(before), "--reason", "it failed")
            assert f"new -> old, by the map of link {back}" in typed(lab, *rollback)
            typed(lab, *rollback, "--execute")
            until(lambda: are_on(moving, "old"))
            again = app.total
            until(lambda: app.total > again + 50)
        way_back.close()
    switches = json.loads(typed(lab, "route", "switches", "-o", "json"))
    assert [one["state"] for one in switches[:2]] == ["done", "done"]


def test_applications_are_moved_off_a_lost_cluster_by_what_is_typed(mortal: Moving, tmp_path: Path) -> None:
    """docs/how-to/route-disaster-recovery.md: what was copied is read once, and what is in doubt is named."""
    lab = mortal.lab
    apply = ("route", "apply", "-f", routes_file(tmp_path, "new", topics="old.{topic}"), "--reason", "old is lost")
    with mortal.application(consumers=1, checked=False) as app:
        lab.old.broker(1).kill()
        shown = typed(lab, *apply, "--when-lost", "go", "--timeout", "300")
        assert "--when-lost go --timeout 300 --execute" in " ".join(shown.split())
        assert are_on(mortal, "old"), "a plan moves nobody"
        done = " ".join(typed(lab, *apply, "--when-lost", "go", "--timeout", "300", "--execute").split())
        assert "in doubt: " in done and f"{mortal.topic}-0 was copied up to" in done
        switch = mortal.switch()
        assert (switch["state"], switch["lost"]) == ("done", ["old"])
        listed = " ".join(typed(lab, "route", "switches", switch["id"]).split())
        assert f"in doubt: {switch['doubts'][0]}" in listed
        until(lambda: are_on(mortal, "new"))
        read = len(app.read)
        until(lambda: len(app.read) > read + 100)
    assert max(Counter(app.read).values()) == 1
    newest = {key: max(number for name, number in app.read if name == key) for key in KEYS}
    assert {one for one in values_there(mortal) if one[1] <= newest[one[0]]} <= set(app.read)
