"""A migration as it is typed: the service starts, switches and reverses a wave on real clusters.

In CI the whole way is gone with links in threads of this process: each leg starts more of them.  Jobs of Spark that a
service starts are those of ``test_links.py`` there.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka.admin import AdminClient

from anabranch.migration.standing import WaveVerb
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.service import Served, serving, until
from qa.timeouts import TIMEOUT_S
from tests.integration.console import Run, console
from tests.integration.links.groups import commit, committed
from tests.integration.links.test_migration_switch import offsets, values
from tests.integration.links.topics import create, newest_offset, numbered, produce, transaction
from tests.integration.web.migration_stand import ThreadDesk, Threads

pytestmark = [pytest.mark.test, pytest.mark.real]


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Two real clusters."""
    old, new = start_clusters([ClusterSpec(name="old"), ClusterSpec(name="new")])
    with old, new:
        yield old, new


@pytest.fixture
def threads(pair: tuple[SandboxCluster, SandboxCluster]) -> Iterator[Threads]:
    """Links that go on while the service is away, as jobs do."""
    old, new = pair
    with ExitStack() as stack:
        made = Threads({"old": old, "new": new}, stack)
        stack.callback(made.end)
        yield made


def typed(run: Run, *words: str, code: int = 0) -> Any:
    """What a verb answers as JSON, with the exit code that it must have."""
    found, out, err = run("migrate", *words, "-o", "json")
    assert found == code, (words, out, err)
    return json.loads(out) if out.strip() else err


def wave_of(served: Served, name: str) -> Any:
    """The only wave of a migration, as the service answers it."""
    (wave,) = served.get(f"/api/v1/migrations/{name}")["migration"]["waves"]
    return wave


