"""A source is killed under an application: its wave is switched without it as it is typed, and reconciled later."""

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
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Two real clusters, of which the old one dies."""
    old, new = start_clusters([ClusterSpec("old"), ClusterSpec("new", overrides=STEADY)])
    with old, new:
        yield old, new


def test_a_source_is_killed_left_and_reconciled(
    pair: tuple[SandboxCluster, SandboxCluster],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A group goes on where its members had read, another one as was chosen; the tail is there exactly once."""
    old, new = pair
    with typed_move(old, new, tmp_path, monkeypatch, capsys, {"quiet": "200ms"}) as made:
        name, topic, group, reading = made.name, made.topic, made.group, made.reading
        run, served, app = made.run, made.served, made.app
        tail = made.with_tail(old, new, f"{name}-orders", 60)
        assert "it is not lost" in typed_refused(run, "switch", name, "--source-lost")
        old.broker(1).kill()
        refused = " ".join(typed_refused(run, "switch", name, "--source-lost", "--execute").split())
        assert f"how far group {group} had read is not known" in refused
        assert wave_of(served, name)["run"]["what"] == "start"  # nobody was asked to pause for nothing
        chosen = ("--source-lost", "--unknown-groups", "latest")
        report = typed(run, "switch", name, *chosen, "--execute")
        assert report["state"] == "done" and report["pause_ms"] is None
        lost = f"offsets 60 to 71 of {topic}-0 are possibly lost"
        assert any(doubt.startswith(lost) for doubt in report["doubts"]), report["doubts"]
        read_on = f"group {reading}: {topic}-0 was read up to 72, and goes on at 60: all is accounted for up to 60 only"
        assert read_on in report["doubts"]
        stood = wave_of(served, name)
        assert (stood["state"], stood["at"], stood["lost"]) == ("switched", "new", "source lost")
        assert lost in " ".join(run("migrate", "show", name)[1].split())
        assert committed(new, group, [(topic, 0)]) == {(topic, 0): (60, "")}
        app.write.put(b"on new")
        until(lambda: app.read[-1] == b"on new")
        assert len(app.read) == len(set(app.read)) == 73
        assert "it was switched without old" in typed_refused(run, "reverse", name)

        since = values(new, topic)
        old.broker(1).start()
        old.wait_ready()
        told = " ".join(typed_refused(run, "reconcile", name).split())
        assert f"12 records (offsets 60 to 71) of {topic}-0" in told and "--tail append" in told
        assert typed(run, "reconcile", name, "--tail", "append", "--execute")["state"] == "done"
        assert values(new, topic) == [*since, *tail]
        assert newest_offset(old, topic) == 72
        assert "between the copies" in " ".join(typed_refused(run, "reconcile", name).split())
        assert typed(run, "complete", name, "--execute")["state"] == "done"
        assert wave_of(served, name)["state"] == "completed"
