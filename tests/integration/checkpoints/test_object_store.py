"""Checkpoints in a store that speaks S3, by its own driver: the whole workflow, and what only a store can do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anabranch.checkpoints.flink.comparing import relatives
from anabranch.checkpoints.flink.metadata import read_metadata
from anabranch.model.plans import PlanChangedError
from anabranch.operations.checkpoints.activity import watch
from anabranch.operations.checkpoints.copying import copy_to
from anabranch.operations.checkpoints.errors import JobStillWritingError
from anabranch.operations.checkpoints.manifest import manifests
from anabranch.operations.checkpoints.rewriting import in_place
from anabranch.sandbox import ClusterSpec, SandboxCluster
from anabranch.storage.errors import StorageError
from anabranch.storage.files import StoredFiles
from anabranch.storage.opening import open_files
from qa.brokers import STEADY
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.checkpoints import store as s3
from tests.integration.checkpoints.store import BUCKET, SECRET, Failing, Store, running_store
from tests.integration.console import Run, console, named_command
from tests.integration.links.topics import create, fresh, numbered, produce
from tests.simulated import clusters
from tests.unit.operations.checkpoints.world import GOLDEN, SPARK, TRANSLATE, copy, draw, snapshot, starts, undo
from tests.unit.storage import test_storage_files as suite

pytestmark = pytest.mark.test

ROOT = Path(__file__).parents[3]
STARTS = "flights-0:6,flights-1:7,flights-2:8"
SPARK_WAY = ("--start", STARTS, "--target", "new")
FLINK_WAY = ("--start", "earliest", "--target", "new", "--rename", "orders=eu.orders")
PAGE = 1000
"""As many objects does S3 list at once."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The server, named to the driver as a user would: by the environment."""
    with running_store(tmp_path_factory.mktemp("store")) as found, pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("AWS_", "FSSPEC_"))]:
            patch.delenv(name)
        for name, value in s3.variables(found.endpoint).items():
            patch.setenv(name, value)
        yield found


@pytest.fixture(scope="module")
def new(request: pytest.FixtureRequest) -> Iterator[SandboxCluster]:
    """The target, with what the checkpoints' topics became there."""
    with clusters(request.config, ClusterSpec("new", overrides=STEADY)) as (cluster,):
        create(cluster, "flights", 3)
        create(cluster, "eu.orders", 4)
        for partition in range(3):
            produce(cluster, "flights", numbered(40, partition=partition))
        yield cluster


