"""Exit codes 4 and 5 of every verb that asks a cluster: it is away, or what it stores breaks its format."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import KeyedLog
from anabranch.state.codecs import topics
from anabranch.state.topics.control import ensure_topics
from tests.integration.console import Run, console
from tests.unit.cli.test_cli_docs import VERBS
from tests.unit.link_lab import LINK, A, Lab, lab

pytestmark = pytest.mark.test

CHECKPOINT = Path(__file__).parents[2] / "golden" / "spark" / "4.1.3" / "mixed"
ASKING = {
    "link list": (),
    "link show": (LINK,),
    "link wait": (LINK, "--caught-up", "--timeout", "1ms"),
    "link run": (LINK,),
    "link stop": (LINK,),
    "link pause": (LINK,),
    "link resume": (LINK,),
    "link set": (LINK, "--rate-limit", "none"),
    "link accept": (LINK,),
    "link abort-transaction": (LINK, f"{A.topic}-0"),
    "link delete": (LINK,),
    "link create": ("--source", "old"),
    "groups list": (LINK,),
    "groups show": (LINK, "shop"),
    "groups baseline": (LINK,),
    "groups plan": (LINK,),
    "groups sync": (LINK,),
    "groups create": ("shop", "--topic", "old.orders"),
    "groups undo": ("20261121-101530-9c1f",),
    "offsets translate": (LINK, f"{A.topic}-0:1"),
    "offsets ranges": (LINK,),
    "offsets export": (LINK, "--out", "maps.json"),
    "offsets rebuild": ("--source", "old", "--topic", A.topic, "--out", "maps.json"),
    "mm2 report": ("--source", "old"),
    "mm2 translate": ("orders-0:5", "--source", "old"),
    "mm2 publish": (LINK,),
    "checkpoint inspect": ("checkpoint", "--cluster"),
    "checkpoint advise": ("checkpoint", "--link", LINK),
    "checkpoint plan": ("checkpoint", "--link", LINK),
    "checkpoint rewrite": ("checkpoint", "--link", LINK),
    "checkpoint verify": ("checkpoint", "--link", LINK),
    "verify start": (LINK,),
    "verify show": (LINK,),
    "verify stop": (LINK,),
    "verify resume": (LINK,),
    "migrate discover": ("--source", "old", "--watch", "0s"),
}
ELSEWHERE = {
    **dict.fromkeys(("migrate plan", "migrate access"), "its clusters are in a file: tests/integration/migrations"),
    "link metrics": "serves on and says so in a metric",
    "link package": "asks no cluster",
    "checkpoint undo": "asks no cluster",
    "serve": "shows clusters that are away as such",
    **dict.fromkeys(
        (
            *("route show", "route versions", "route explain", "route apply", "route rollback", "route clients"),
            *("route switches", "route cancel"),
        ),
        "asks the service: test_service_client.py",
    ),
    **dict.fromkeys(
        (
            *(
                "migrate start",
                "migrate status",
                "migrate show",
                "migrate rehearse",
                "migrate verify",
                "migrate switch",
            ),
            *(
                "migrate reverse",
                "migrate reconcile",
                "migrate complete",
                "migrate cancel",
                "migrate hold",
                "migrate release",
            ),
            *("migrate throttle", "migrate resume", "migrate set", "migrate approve"),
        ),
        "asks the service: tests/integration/service/test_migrations.py",
    ),
    **dict.fromkeys(
        ("stream validate", "stream preview", "stream run", "stream try"),
        "its job asks: tests/integration/streams/test_stream_jobs.py",
    ),
    **dict.fromkeys(
        (
            *("stream create", "stream edit", "stream publish", "stream rollback", "stream delete", "stream start"),
            *("stream stop", "stream restart", "stream list", "stream show", "stream versions", "stream diff"),
            *("stream logs", "stream lineage", "stream alerts", "stream checkpoint", "stream abandon"),
        ),
        "asks the service: tests/integration/streams/test_life.py",
    ),
    **dict.fromkeys(
        (
            *("catalog list", "catalog show", "catalog versions", "catalog create", "catalog import", "catalog drop"),
            *("catalog set", "catalog grants", "catalog grant", "catalog revoke", "catalog groups", "catalog group"),
        ),
        "asks the service: tests/integration/streams/test_catalog_cli.py",
    ),
    **dict.fromkeys(
        ("artifact upload", "artifact list", "artifact show", "artifact download", "artifact delete"),
        "asks the service: tests/integration/streams/test_artifact_cli.py",
    ),
    "account list": "asks no cluster",
    "account add": "asks no cluster",
    "account set": "asks no cluster",
    "token list": "asks no cluster",
    "token create": "asks no cluster",
    "token revoke": "asks no cluster",
}
"""Verbs that end with neither for a cluster's sake."""
STORING_NOTHING = {
    *("groups create", "offsets rebuild", "mm2 report", "mm2 translate", "checkpoint inspect"),
    "migrate discover",
}
"""Verbs that read no control topic before they are told to write."""