def signed_in(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what is typed go to the service, by an approver."""
    monkeypatch.setenv("ANABRANCH_SERVICE", f"http://127.0.0.1:{served.port}")
    monkeypatch.setenv("ANABRANCH_TOKEN", served.tokens["approver"])


def in_threads(served: Served, threads: Threads) -> None:
    """Have links run in threads of this process, and comparisons not at all."""
    migrating = served.instance.migrating
    migrating.desk = ThreadDesk(migrating.desk.launching, migrating.desk.route_desk, threads=threads)


@pytest.mark.full
def test_a_wave_is_copied_and_compared_by_jobs_of_spark(
    pair: tuple[SandboxCluster, SandboxCluster],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They are started by the service, compare all that is copied, and are ended as the wave is cancelled."""
    old, new = pair
    name = f"mv{uuid.uuid4().hex[:5]}"
    topic = create(old, f"{name}-orders", 2)
    produce(old, topic, numbered(60) + numbered(60, partition=1), batch=9)
    file = tmp_path / "move.yaml"
    group = f"{name}-shop"
    commit(old, group, {(topic, 0): (25, "noted")})
    wave = {"name": "orders", "topics": [topic], "groups": [group]}
    file.write_text(yaml.safe_dump({"name": name, "source": "old", "target": "new", "waves": [wave]}))
    contexts = {"old": old.context(), "new": new.context()}
    run = console(contexts, tmp_path, monkeypatch, capsys)
    with serving(str(tmp_path / "store.db"), contexts, tmp_path) as served:
        until(lambda: served.instance.acting.acts)
        signed_in(served, monkeypatch)
        assert [one["state"] for one in typed(run, "start", "-f", str(file), "--execute")["runs"]] == ["done"]
        assert typed(run, "verify", name)["state"] == "done"
        assert values(old, topic) == values(new, topic)
        where = f"/api/v1/clusters/new/links/{name}-orders"
        assert served.get(f"{where}/verification")["report"]["verdict"] == "equal"
        kinds = {one["kind"] for one in served.get(f"{where}/processes")}
        assert kinds == {"link", "verify"}
        assert typed(run, "cancel", name, "--execute")["state"] == "done"
        until(lambda: served.get("/api/v1/links")["links"] == [])


def test_a_plan_that_its_author_may_not_approve_is_left_for_another_approver(
    pair: tuple[SandboxCluster, SandboxCluster],
    threads: Threads,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Who tries it is refused, each time, and has not used it up; it is applied once."""
    old, new = pair
    name = f"mv{uuid.uuid4().hex[:5]}"
    topic = create(old, f"{name}-orders", 1)
    file = tmp_path / "move.yaml"
    wave = {"name": "orders", "topics": [topic]}
    fields = {"name": name, "source": "old", "target": "new", "approvers": ["approver", "admin"], "waves": [wave]}
    file.write_text(yaml.safe_dump(fields))
    contexts = {"old": old.context(), "new": new.context()}
    run = console(contexts, tmp_path, monkeypatch, capsys)
    with serving(str(tmp_path / "store.db"), contexts, tmp_path) as served:
        until(lambda: served.instance.acting.acts)
        in_threads(served, threads)
        signed_in(served, monkeypatch)
        assert [one["state"] for one in typed(run, "start", "-f", str(file), "--execute")["runs"]] == ["done"]
        request = {"migration": name, "wave": "orders", "purge": True}
        plan = served.ask("POST", "/api/v1/migrations/cancel/plan", request, role="approver").json
        for _ in range(2):
            refused = typed(run, "approve", plan["id"], "--execute", code=3)
            assert "approver asked for this, and somebody else of approver, admin has to approve it" in refused
        monkeypatch.setenv("ANABRANCH_TOKEN", served.tokens["admin"])
        assert typed(run, "approve", plan["id"], "--execute")["state"] == "done"
        assert "was applied already, by admin" in typed(run, "approve", plan["id"], "--execute", code=3)
        until(lambda: served.get("/api/v1/links")["links"] == [])


@pytest.mark.parametrize("jobs", ["threads", pytest.param("spark", marks=pytest.mark.full)])
def test_a_wave_goes_there_and_back_and_there_again(
    jobs: str,
    pair: tuple[SandboxCluster, SandboxCluster],
    threads: Threads,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each record is there once and in order, a group goes on at exactly its record; one restart on the way."""
    old, new = pair
    name = f"mv{uuid.uuid4().hex[:5]}"
    topic = create(old, f"{name}-orders", 2)
    produce(old, topic, numbered(60) + numbered(60, partition=1), batch=9)
    transaction(old, topic, [b"paid 1"])
    group = f"{name}-shop"
    commit(old, group, {(topic, 0): (25, "noted"), (topic, 1): (60, "")})
    file = tmp_path / "move.yaml"
    fields = {
        "name": name,
        "source": "old",
        "target": "new",
        "limits": {"quiet": "500ms"},
        "waves": [{"name": "orders", "topics": [topic], "groups": [group]}],
    }
    file.write_text(yaml.safe_dump(fields))
    contexts, store = {"old": old.context(), "new": new.context()}, str(tmp_path / "store.db")
    run = console(contexts, tmp_path, monkeypatch, capsys)
    with serving(store, contexts, tmp_path, name="first") as served:
        until(lambda: served.instance.acting.acts)
        if jobs == "threads":
            in_threads(served, threads)
        signed_in(served, monkeypatch)
        assert typed(run, "status") == []
        rehearsed = typed(run, "rehearse", "-f", str(file), "--wave", "orders", "--execute")
        assert [one["verb"] for one in rehearsed["runs"]] == ["start", "verify", "switch", "reverse"]
        assert (rehearsed["partitions"], rehearsed["records"], rehearsed["positions"]) == (2, 80, 4)
        assert not any(one.startswith("rehearsal.") for one in [*topics_of(old), *topics_of(new)])
        planned = typed(run, "start", "-f", str(file))
        assert served.get("/api/v1/migrations") == []
        report = typed(run, "start", "-f", str(file), "--execute", "--plan", planned["hash"])
        assert [(one["wave"], one["state"]) for one in report["runs"]] == [("orders", "done")]
        assert typed(run, "verify", name)["state"] == "done"
        assert wave_of(served, name)["state"] == "copying"
        looked = typed(run, "switch", name)
        assert [step["kind"] for step in looked["plan"]["steps"]][:2] == ["preflight", "prove that nobody writes"]
        assert [one for one in looked["plan"]["reasons"] if one["severity"] != "info"] == []
        done = typed(run, "switch", name, "--execute", "--plan", looked["hash"])
        assert (done["verb"], done["state"]) == (WaveVerb.SWITCH.value, "done") and done["pause_ms"] > 0
        ran = served.get(f"/api/v1/migrations/{name}")["runs"][0]
        assert [step["kind"] for step in ran["steps"]] == [step["kind"] for step in looked["plan"]["steps"]]
        stood = wave_of(served, name)
        assert (stood["state"], stood["at"], stood["leg"]) == ("switched", "new", 1)
        there = offsets(new, topic)
        read = next(digest for digest, at in offsets(old, topic).items() if at == 25)
        assert committed(new, group, [(topic, 0)]) == {(topic, 0): (there[read], "noted")}
        refused = typed(run, "switch", name, code=3)
        assert "its applications are on new already" in refused
    produce(new, topic, numbered(30, first=500), batch=4)
    commit(new, group, {(topic, 0): (newest_offset(new, topic) - 5, "read on")})
    with serving(store, contexts, tmp_path, name="second") as served:
        until(lambda: served.instance.acting.acts)
        if jobs == "threads":
            in_threads(served, threads)
        signed_in(served, monkeypatch)
        assert not_compared(typed(run, "complete", name)) == [f"what {name}-orders has copied was not compared"]
        assert typed(run, "verify", name)["state"] == "done"
        links = (("new", f"{name}-orders"), ("old", f"{name}-orders-back"))
        for at, link in links if jobs == "spark" else ():
            told = served.get(f"/api/v1/clusters/{at}/links/{link}/verification")["report"]
            assert told["verdict"] == "equal" and told["lanes"]
        assert not_compared(typed(run, "complete", name)) == []
        typed(run, "hold", name, "--reason", "not before Monday")
        assert "not before Monday" in str(typed_refused(run, "reverse", name, "--execute"))
        typed(run, "release", name, "--wave", "orders")
        typed(run, "release", name)
        assert typed(run, "reverse", name, "--execute")["state"] == "done"
        assert wave_of(served, name)["at"] == "old"
        assert values(old, topic) == values(new, topic)
        assert len(set(values(old, topic))) == len(values(old, topic)) == 91
        last = sorted(offsets(old, topic).values())[-5]
        assert committed(old, group, [(topic, 0)]) == {(topic, 0): (last, "read on")}
        assert typed(run, "switch", name, "--execute")["state"] == "done"
        assert typed(run, "complete", name, "--execute")["state"] == "done"
        assert wave_of(served, name)["state"] == "completed"
        assert served.get("/api/v1/links")["links"] == [] or until_no_links(served)
        assert "it is completed" in typed(run, "switch", name, code=3)


def not_compared(planned: Any) -> list[str]:
    """What a dry run warns of that nobody has compared, but for since when."""
    told = [one["what"] for one in planned["plan"]["reasons"]]
    return [one.removesuffix(" since the wave was switched") for one in told if "not compared" in one]


def topics_of(cluster: SandboxCluster) -> list[str]:
    """The topics that a cluster has."""
    return list(AdminClient({"bootstrap.servers": cluster.internal_bootstrap}).list_topics(timeout=TIMEOUT_S).topics)


def typed_refused(run: Run, *words: str) -> str:
    """All that a verb says that is refused by what its plan found."""
    code, out, err = run("migrate", *words)
    assert code == 3, (words, out, err)
    return out + err


def until_no_links(served: Served) -> bool:
    """Whether no link is left once the service has looked again."""
    until(lambda: served.get("/api/v1/links")["links"] == [])
    return True
