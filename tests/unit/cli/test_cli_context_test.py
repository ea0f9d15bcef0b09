"""``context test``: who answers at each context, as whom, and what is missing; failures with hints and exit codes."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.cli.main import main
from anabranch.config import contexts as store
from anabranch.kafka.admin import create_topic
from anabranch.model.cluster import ClusterContext
from anabranch.sandbox import ClusterSpec
from tests.integration.console import Run, console
from tests.simulated import Simulated
from tests.unit.asking import on

pytestmark = pytest.mark.test


@pytest.fixture(scope="module")
def open_to_all() -> Iterator[Simulated]:
    """A cluster of two brokers with a topic."""
    with Simulated(ClusterSpec(name="old", brokers=2), 1) as running:
        context = ClusterContext("old", tuple(running.bootstrap.split(",")))
        on(context, lambda cluster: create_topic(cluster, "orders", 1, 1, {}))
        yield running


@pytest.fixture(scope="module")
def guarded() -> Iterator[Simulated]:
    """A cluster that asks for passwords and lets ``nobody`` do nothing."""
    spec = ClusterSpec(name="guarded", security="PLAIN", authorizer=True, users={"nobody": "n"})
    with Simulated(spec, 2) as running:
        yield running


@pytest.fixture
def run(
    open_to_all: Simulated,
    guarded: Simulated,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Run]:
    """The console script with contexts that are reached, refused, closed and without their secret."""
    monkeypatch.setenv("ANABRANCH_WRONG", "not-the-password")
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and nobody listens
        contexts = {
            "old": open_to_all.context(),
            "guarded": guarded.context("nobody"),
            "wrong": guarded.context("nobody"),
            "secretless": guarded.context("nobody"),
            "gone": {"bootstrap": [f"127.0.0.1:{bound.getsockname()[1]}"]},
        }
        contexts["wrong"]["security"]["sasl"]["password_env"] = "ANABRANCH_WRONG"
        contexts["secretless"]["security"]["sasl"]["password_env"] = "ANABRANCH_NOT_SET"
        yield console(contexts, tmp_path, monkeypatch, capsys, "context", "test")


def test_a_cluster_that_lets_us_in_is_told_in_a_line(run: Run) -> None:
    """Its id, version, brokers and who we are; nothing else where nothing is missing."""
    code, out, err = run("old")
    heading, row = out.splitlines()
    assert (code, err, heading.split()[:2]) == (0, "", ["CONTEXT", "CLUSTER"])
    assert row.split()[0] == "old" and row.split()[-2:] == ["2", "User:ANONYMOUS"]
    (told,) = json.loads(run("old", "-o", "json")[1])
    assert (told["brokers"], told["as_source"], told["as_target"], told["error"]) == (2, [], [], "")


def test_what_is_missing_is_named_by_role(run: Run) -> None:
    """It was reached: that is no error."""
    code, out, _ = run("guarded")
    assert code == 0
    assert "User:nobody" in out
    assert "guarded as a source: no topic is seen" in out
    assert "guarded as a target: may not " in out


@pytest.mark.parametrize(
    ("name", "code", "said", "hint"),
    [
        ("gone", 4, "context gone: cluster gone cannot be reached: 127.0.0.1:", "anabranch context show gone"),
        ("wrong", 4, "context wrong: cluster wrong refused User:nobody (PLAIN)", "anabranch context show wrong"),
        ("secretless", 2, "ANABRANCH_NOT_SET", ""),
        ("nowhere", 2, "no cluster context 'nowhere'", "anabranch context add nowhere"),
    ],
)
def test_a_failure_has_its_hint_and_its_code(run: Run, name: str, code: int, said: str, hint: str) -> None:
    """Never the secret."""
    found, out, err = run(name)
    assert (found, err.startswith("error: "), "not-the-password" in out + err) == (code, True, False)
    assert said in err and hint in err


def test_without_a_name_all_are_tried(run: Run) -> None:
    """Each failure is told, also beside those that are reached; the code is the highest."""
    code, out, err = run()
    assert code == 4
    assert err.count("error: context ") == 3
    assert [line.split()[0] for line in out.splitlines()[1:6]] == ["gone", "guarded", "old", "secretless", "wrong"]
    assert out.count("not reached") == 3


@pytest.mark.parametrize(
    ("verb", "code", "said"), [("list", 0, "no contexts: there is no file"), ("test", 2, "no contexts to test")]
)
def test_without_any_context_nothing_is_tried(
    verb: str, code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """That is an error with a hint; a file that is not there is not named as if it were."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANABRANCH_CONTEXTS", raising=False)
    monkeypatch.setattr(store.platformdirs, "user_config_path", lambda _: tmp_path / "nowhere")
    monkeypatch.setattr(sys, "argv", ["anabranch", "context", verb])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = " ".join("".join(capsys.readouterr()).split())
    assert (ended.value.code or 0, said in printed, "anabranch context add" in printed) == (code, True, True)