@pytest.fixture(scope="module")
def both() -> Iterator[Lab]:
    """A link whose target holds a record in each control topic that nobody can read."""
    with lab() as made:

        async def spoil(cluster: Cluster) -> None:
            await ensure_topics(cluster, [topics.POSITIONS, topics.VERIFIED])
            for topic in (*topics.ALL, topics.POSITIONS, topics.VERIFIED):
                await KeyedLog(cluster, topic).append([(f"{LINK}/no/such/key/at/all".encode(), b"{")], 1)

        made.on(made.target, spoil)
        yield made


@pytest.fixture
def nobodys() -> Iterator[int]:
    """A port on which nobody listens, nor will while the test lasts."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def run(
    both: Lab, nobodys: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """The console script in a directory with a checkpoint: (exit code, standard output, standard error)."""
    contexts = {
        "old": both.here.context(),
        "new": both.there.context(),
        "gone": {"bootstrap": [f"127.0.0.1:{nobodys}"]},
    }
    shutil.copytree(CHECKPOINT, tmp_path / "checkpoint")
    monkeypatch.chdir(tmp_path)
    return console(contexts, tmp_path, monkeypatch, capsys)


def asked(verb: str, target: str) -> tuple[str, ...]:
    """A verb with its arguments, about one target."""
    more = (target,) if verb == "checkpoint inspect" else ("--target", target)
    return (*verb.split(), *ASKING[verb], *more)


def test_every_verb_that_asks_a_cluster_is_here() -> None:
    """A new one must be added, or said why not."""
    found = {f"{group} {verb}".strip() for group, verb, _ in VERBS if group != "context"}
    assert found == {*ASKING, *ELSEWHERE}


@pytest.mark.parametrize("verb", ASKING)
def test_a_cluster_that_is_away_is_exit_code_4(run: Run, verb: str) -> None:
    """With its address, and the command that shows it."""
    code, out, err = run(*asked(verb, "gone"))
    assert (code, out) == (4, ""), err
    assert "error: cluster gone cannot be reached: 127.0.0.1:" in err and "anabranch context show gone" in err


@pytest.mark.parametrize("verb", [verb for verb in ASKING if verb not in STORING_NOTHING])
def test_a_control_record_that_breaks_its_format_is_exit_code_5(run: Run, verb: str) -> None:
    """It is named, and nothing is guessed."""
    code, out, err = run(*asked(verb, "new"))
    assert (code, out) == (5, ""), err
    assert "error: " in err and "__anabranch_" in err


@pytest.mark.parametrize("verb", ["inspect", "advise", "plan", "rewrite", "verify"])
def test_a_checkpoint_that_is_damaged_is_exit_code_5(run: Run, verb: str, tmp_path: Path) -> None:
    """With the file, and the place in it where there is one."""
    newest = max((tmp_path / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))
    newest.write_bytes(newest.read_bytes()[:-20])
    route = () if verb == "inspect" else ("--start", "earliest", "--target", "new")
    code, out, err = run("checkpoint", verb, "checkpoint", *route)
    assert (code, out) == (5, ""), err
    assert f"offsets/{newest.name}" in err
