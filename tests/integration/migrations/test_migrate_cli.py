"""`anabranch migrate discover` and `plan` on clusters, as they are typed: with access rules, without rights."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import NewTopic

from anabranch.config import migration_file
from anabranch.migration.spec import FenceKind, Migration
from anabranch.sandbox import ClusterSpec, ListenerSecurity, SandboxCluster
from qa.brokers import STEADY, make_topics
from qa.timeouts import TIMEOUT_S
from tests.integration.console import Run, console
from tests.simulated import clusters

pytestmark = pytest.mark.test

ORDERS = 300


@pytest.fixture(scope="module")
def both(request: pytest.FixtureRequest) -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """A source that denies what no rule allows, and a target where everybody may do everything."""
    old = ClusterSpec("old", security=ListenerSecurity.PLAIN, authorizer=True, overrides=STEADY)
    with clusters(request.config, old, ClusterSpec("new", overrides=STEADY)) as (source, target):
        fill(source)
        yield source, target


def fill(old: SandboxCluster) -> None:
    """Orders that a group reads and a transaction writes, clicks without producer ids, a compacted log."""
    config = old.client_config()
    topics = [NewTopic("shop.orders", 3), NewTopic("shop.payments", 2), NewTopic("clicks", 2)]
    make_topics(config, [*topics, NewTopic("stock", 1, config={"cleanup.policy": "compact"})])
    settings: dict[str, Any] = {**config, "enable.idempotence": False}
    plain, sure = Producer(settings), Producer({**config, "enable.idempotence": True})
    for number in range(ORDERS):
        sure.produce("shop.orders", b"%d" % number)
        sure.produce("stock", b"%d" % number, key=b"k%d" % (number % 5))
        plain.produce("clicks", b"%d" % number)
    assert (plain.flush(TIMEOUT_S), sure.flush(TIMEOUT_S)) == (0, 0)
    till = Producer({**config, "transactional.id": "till"})
    till.init_transactions(TIMEOUT_S)
    till.begin_transaction()
    till.produce("shop.orders", b"paid")
    till.produce("shop.payments", b"paid")
    till.commit_transaction(TIMEOUT_S)
    reader = Consumer({**config, "group.id": "billing", "auto.offset.reset": "earliest", "client.id": "billing-1"})
    reader.subscribe(["shop.orders"])
    assert reader.consume(10, TIMEOUT_S)
    reader.commit(asynchronous=False)
    reader.close()


@pytest.fixture
def run(
    both: tuple[SandboxCluster, SandboxCluster],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """``anabranch migrate`` with contexts of the administrator, and of a user without rights."""
    old, new = both
    for name, value in (old.environment() | new.environment()).items():
        monkeypatch.setenv(name, value)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        nobodys = {"bootstrap": [f"127.0.0.1:{bound.getsockname()[1]}"]}
    contexts = {"old": old.context(), "new": new.context(), "as-alice": old.context("alice"), "gone": nobodys}
    return console(contexts, tmp_path, monkeypatch, capsys, "migrate")


def discovered(run: Run, path: Path) -> tuple[Migration, dict[str, Any]]:
    """The file that was written, and what was seen."""
    words = ("discover", "--source", "old", "--target", "new", "--name", "move", "--watch", "200ms")
    code, out, err = run(*words, "--out", str(path), "-o", "json")
    assert code == 0, err
    return migration_file.load(path), json.loads(out)


def test_a_first_file_is_written_from_what_the_source_holds_and_can_be_planned(run: Run, tmp_path: Path) -> None:
    """As the how-to says it; the file says which cluster is which, and the plan has every step."""
    path = tmp_path / "move.yaml"
    migration, seen = discovered(run, path)
    waves = {wave.name: wave for wave in migration.waves}
    assert set(waves) == {"clicks", "shop", "stock"}
    shop = waves["shop"]
    assert (shop.topics, shop.groups) == (("shop.orders", "shop.payments"), ("billing",))
    assert {wave.fences for wave in migration.waves} == {(FenceKind.ACL, FenceKind.OBSERVE)}
    topics = seen["source"]["topics"]
    assert {name: one["sample"]["plain"] > 0 for name, one in topics.items()} == {
        **dict.fromkeys(("shop.orders", "shop.payments", "stock"), False),
        "clicks": True,
    }
    assert topics["shop.orders"]["sample"]["transactional"] >= 1
    assert all(one["size"] > 0 for one in topics.values())
    assert topics["clicks"]["records"] == ORDERS
    assert [one["transactional_id"] for one in seen["source"]["writers"]].count("till") == 1
    assert (seen["source"]["unavailable"], seen["reasons"]) == ([], [])
    code, out, err = run("plan", "-f", str(path), "--watch", "0s", "--steps")
    assert code == 0, err + out
    assert out.count("point of no return") == 3
    assert "nothing forbids it; plan " in out
    assert "wave shop is written to in transactions by transactional id till" in out
    assert "topic stock is compacted" in out


def test_what_forbids_a_plan_is_told_with_the_plan_and_the_exit_code(run: Run, tmp_path: Path) -> None:
    """A cluster that is another one, a topic that is not there, a group that is forgotten."""
    path = tmp_path / "move.yaml"
    discovered(run, path)
    text = path.read_text("utf-8").replace("- billing", "- nobody").replace("- clicks\n", "- klicks\n")
    path.write_text(text.replace("target_id: ", "target_id: not-"), "utf-8")
    code, out, err = run("plan", "-f", str(path), "--watch", "0s")
    assert code == 3
    assert "it cannot be started as it is" in out
    for told in (
        "error: there is no topic klicks on old",
        "error: there is no group nobody on old",
        "error: target: context new leads to cluster",
        "group billing has commits of topics shop.orders",
    ):
        assert told.replace("topics shop.orders", "topic shop.orders") in out, told
    assert "error: migration 'move' cannot be started: 3 errors were found" in err
    path.write_text(text.replace("target: new", "target: gone"), "utf-8")
    code, out, err = run("plan", "-f", str(path), "--watch", "0s")
    assert (code, out) == (4, ""), err
    assert "error: cluster gone cannot be reached" in err


def test_who_may_not_look_is_told_what_is_not_known(run: Run, tmp_path: Path) -> None:
    """Nothing that may not be read looks like nothing."""
    words = ("discover", "--source", "as-alice", "--target", "new", "--watch", "0s", "-o", "json")
    code, out, err = run(*words)
    assert code == 0, err
    seen = json.loads(out)
    told = [reason["what"] for reason in seen["reasons"]]
    assert any(one.startswith("sizes on disk are not known") for one in told), told
    assert any(one.startswith("fence acl is left out: ACLs of as-alice cannot be read") for one in told), told
    code, _, err = run("discover", "--source", "old", "--target", "new", "--out", str(tmp_path / "no" / "file.yaml"))
    assert code == 2
    assert "cannot write it" in err
