"""Bad input at the command line: exit codes, what is said, and the next command."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa.brokers import STEADY
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.console import Run, console
from tests.integration.links.topics import create, fresh, numbered, produce
from tests.simulated import clusters

pytestmark = pytest.mark.test


@pytest.fixture(scope="module")
def guarded(request: pytest.FixtureRequest) -> Iterator[SandboxCluster]:
    """A target that asks for passwords and lets ``nobody`` do nothing."""
    spec = ClusterSpec("guarded", security="PLAIN", authorizer=True, users={"nobody": "n"}, overrides=STEADY)
    with clusters(request.config, spec) as (running,):
        yield running


@pytest.fixture
def nobodys() -> Iterator[socket.socket]:
    """A port on which nobody listens, nor will while the test lasts."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound


@pytest.fixture
def run(
    old: SandboxCluster,
    new: SandboxCluster,
    guarded: SandboxCluster,
    nobodys: socket.socket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """The console script in this process: (exit code, standard output, standard error)."""
    closed = nobodys.getsockname()[1]
    contexts = {
        "old": old.context(),
        "new": new.context(),
        "guarded": guarded.context("nobody"),
        "wrong": guarded.context("nobody"),
        "secretless": guarded.context("nobody"),
        "alias": old.context(),
        "gone": {"bootstrap": [f"127.0.0.1:{closed}"]},
    }
    contexts["wrong"]["security"]["sasl"]["password_env"] = "ANABRANCH_WRONG"
    contexts["secretless"]["security"]["sasl"]["password_env"] = "ANABRANCH_NOT_SET"
    monkeypatch.setenv("ANABRANCH_WRONG", "not-the-password")
    monkeypatch.setenv("COLUMNS", "300")
    return console(contexts, tmp_path, monkeypatch, capsys)


def test_an_unknown_cluster_is_refused_before_anything_is_connected(run: Run) -> None:
    """The known contexts are named, or the command that lists them."""
    code, _, err = run("link", "create", "--source", "odl", "--target", "new")
    assert code == 2
    assert "odl" in err
    assert "hint:" in err
    assert "anabranch context" in err or "old" in err.partition("hint:")[2]


def test_a_wrong_password_names_the_user_and_never_the_password(run: Run) -> None:
    """The mechanism and the variable's command are told."""
    code, out, err = run("link", "create", "--source", "old", "--target", "wrong")
    assert code == 4
    assert "refused User:nobody (PLAIN)" in err
    assert "anabranch context show wrong" in err
    assert "not-the-password" not in out + err


def test_a_secret_that_is_not_set_names_its_variable(run: Run) -> None:
    """Nothing is connected without it."""
    code, _, err = run("link", "create", "--source", "old", "--target", "secretless")
    assert code == 2
    assert "ANABRANCH_NOT_SET" in err


def test_an_unreachable_broker_names_its_address_and_the_reason(run: Run) -> None:
    """On either side, and for every verb."""
    for arguments in (
        ("link", "create", "--source", "gone", "--target", "new"),
        ("link", "create", "--source", "old", "--target", "gone"),
        ("link", "show", "any", "--target", "gone"),
        ("link", "list", "--target", "gone"),
    ):
        code, _, err = run(*arguments)
        assert code == 4, arguments
        assert "cluster gone cannot be reached: 127.0.0.1:" in err
        assert "anabranch context show gone" in err


def test_missing_permissions_are_all_named_at_once(run: Run, old: SandboxCluster, guarded: SandboxCluster) -> None:
    """Operation, resource and principal; the report is on standard output and the link is not made."""
    topic = create(old, fresh("denied"))
    create(guarded, topic)
    code, out, err = run("link", "create", "--source", "old", "--target", "guarded", "--include", topic, "-o", "json")
    assert code == 3
    said = out + err
    assert "User:nobody may not" in said
    assert "topic" in said
    assert "kafka-acls --add --allow-principal User:nobody" in said
    code, _, _ = run("link", "show", "old-guarded", "--target", "guarded")
    assert code == 3


def test_a_target_topic_with_fewer_partitions_forbids_the_link(
    run: Run, old: SandboxCluster, new: SandboxCluster
) -> None:
    """Both counts are told, and the command that mends it."""
    topic = create(old, fresh("wide"), 4)
    create(new, topic, 2)
    code, out, err = run("link", "create", "--source", "old", "--target", "new", "--id", "narrow", "--include", topic)
    assert code == 3
    assert f"topic {topic} has 2 partitions on the target, {topic} has 4 on the source" in out
    assert f"kafka-topics --alter --topic {topic} --partitions 4" in out
    assert "link 'narrow' was not created: 1 error was found" in err
    assert run("link", "show", "narrow", "--target", "new")[0] == 3


def test_a_target_topic_with_more_partitions_is_warned_of(run: Run, old: SandboxCluster, new: SandboxCluster) -> None:
    """The link is planned; keys may come to other partitions there."""
    topic = create(old, fresh("narrow"), 2)
    create(new, topic, 4)
    code, out, _ = run("link", "create", "--source", "old", "--target", "new", "--id", "wide", "--include", topic)
    assert code == 0
    assert f"topic {topic} has 4 partitions on the target, {topic} has 2 on the source: what is written there" in out


def test_a_filter_that_matches_nothing_is_a_warning(run: Run) -> None:
    """The link is made; what is wrong is said."""
    arguments = ("--source", "old", "--target", "new", "--id", "nothing", "--include", "no-such-topic")
    code, out, _ = run("link", "create", *arguments, "--execute")
    assert code == 0
    assert "the filter matches none of the source's" in out


def test_what_cannot_be_parsed_is_named_with_the_field(run: Run) -> None:
    """A pattern, a start, a mode, an id and a rate that mean nothing; nothing is stored."""
    base = ("link", "create", "--source", "old", "--target", "new")
    for flags, word, expected in (
        (("--include", "["), "regular expression", 2),
        (("--start", "yesterday"), "start", 2),
        (("--mode", "fast"), "mode", 2),
        (("--id", "Über"), "id", 2),
        (("--rate-limit", "0"), "rate", 2),
        (("--naming", "{topic}-{cluster}"), "unknown field", 2),
        (("--naming", "nowhere"), "nowhere", 2),
        (("--replication-factor", "3", "--id", "three"), "replication factor 3", 3),
    ):
        code, out, err = run(*base, *flags)
        assert code == expected, flags
        assert word in out + err, (flags, out, err)


def test_an_unknown_link_points_to_the_list(run: Run) -> None:
    """Every verb that takes a link says the same."""
    for verb in ("show", "pause", "resume", "run", "delete"):
        code, _, err = run("link", verb, "nowhere", "--target", "new")
        assert (code, "knows no link 'nowhere'" in err, "anabranch link list" in err) == (3, True, True), verb


def test_the_same_cluster_at_both_ends_and_the_same_id_twice_are_refused(run: Run, old: SandboxCluster) -> None:
    """A link onto itself would copy for ever."""
    assert run("link", "create", "--source", "old", "--target", "old", "--id", "self")[0] == 2
    code, _, err = run("link", "create", "--source", "old", "--target", "alias", "--id", "self")
    assert code == 3
    assert "has the same cluster" in err
    topic = create(old, fresh("twice"))
    produce(old, topic, numbered(1))
    for expected in (0, 3):
        arguments = ("--source", "old", "--target", "new", "--id", "twice", "--include", topic)
        code, _, err = run("link", "create", *arguments, "--execute")
        assert code == expected
    assert "exists already" in err
    assert "exists already" in run("link", "create", *arguments)[2], "a dry run tells it too"
    code, out, _ = run("link", "list", "--target", "new", "-o", "json")
    assert "twice" in out
    code, _, err = run("link", "delete", "twice", "--target", "new")
    assert (code, "anabranch link delete twice" in err) == (0, True)
    assert run("link", "delete", "twice", "--target", "new", "--execute")[0] == 0
    assert run("link", "show", "twice", "--target", "new")[0] == 3


def test_the_module_runs_as_a_program_of_its_own() -> None:
    """Errors are text and an exit code, with no traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "anabranch", "--contexts", "/nowhere/contexts.yaml", "link", "list", "--target", "new"],
        capture_output=True,
        text=True,
        timeout=LONG_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
