"""The whole workflow by the command line on real clusters, and a process that is killed between any two writes."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer

from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.model.link import ModePolicy
from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicPartition
from anabranch.operations.checkpoints.manifest import manifests
from anabranch.operations.checkpoints.rewriting import in_place
from anabranch.sandbox import ClusterSpec, SandboxCluster
from anabranch.storage.opening import open_files
from qa.brokers import STEADY
from qa.service import until
from qa.timeouts import TIMEOUT_S
from tests.chance import is_full
from tests.integration.console import Run, console, named_command
from tests.integration.links.lab import Link, link
from tests.integration.links.topics import create, fresh, numbered, produce
from tests.simulated import clusters
from tests.unit.operations.checkpoints.world import GOLDEN, SPARK, TRANSLATE, copy, draw, settle, snapshot, starts

pytestmark = pytest.mark.test

TOPIC = "flights"
SHIFT = 2
HANGS_S = f"6{os.getpid()}"
"""For how long a command hangs that is given up: it can be told from others by that."""
"""The link begins that far into the source, so that every offset is so much lower on the target."""


@pytest.fixture(scope="module")
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """An old and a new cluster."""
    specs = [ClusterSpec(name, overrides=STEADY) for name in ("old", "new")]
    with clusters(request.config, *specs) as (old, new):
        yield old, new


@pytest.fixture(scope="module")
def copied(pair: tuple[SandboxCluster, SandboxCluster]) -> Link:
    """The golden query's topic, copied with other offsets."""
    old, new = pair
    create(old, TOPIC, 3)
    for partition in range(3):
        produce(old, TOPIC, numbered(40, partition=partition))
    start = StartPosition(StartKind.OFFSETS, offsets={TopicPartition(TOPIC, at): SHIFT for at in range(3)})
    with link(old, new, TOPIC, start=start, mode=ModePolicy.MAPPED) as made, made.running():
        for partition in range(3):
            made.await_position(TOPIC, 40, partition=partition)
    return made


