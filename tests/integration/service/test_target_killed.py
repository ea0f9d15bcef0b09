"""A target is killed under an application: its wave is led back without it as it is typed, and reconciled later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.brokers import STEADY
from qa.service import until
from tests.integration.links.groups import committed
from tests.integration.links.test_migration_switch import values
from tests.integration.links.topics import newest_offset
from tests.integration.service.test_migrations import typed, typed_refused, wave_of
from tests.integration.service.typed_move import typed_move

pytestmark = [pytest.mark.full, pytest.mark.real]


@pytest.fixture
def doomed() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Two real clusters, of which the new one dies."""
    old, new = start_clusters([ClusterSpec("old", overrides=STEADY), ClusterSpec("new")])
    with old, new:
        yield old, new


def test_a_target_is_killed_left_and_reconciled(
    doomed: tuple[SandboxCluster, SandboxCluster],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The application goes on on the source, with all that was copied back; the tail is there exactly once later."""
    old, new = doomed
    limits = {"quiet": "200ms", "longest_pause": "60s"}
    with typed_move(old, new, tmp_path, monkeypatch, capsys, limits) as made:
        name, topic, group, reading = made.name, made.topic, made.group, made.reading
        run, served, app = made.run, made.served, made.app
        assert typed(run, "switch", name, "--execute")["state"] == "done"
        app.write.put(b"on new")
        until(lambda: app.read[-1] == b"on new")
        tail = made.with_tail(new, old, f"{name}-orders-back", 61)
        assert "it is not lost" in typed_refused(run, "reverse", name, "--target-lost")
        new.broker(1).kill()
        report = typed(run, "reverse", name, "--target-lost", "--execute")
        assert report["state"] == "done" and report["pause_ms"] is None
        lost = f"offsets 61 to 72 of {topic}-0 are possibly lost"
        assert any(doubt.startswith(lost) for doubt in report["doubts"]), report["doubts"]
        read_on = f"group {reading}: {topic}-0 was read up to 73, and goes on at 61: all is accounted for up to 61 only"
        assert read_on in report["doubts"]
        stood = wave_of(served, name)
        assert (stood["state"], stood["at"], stood["lost"], stood["gone"]) == ("copying", "old", "target lost", "new")
        assert lost in " ".join(run("migrate", "show", name)[1].split())
        assert committed(old, group, [(topic, 0)]) == {(topic, 0): (25, "noted")}
        app.write.put(b"on old")
        until(lambda: app.read[-1] == b"on old")
        assert len(app.read) == len(set(app.read)) == 74
        assert "it was led back without new" in typed_refused(run, "switch", name)

        since = values(old, topic)
        new.broker(1).start()
        new.wait_ready()
        told = " ".join(typed_refused(run, "reconcile", name).split())
        assert f"12 records (offsets 61 to 72) of {topic}-0" in told and "--tail append" in told
        assert typed(run, "reconcile", name, "--tail", "append", "--execute")["state"] == "done"
        assert values(old, topic) == [*since, *tail]
        assert newest_offset(new, topic) == 73
        assert typed(run, "cancel", name, "--execute")["state"] == "done"
        assert wave_of(served, name)["state"] == "planned"