@pytest.fixture
def run(
    store: Store,
    new: SandboxCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Run:
    """The console script in this process: (exit code, standard output, standard error)."""
    return console({"new": new.context()}, tmp_path, monkeypatch, capfd)


def flink(name: str) -> Path:
    """The directory of a golden savepoint or checkpoint."""
    return next((GOLDEN / "flink" / "1.20.3" / name).rglob("_metadata")).parent


@pytest.mark.parametrize("promise", suite.PROMISES, ids=suite.named)
def test_s3_keeps_what_every_storage_promises(store: Store, promise: Callable[[StoredFiles], None]) -> None:
    """The suite of all kinds of storage."""
    promise(open_files(f"s3://{BUCKET}/{fresh('suite')}/cp"))


def test_a_query_is_looked_at_planned_rewritten_proven_and_taken_back(store: Store, run: Run) -> None:
    """Each verb names the next one; only what the plan tells changes, and undo is byte for byte."""
    place = store.upload(SPARK / "rocksdb", "query")
    before = store.snapshot("query")
    code, out, _ = run("checkpoint", "inspect", place, "-o", "json")
    assert code == 0 and place in out

    code, out, err = run("checkpoint", "plan", place, *SPARK_WAY, "-o", "json")
    plan = json.loads(out)
    assert code == 0 and plan["refusals"] == []
    assert store.snapshot("query") == before
    store.put("query/commits/4", before["commits/4"])  # the same, but of now
    code, out, _ = run("checkpoint", "rewrite", place, *SPARK_WAY, "--execute")
    assert code == 3 and "running" in out

    code, out, err = run(*named_command(err, "Apply with: "), "--stopped")
    assert code == 0, err
    assert starts(place) == {"flights-0": 6, "flights-1": 7, "flights-2": 8}
    changed = {path for path, data in store.snapshot("query").items() if data != before.get(path)}
    assert {one for one in changed if not one.startswith(".anabranch/")} == {one["path"] for one in plan["files"]}

    code, out, err = run(*named_command(err, "prove it with: "))
    assert code == 0, out + err

    assert run("checkpoint", "undo", place)[0] == 0
    assert store.snapshot("query") != before
    assert run("checkpoint", "undo", place, "--execute")[0] == 0
    assert store.snapshot("query") == before


@pytest.mark.full
def test_files_that_a_savepoint_names_beside_it_are_read_and_named_wholly_elsewhere(store: Store, run: Run) -> None:
    """Relative files are read in place, and by their URIs where a copy names them so; it has none beside it."""
    base = fresh("files")
    place = store.upload(flink("files"), f"{base}/job/chk-2")
    metadata = read_metadata(store.snapshot(f"{base}/job/chk-2")["_metadata"], place)
    for one in relatives(metadata):  # a golden has those alone of which something is read
        if one.path not in store.snapshot(f"{base}/job/chk-2"):
            store.put(f"{base}/job/chk-2/{one.path}", bytes(one.size))
    before = store.snapshot(f"{base}/job/chk-2")
    assert len(before) == 5
    for where in (place, f"{place}/_metadata"):
        code, out, err = run("checkpoint", "inspect", where)
        assert code == 0, err

    there = f"s3://{BUCKET}/{base}/moved/chk-2"
    code, out, err = run("checkpoint", "rewrite", place, *FLINK_WAY, "--to", there, "--stopped", "--execute")
    assert code == 0, out + err
    assert {path.partition("/")[0] for path in store.snapshot(f"{base}/moved/chk-2")} == {"_metadata", ".anabranch"}
    assert store.snapshot(f"{base}/job/chk-2") == before
    code, out, err = run("checkpoint", "verify", there, *FLINK_WAY, "--was", place)
    assert code == 0, out + err

    code, out, err = run("checkpoint", "rewrite", place, *FLINK_WAY, "--stopped", "--execute")
    assert code == 0, out + err
    assert starts(place) == starts(there) == {f"eu.orders-{at}": 0 for at in range(4)}
    code, out, err = run("checkpoint", "verify", place, *FLINK_WAY)
    assert code == 0, out + err
    assert run("checkpoint", "undo", place, "--execute")[0] == 0
    assert store.snapshot(f"{base}/job/chk-2") == before

    whole = read_metadata(before["_metadata"], place).absolute(place).emit()
    store.put(f"{base}/elsewhere/chk-2/_metadata", whole)
    elsewhere = f"s3://{BUCKET}/{base}/elsewhere/chk-2"
    assert starts(elsewhere) == starts(place)
    _, out, _ = run("checkpoint", "plan", elsewhere, *FLINK_WAY, "-o", "json")
    plan = json.loads(out)
    assert plan["refusals"] == [] and len(plan["changes"]) == 4
    for path in before.keys() - {"_metadata"}:
        assert f"{place}/{path}".encode() in whole
        store.put(f"{base}/job/chk-2/{path}", before[path][:-1])
    code, out, _ = run("checkpoint", "plan", elsewhere, *FLINK_WAY)
    assert code == 3 and "bytes of it" in " ".join(out.split())


@pytest.mark.full
def test_a_copy_has_every_object_of_more_than_one_page_of_a_listing(store: Store, run: Run) -> None:
    """Also where Hadoop's own client has left markers for directories, which are no files."""
    place = store.upload(SPARK / "rocksdb", "large")
    files = open_files(place)
    many = {f"large/state/0/0/SSTs/{number:04}.sst": b"%d" % number for number in range(PAGE + 1)}
    store.put_all({**many, **dict.fromkeys(("large/", "large/state/", "large/offsets/"), b"")})
    before = {path: tag for path, tag in store.tags("large").items() if path and not path.endswith("/")}
    assert len(before) > PAGE + 1
    assert {path for path, _ in files.walk()} == before.keys()
    there = f"s3://{BUCKET}/copied"
    code, out, err = run("checkpoint", "rewrite", place, *SPARK_WAY, "--to", there, "--stopped", "--execute")
    assert code == 0, out + err
    after = {path: tag for path, tag in store.tags("copied").items() if not path.startswith(".anabranch/")}
    assert after.keys() == before.keys()
    assert {path for path, tag in after.items() if tag != before[path]} == {
        "offsets/4",
        "offsets/.4.crc",
        "sources/0/0",
        "sources/0/.0.crc",
    }
    code, out, err = run("checkpoint", "verify", there, *SPARK_WAY, "--was", place)
    assert code == 0, out + err


def test_a_checkpoint_goes_from_a_disk_to_the_store_and_back(store: Store, tmp_path: Path) -> None:
    """Every file is copied, the same plan is carried out, and nothing says that it is unfinished."""
    local = copy("rocksdb", tmp_path / "cp", state=True)
    uploaded, back = open_files(f"s3://{BUCKET}/uploaded"), tmp_path / "back"
    copy_to(draw(open_files(str(local))), uploaded)
    copy_to(draw(open_files(store.upload(SPARK / "rocksdb", "original"))), open_files(str(back)))
    assert snapshot(back) == snapshot(uploaded) != snapshot(local)
    assert not any("copying" in path for path in store.snapshot("uploaded"))


def test_what_changed_between_plan_and_rewrite_is_refused_whatever_was_listed(store: Store, run: Run) -> None:
    """Another client writes an object of the same size: its bytes are looked at anew, and nothing is written."""
    place = store.upload(SPARK / "rocksdb", "changed")
    _, _, err = run("checkpoint", "plan", place, *SPARK_WAY)
    again = named_command(err, "Apply with: ")
    files = open_files(place)
    drawn, watched = draw(files), draw(files)
    list(files.walk())

    was = store.snapshot("changed")["offsets/4"]
    store.put("changed/offsets/4", was.replace(b'"0":8', b'"0":9'))
    now = store.snapshot("changed")
    assert len(now["offsets/4"]) == len(was) and now["offsets/4"] != was
    with pytest.raises(PlanChangedError):
        in_place(drawn)
    code, _, err = run(*again, "--stopped")
    assert code == 3 and "changed since plan" in err
    with pytest.raises(JobStillWritingError, match="commits/5"):
        watch(files, watched.rewrite.reads, sleep=lambda _: store.put("changed/commits/5", b"v1\n{}"))
    assert store.snapshot("changed") == {**now, "commits/5": b"v1\n{}"}


KILLED = """
import sys
from tests.integration.checkpoints.store import Killed
from tests.unit.operations.checkpoints.world import TRANSLATE, draw
from anabranch.operations.checkpoints.rewriting import in_place

in_place(draw(Killed(sys.argv[1], int(sys.argv[2])), TRANSLATE))
"""


@pytest.mark.full
def test_a_store_that_refuses_from_any_write_on_leaves_what_undo_restores(store: Store) -> None:
    """All along a rewrite: either nothing was begun, or undo gives every byte back."""
    place = store.upload(SPARK / "uncommitted", "failing")
    before = store.snapshot("failing")
    whole = Failing(place, None)
    in_place(draw(whole, TRANSLATE))
    wanted = store.snapshot("failing", hidden=False)
    undo(open_files(place))
    assert store.snapshot("failing") == before
    states = []
    for at in (*range(0, whole.steps, 4), whole.steps - 1):
        with pytest.raises(StorageError, match="Slow Down"):
            in_place(draw(Failing(place, at), TRANSLATE))
        states.append([one.state.value for one in manifests(open_files(place))])
        if states[-1]:
            undo(open_files(place))
        assert store.snapshot("failing", hidden=False) == before
    assert states[0] == [] and states[-1] == ["begun"]
    in_place(draw(open_files(place), TRANSLATE))
    assert store.snapshot("failing", hidden=False) == wanted


def test_a_process_that_is_killed_while_it_rewrites_a_store_is_undone(store: Store, run: Run) -> None:
    """SIGKILL before the first file changes, among them, and before the end is written down."""
    before = snapshot(SPARK / "uncommitted")
    counted = Failing(store.upload(SPARK / "uncommitted", "counted"), None)
    in_place(draw(counted, TRANSLATE))
    environment = {**store.environment, "PYTHONPATH": f"{ROOT}:{ROOT}/src"}
    killed = {}
    for at in (1, counted.steps - 3, counted.steps - 1):
        place = store.upload(SPARK / "uncommitted", f"killed-{at}")
        command = [sys.executable, "-c", KILLED, place, str(at)]
        killed[at] = place, subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    for at, (place, process) in killed.items():
        _, told = process.communicate(timeout=LONG_TIMEOUT_S)
        assert process.returncode == -signal.SIGKILL, told.decode()
        begun = [one.state.value for one in manifests(open_files(place))]
        assert begun == (["begun"] if at > 1 else [])
        if begun:
            code, out, _ = run("checkpoint", "rewrite", place, *SPARK_WAY, "--stopped", "--execute")
            assert code == 3 and "unfinished rewrite" in out
            assert run("checkpoint", "undo", place, "--execute")[0] == 0
        assert store.snapshot(f"killed-{at}", hidden=False) == before


def test_a_bucket_that_is_not_there_and_a_place_without_one_are_said_so(store: Store, run: Run) -> None:
    """A missing bucket is no empty directory, to read and to copy to; a login in the place is never shown."""
    place = store.upload(SPARK / "rocksdb", "here")
    code, _, err = run("checkpoint", "inspect", "s3://no-such-bucket/cp")
    assert code == 4 and "s3://no-such-bucket/cp: cannot" in err and "bucket does not exist" in err
    way = (*SPARK_WAY, "--stopped", "--execute", "--to", "s3://no-such-bucket/cp")
    code, _, err = run("checkpoint", "rewrite", place, *way)
    assert code == 4 and "bucket does not exist" in err
    assert run("checkpoint", "inspect", f"s3://{BUCKET}/nothing")[0] == 3
    assert run("checkpoint", "inspect", "s3://")[0] == 2
    code, out, err = run("checkpoint", "inspect", f"s3://{s3.KEY}:{SECRET}@{BUCKET}/here")
    assert code == 2 and SECRET not in out + err


NO_DRIVER = "import sys; sys.modules['s3fs'] = None; from anabranch.cli.main import main; main()"


@pytest.mark.parametrize(
    ("code", "start", "settings", "told"),
    [
        (4, ["-m", "anabranch.cli.main"], {"AWS_SECRET_ACCESS_KEY": "another-secret"}, ": Forbidden"),
        (4, ["-m", "anabranch.cli.main"], {"AWS_ACCESS_KEY_ID": ""}, "credentials"),
        (2, ["-c", NO_DRIVER], {}, "pip install s3fs"),
    ],
    ids=["wrong secret", "no credentials", "no driver"],
)
def test_why_a_store_cannot_be_used_is_said_without_a_secret(
    store: Store, code: int, start: list[str], settings: dict[str, str], told: str
) -> None:
    """Exit codes and hints are those of the documentation."""
    place = store.upload(SPARK / "rocksdb", "closed")
    environment = {**store.environment, **settings, "PYTHONPATH": f"{ROOT}/src"}
    done = subprocess.run(
        [sys.executable, *start, "checkpoint", "inspect", place],
        env={name: value for name, value in environment.items() if value},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == code, done.stderr
    assert told in done.stderr and "Traceback" not in done.stderr
    assert not any(secret in done.stdout + done.stderr for secret in (SECRET, "another-secret", s3.KEY))