@pytest.fixture
def run(
    pair: tuple[SandboxCluster, SandboxCluster],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Run:
    """The console script in this process: (exit code, standard output, standard error)."""
    old, new = pair
    return console({"old": old.context(), "new": new.context()}, tmp_path, monkeypatch, capfd)


def test_a_query_is_looked_at_planned_rewritten_proven_and_taken_back(copied: Link, run: Run, tmp_path: Path) -> None:
    """Each verb names the next one; the result starts where the map says, and undo is byte for byte."""
    place = copy("rocksdb", tmp_path / "cp", state=True)
    before = snapshot(place, hidden=True)
    way = ("--link", copied.id, "--target", "new")

    code, out, _ = run("checkpoint", "inspect", str(place), "--cluster", "old", "-o", "json")
    assert code == 0
    assert {lag["partition"]: lag["records"] for lag in json.loads(out)["lags"]} == {
        "flights-0": 32,
        "flights-1": 31,
        "flights-2": 30,
    }

    code, out, err = run("checkpoint", "plan", str(place), *way, "-o", "json")
    plan = json.loads(out)
    assert code == 0 and plan["refusals"] == []
    assert (plan["repeated"], plan["skipped"]) == (0, 3 * SHIFT)
    assert snapshot(place, hidden=True) == before
    again = named_command(err, "Apply with: ")
    assert again[:2] == ["checkpoint", "rewrite"]

    code, out, err = run(*again)
    assert code == 0, err
    assert starts(place) == {"flights-0": 6, "flights-1": 7, "flights-2": 8}
    changed = {path for path, data in snapshot(place).items() if data != before[path]}
    assert changed == {one["path"] for one in plan["files"]}

    code, out, err = run(*named_command(err, "prove it with: "), "-o", "json")
    assert code == 0, err
    proofs = json.loads(out)["proofs"]
    assert len(proofs) == 3 and all(one["old"] and one["end"] == 38 and not one["problem"] for one in proofs)

    assert run("checkpoint", "undo", str(place))[0] == 0
    assert snapshot(place, hidden=True) != before
    assert run("checkpoint", "undo", str(place), "--execute")[0] == 0
    assert snapshot(place, hidden=True) == before


def test_the_proof_fails_for_a_result_that_is_one_record_off(copied: Link, run: Run, tmp_path: Path) -> None:
    """With the former place, and without it as soon as nothing leads there."""
    place, new = copy("rocksdb", tmp_path / "cp"), tmp_path / "new"
    way = ("--link", copied.id, "--target", "new")
    assert run("checkpoint", "rewrite", str(place), *way, "--to", str(new), "--execute")[0] == 0
    assert run("checkpoint", "verify", str(new), *way, "--was", str(place))[0] == 0
    assert run("checkpoint", "verify", str(new), *way)[0] == 0
    path = new / "offsets" / "4"
    path.write_bytes(path.read_bytes().replace(b'"0":6', b'"0":7'))
    (new / "offsets" / ".4.crc").unlink()
    code, out, err = run("checkpoint", "verify", str(new), *way, "--was", str(place))
    assert code == 3
    assert "8 leads to 6" in " ".join(out.split())
    assert "not as it must be: 1 problem" in err


def test_a_plan_that_moved_and_a_job_that_runs_are_refused(copied: Link, run: Run, tmp_path: Path) -> None:
    """Another hash, a fresh file, and a file that appears: nothing is written."""
    place = copy("rocksdb", tmp_path / "cp")
    way = ("--link", copied.id, "--target", "new")
    before = snapshot(place, hidden=True)
    code, _, err = run("checkpoint", "rewrite", str(place), *way, "--execute", "--plan", "0123456789abcdef")
    assert code == 3 and "changed since plan 0123456789abcdef" in err
    os.utime(place / "commits" / "4")
    code, out, err = run("checkpoint", "rewrite", str(place), *way, "--execute")
    assert code == 3 and "running" in out
    assert snapshot(place, hidden=True) == before
    assert run("checkpoint", "rewrite", str(place), *way, "--execute", "--stopped")[0] == 0


def test_a_batch_that_has_begun_is_refused_translated_or_finished(copied: Link, run: Run, tmp_path: Path) -> None:
    """The map proves both ends; or the operator's command ends it, is waited for, and its output is seen."""
    place = copy("uncommitted", tmp_path / "cp")
    way = ("--link", copied.id, "--target", "new")
    code, out, _ = run("checkpoint", "plan", str(place), *way)
    assert code == 3 and "uncommitted batch: batch 2" in out
    code, out, err = run("checkpoint", "rewrite", str(place), *way, "--uncommitted", "translate", "--execute")
    assert code == 0, out + err
    positions = open_checkpoint(open_files(str(place))).positions()
    assert sorted(one.offset for one in positions) == [0, 1, 2, 2, 3, 4]
    assert run("checkpoint", "undo", str(place), "--execute")[0] == 0

    once = shlex.join(["sh", "-c", f"echo finishing; sleep 0.2; cp {place}/commits/1 {place}/commits/2"])
    code, out, err = run("checkpoint", "rewrite", str(place), *way, "--finish-command", once, "--execute")
    assert code == 0, out + err
    assert "finishing" in err and "finishing" not in out
    assert starts(place) == {"flights-0": 2, "flights-1": 3, "flights-2": 4}


@pytest.mark.parametrize(
    ("command", "seconds", "why"),
    [
        (shlex.join(["sh", "-c", "exit 3"]), "300", "ended with code 3"),
        (shlex.join(["sh", "-c", f"sleep {HANGS_S} & sleep {HANGS_S}"]), "1", "has not ended within 1 s"),
        ("no-such-command-here", "300", "cannot be run"),
    ],
    ids=["fails", "hangs", "is not there"],
)
def test_a_finish_command_that_does_not_finish_is_a_refusal(
    copied: Link, run: Run, tmp_path: Path, command: str, seconds: str, why: str
) -> None:
    """It failed, it hangs and is stopped with all that it started, or it is not there; nothing is written."""
    place = copy("uncommitted", tmp_path / "cp")
    before = snapshot(place, hidden=True)
    way = ("--link", copied.id, "--target", "new", "--finish-command", command, "--finish-timeout", seconds)
    code, _, err = run("checkpoint", "rewrite", str(place), *way, "--execute")
    assert code == 3 and why in err
    assert snapshot(place, hidden=True) == before
    until(lambda: not any(one.info["cmdline"] == ["sleep", HANGS_S] for one in psutil.process_iter(["cmdline"])))


def test_what_is_typed_reaches_no_shell(copied: Link, run: Run, tmp_path: Path) -> None:
    """The command's words are its own: no pipe, no variable, no second command is made of them."""
    place = copy("uncommitted", tmp_path / "cp")
    way = ("--link", copied.id, "--target", "new", "--finish-command", f"echo $HOME; touch {tmp_path}/made")
    code, _, err = run("checkpoint", "rewrite", str(place), *way, "--execute")
    assert code == 3 and "$HOME; touch" in err
    assert not (tmp_path / "made").exists()


def test_maps_of_a_file_offsets_and_start_positions_lead_there_too(copied: Link, run: Run, tmp_path: Path) -> None:
    """An exported map gives the same answers as the live one; given positions are taken as they are."""
    place = copy("rocksdb", tmp_path / "cp")
    maps, given = tmp_path / "maps.json", tmp_path / "offsets.json"
    assert run("offsets", "export", copied.id, "--target", "new", "--out", str(maps))[0] == 0
    plans = {}
    given.write_text(json.dumps({"version": 1, "offsets": {TOPIC: {"0": 6, "1": 7, "2": 8}}}))
    for name, way in {
        "link": ("--link", f"{copied.id}@new"),
        "maps": ("--maps", str(maps)),
        "offsets": ("--offsets", str(given), "--target", "new"),
        "start": ("--start", "flights-0:6,flights-1:7,flights-2:8", "--target", "new"),
    }.items():
        code, out, err = run("checkpoint", "plan", str(place), *way, "-o", "json")
        assert code == 0, err
        moves = [one for one in json.loads(out)["changes"] if one["old"]["role"] == "next"]
        plans[name] = [(one["old"]["partition"], one["moved"]["offset"]) for one in moves]
    assert plans["link"] == plans["maps"] == plans["offsets"] == plans["start"]
    code, out, _ = run("checkpoint", "plan", str(place), "--start", "latest", "--target", "new", "-o", "json")
    assert code == 0 and {one["moved"]["offset"] for one in json.loads(out)["changes"]} >= {38}
    code, out, _ = run(
        "checkpoint", "plan", str(place), "--start", "latest", "--target", "new", "--rename", "flights=no-such"
    )
    assert code == 3 and "no-such is not there" in out


def test_a_partition_that_the_query_has_not_found_is_begun_where_the_old_log_begins(
    pair: tuple[SandboxCluster, SandboxCluster], copied: Link, run: Run, tmp_path: Path
) -> None:
    """The map tells it where all was copied; records before the link's begin are a refusal."""
    old, new = pair
    topic = create(old, fresh("whole"), 3)
    for partition in range(3):
        produce(old, topic, numbered(20, partition=partition))
    with link(old, new, topic, mode=ModePolicy.MAPPED) as made, made.running():
        for partition in range(3):
            made.await_position(topic, 20, partition=partition)
    for name, way, code in (
        ("all", ("--link", made.id), 0),
        ("some", ("--link", copied.id), 3),
        ("earliest", ("--start", "earliest"), 0),
    ):
        reads = topic if name == "all" else TOPIC
        place = copy("rocksdb", tmp_path / name)
        for path in (place / "offsets").glob("[0-9]"):
            lines = path.read_text().splitlines()
            lines[-1] = json.dumps({reads: {"0": 12, "1": 13}}, separators=(",", ":"))
            path.write_text("\n".join(lines))
            path.with_name(f".{path.name}.crc").unlink()
        shutil.rmtree(place / "sources")
        settle(place)
        ended, out, err = run("checkpoint", "plan", str(place), *way, "--target", "new", "-o", "json")
        assert ended == code, out + err
        plan = json.loads(out)
        if code:
            assert [one["why"] for one in plan["refusals"]] == ["new partitions"]
        else:
            moved = {one["moved"]["partition"]: one["moved"]["offset"] for one in plan["changes"]}
            assert moved[f"{reads}-2"] == 0


def test_a_gap_is_proven_by_the_logs_and_a_lost_record_is_not(
    pair: tuple[SandboxCluster, SandboxCluster], run: Run, tmp_path: Path
) -> None:
    """Markers of transactions between the records of a batch are invisible; an aborted record may have been seen."""
    old, new = pair
    topic = create(old, fresh("committed"), 3)
    writer = Producer({"bootstrap.servers": old.internal_bootstrap, "transactional.id": topic})
    writer.init_transactions(TIMEOUT_S)
    for commit in (True, True, True, False, True):
        writer.begin_transaction()
        for partition in range(3):
            writer.produce(topic, value=b"x", partition=partition)
        if commit:
            writer.commit_transaction(TIMEOUT_S)
        else:
            writer.flush(TIMEOUT_S)
            writer.abort_transaction(TIMEOUT_S)
    with link(old, new, topic, mode=ModePolicy.MAPPED) as made, made.running():
        for partition in range(3):
            made.await_position(topic, 10, partition=partition)
    way = ("--link", made.id, "--target", "new", "--uncommitted", "translate")
    for name, to, code in (("markers", 5, 0), ("aborted", 9, 3)):
        place = copy("uncommitted", tmp_path / name)
        for path, offset in ((place / "offsets" / "1", 2), (place / "offsets" / "2", to)):
            lines = path.read_text().splitlines()
            lines[-1] = json.dumps({topic: {str(at): offset for at in range(3)}}, separators=(",", ":"))
            path.write_text("\n".join(lines))
            path.with_name(f".{path.name}.crc").unlink()
        shutil.rmtree(place / "sources")
        settle(place)
        ended, out, err = run("checkpoint", "plan", str(place), *way)
        assert ended == code, out + err
        if code:
            assert "ranges differ" in out and "holds 4 records, of which 3 are in the map" in out


def test_a_savepoint_goes_the_same_way(copied: Link, run: Run, tmp_path: Path) -> None:
    """A start position takes its markers too; only _metadata is written, and undone byte for byte."""
    place = tmp_path / "savepoint"
    shutil.copytree(next((GOLDEN / "flink" / "1.20.3" / "canonical").rglob("_metadata")).parent, place)
    settle(place)
    before = snapshot(place, hidden=True)
    topics = sorted({one.partition.topic for one in open_checkpoint(open_files(str(place))).positions()})
    create(copied.new, "eu.orders", 4)
    assert topics == ["orders"]
    way = ("--start", "earliest", "--target", "new", "--rename", "orders=eu.orders")
    assert run("checkpoint", "rewrite", str(place), *way, "--execute")[0] == 0
    assert starts(place) == {f"eu.orders-{at}": 0 for at in range(4)}
    code, out, _ = run("checkpoint", "verify", str(place), *way)
    assert code == 0, out
    assert run("checkpoint", "undo", str(place), "--execute")[0] == 0
    assert snapshot(place, hidden=True) == before


KILLED = """
import os, signal, sys
from tests.unit.operations.checkpoints.crashing import Crashing
from tests.unit.operations.checkpoints.world import TRANSLATE, draw
from anabranch.operations.checkpoints.rewriting import in_place

class Killed(Crashing):
    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)

in_place(draw(Killed(sys.argv[1], int(sys.argv[2])), TRANSLATE))
"""


def test_a_process_that_is_killed_between_any_two_writes_is_undone_and_repeated(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """SIGKILL at steps all along a rewrite: undo restores every byte, and the next rewrite comes to the same end."""
    steps = (1, 8, 17, 20, 23, 26, 29, 32) if is_full(pytestconfig) else (1, 17, 29)
    place = copy("uncommitted", tmp_path / "cp")
    before = snapshot(place, hidden=True)
    in_place(draw(open_files(str(place)), TRANSLATE))
    wanted = snapshot(place)
    cli = [sys.executable, "-m", "anabranch.cli.main"]
    subprocess.run([*cli, "checkpoint", "undo", str(place), "--execute"], check=True, capture_output=True)
    assert snapshot(place, hidden=True) == before
    root = str(Path(__file__).parents[3])
    environment = {**os.environ, "PYTHONPATH": f"{root}:{root}/src"}
    states = set()
    for step in steps:
        killed = subprocess.run(
            [sys.executable, "-c", KILLED, str(place), str(step)], env=environment, capture_output=True, check=False
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
        state = [one.state.value for one in manifests(open_files(str(place)))]
        states.add(tuple(state))
        if state:
            subprocess.run([*cli, "checkpoint", "undo", str(place), "--execute"], check=True, capture_output=True)
        assert snapshot(place) == before
    assert {(), ("begun",)} <= states
    in_place(draw(open_files(str(place)), TRANSLATE))
    assert snapshot(place) == wanted


@pytest.mark.full
def test_golden_checkpoints_are_inspected_from_a_clean_shell() -> None:
    """No context, no cluster, no engine: every fixture has its page, in all forms."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    for place in (SPARK / "rocksdb", SPARK / "mixed", next((GOLDEN / "flink").rglob("_metadata")).parent):
        for form in ("table", "json", "yaml"):
            done = subprocess.run(
                [sys.executable, "-m", "anabranch.cli.main", "checkpoint", "inspect", str(place), "-o", form],
                env=environment,
                capture_output=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr.decode()
            assert done.stdout
