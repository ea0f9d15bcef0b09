"""Jobs of a wave are moved with their checkpoints: refused, put back, killed on the way, there and back again."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from anabranch.kafka.clusters import OpenClusters
from anabranch.kafka.security import open_cluster
from anabranch.migration.run import WaveRun, WaveRunState, begun, finished
from anabranch.migration.spec import CopyRules, FenceKind, JobKind, Limits, Migration, StreamJob, Wave
from anabranch.migration.steps import MigrationStep, Part, StepKind, switch_steps
from anabranch.model.link import ModePolicy
from anabranch.operations.checkpoints import rewrite, undo
from anabranch.operations.checkpoints.plans import RewriteRequest
from anabranch.operations.checkpoints.translation_source import ByLinks, LinkAt, TranslationSource
from anabranch.operations.migrations import checkpoints
from anabranch.operations.migrations.checkpoints import JobBlockedError, JobGoneOnError
from anabranch.operations.migrations.engine import NotYetError
from anabranch.operations.migrations.jobs import (
    ForeignPositionsError,
    JobPathTakenError,
    NoJobCheckpointError,
    NothingOfWaveError,
    OtherEngineError,
)
from anabranch.operations.migrations.steps import ClusterSteps
from anabranch.sandbox import ClusterSpec
from anabranch.storage.opening import open_files
from anabranch.store.database import open_database
from anabranch.store.waves import StoredMigrations
from qa.brokers import STEADY, await_markers
from qa.timeouts import TIMEOUT_S
from tests.integration.kafka.security import context_of
from tests.integration.links.test_migration_switch import DiedError, Stand
from tests.integration.links.topics import TRANSACTIONS, create, newest_offset, numbered, produce
from tests.simulated import Simulated
from tests.unit.operations.checkpoints.crashing import Crash, Crashing
from tests.unit.operations.checkpoints.world import GOLDEN, WISH, copy, settle, snapshot, starts

pytestmark = pytest.mark.test

PARTITIONS = {"flights": 3, "orders": 4}
RECORDS = 60
HERE = {"flights-0": 8, "flights-1": 9, "flights-2": 10}
THERE = {"flights-0": 7, "flights-1": 8, "flights-2": 9}
"""The marker of a transaction at the logs' beginning has no copy."""
ORDERS_HERE = {"orders-0": 40, "orders-1": 45, "orders-2": 50, "orders-3": "earliest"}
ORDERS_THERE = {"orders-0": 39, "orders-1": 44, "orders-2": 49, "orders-3": 0}
SNAPSHOT = next((GOLDEN / "flink" / "1.20.3" / "canonical").rglob("_metadata")).parent
STAGE, PUBLISH = StepKind.STAGE_CHECKPOINTS, StepKind.PUBLISH_CHECKPOINTS
LOST = StepKind.LOST_CHECKPOINTS


def filled(old: Simulated) -> None:
    """Each log begins with a transaction, whose marker shifts all that follows."""
    for topic, count in PARTITIONS.items():
        create(old, topic, count)  # type: ignore[arg-type]
        for partition in range(count):
            name = {"transactional.id": f"{topic}-{partition}", "bootstrap.servers": old.internal_bootstrap}
            writer = Producer({**TRANSACTIONS, **name})
            writer.init_transactions(TIMEOUT_S)
            writer.begin_transaction()
            for value in (b"paid 1", b"paid 2", b"paid 3"):
                writer.produce(topic, value, partition=partition)
            writer.commit_transaction(TIMEOUT_S)
            await_markers({"bootstrap.servers": old.internal_bootstrap}, [(topic, partition)])
            produce(old, topic, numbered(RECORDS - 4, partition=partition))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    """A wave of the topics of golden checkpoints, copied by a mapped link that runs; its jobs are each test's."""
    wave = Wave("all", tuple(PARTITIONS))
    rules = CopyRules(mode=ModePolicy.MAPPED)
    migration = Migration("move", "old", "new", (wave,), copy=rules, limits=Limits(quiet_ms=200))
    database = open_database(f"{tmp_path_factory.mktemp('store')}/store.sqlite")
    old, new = (Simulated(ClusterSpec(name, overrides=STEADY)) for name in ("old", "new"))
    with old, new, ExitStack() as stack:
        stack.callback(database.close)
        filled(old)
        made = Stand(old, new, migration, StoredMigrations(database), stack)  # type: ignore[arg-type]
        made.start()
        for topic, partitions in PARTITIONS.items():
            for partition in range(partitions):
                made.link(made.leg().link).await_position(topic, RECORDS, partition)
        yield made


def with_jobs(made: Stand, *jobs: StreamJob) -> Stand:
    """The same wave with these jobs."""
    migration = replace(made.migration, waves=(replace(made.wave, jobs=jobs),))
    return replace(made, migration=migration)


def place_of(root: Path, name: str, golden: Path) -> Path:
    """A savepoint as if taken long ago."""
    place = root / name
    shutil.copytree(golden, place)
    settle(place)
    return place


def three(root: Path) -> tuple[StreamJob, ...]:
    """A query that stays where it is, one that is moved, and a Flink job."""
    copy("rocksdb", root / "sums", state=True)
    copy("rocksdb", root / "totals", state=True)
    place_of(root, "savepoint-1", SNAPSHOT)
    return (
        StreamJob("sums", JobKind.SPARK, f"{root}/sums"),
        StreamJob("totals", JobKind.SPARK, f"{root}/totals", f"{root}/totals-new"),
        StreamJob("alerts", JobKind.FLINK, f"{root}/savepoint-1", f"{root}/rewritten-1"),
    )


def tree(root: Path) -> Mapping[str, tuple[bytes | None, int]]:
    """All that is below a directory with its time; of directories only that they are there."""
    found = sorted(root.rglob("*"))
    return {
        str(one.relative_to(root)): (None, 0) if one.is_dir() else (one.read_bytes(), one.stat().st_mtime_ns)
        for one in found
    }


class Doing:
    """A run whose steps are done one by one, without an engine."""

    def __init__(self, made: Stand, leg: int = 0) -> None:
        self.made = made
        steps = tuple(MigrationStep(kind, job.name, "") for kind in (STAGE, PUBLISH) for job in made.wave.jobs)
        self.run = WaveRun("run-1", made.migration.name, made.wave.name, "switch", steps, 0, leg=leg)

    def _with(self, ask: Callable[[ClusterSteps], Any]) -> Any:
        async def go() -> Any:
            old, new = context_of(self.made.old, "admin"), context_of(self.made.new, "admin")
            async with open_cluster(old) as source, open_cluster(new) as target:
                return await ask(ClusterSteps(self.made.migration, source, target, self.made))

        return asyncio.run(go())

    def do(self, kind: StepKind, job: str) -> Mapping[str, Any]:
        """A step, again where it was done before."""
        step = MigrationStep(kind, job, "")
        result = self._with(lambda steps: steps.do(self.run, step)) or {}
        at = [(one.kind, one.subject) for one in self.run.steps].index((kind, job))
        self.run = finished(begun(replace(self.run, at=at, state=WaveRunState.GOING)), 0, result)
        return result

    def look(self) -> None:
        """What a switch looks at before it holds anybody up."""
        self._with(lambda steps: checkpoints.look_at_jobs(steps.scene(self.run, self.run.steps[0])))

    def put_back(self, job: str) -> None:
        """What was staged of a job."""
        self._with(lambda steps: steps.put_back(self.run, MigrationStep(STAGE, job, "")))


def test_what_is_staged_is_put_back_byte_for_byte_and_published_where_it_is_to_be(
    started: Stand, tmp_path: Path
) -> None:
    """A query in its place, one at a new path, and a savepoint; each step twice; undo takes the query's back."""
    made = with_jobs(started, *three(tmp_path))
    before, doing = tree(tmp_path), Doing(made)
    for job in made.wave.jobs:
        for _ in range(2):
            assert doing.do(STAGE, job.name)["to"] == job.moved
    visible = {path: what for path, what in tree(tmp_path).items() if ".anabranch" not in path}
    assert visible == before
    for job in made.wave.jobs:
        for _ in range(2):
            doing.put_back(job.name)
    assert tree(tmp_path) == before

    for job in made.wave.jobs:
        doing.do(STAGE, job.name)
    done = {job.name: [doing.do(PUBLISH, job.name) for _ in range(2)] for job in made.wave.jobs}
    assert starts(tmp_path / "sums") == starts(tmp_path / "totals-new") == THERE
    assert starts(tmp_path / "rewritten-1") == ORDERS_THERE
    assert starts(tmp_path / "totals") == HERE and starts(tmp_path / "savepoint-1") == ORDERS_HERE
    assert snapshot(tmp_path / "totals-new") == snapshot(tmp_path / "sums")
    assert done["totals"] == [{"moved": f"{tmp_path}/totals-new"}] * 2
    names = {"savepoint-1", "rewritten-1", "sums", "totals", "totals-new"}
    assert {one.name for one in tmp_path.iterdir()} == names
    first, again = done["sums"]
    taken = asyncio.run(undo.plan(f"{tmp_path}/sums"))
    assert (taken.id, first, again) == (taken.id, {"undo": taken.id}, {"undo": taken.id})
    asyncio.run(undo.apply(taken))
    assert starts(tmp_path / "sums") == HERE


def reads(place: Path, offset: int) -> Path:
    """The query's positions in its first partition are changed in all entries of its log."""
    for path in (place / "offsets").glob("[0-9]"):
        lines = path.read_text().splitlines()
        lines[-1] = json.dumps({"flights": {**json.loads(lines[-1])["flights"], "0": offset}}, separators=(",", ":"))
        path.write_text("\n".join(lines))
        path.with_name(f".{path.name}.crc").unlink()
    settle(place)
    return place


def test_what_cannot_be_moved_exactly_is_refused_and_nothing_is_written(started: Stand, tmp_path: Path) -> None:
    """Each by a class of its own that names the job and the path."""
    spark, flink = JobKind.SPARK, JobKind.FLINK
    other = place_of(tmp_path, "names", next((GOLDEN / "flink" / "1.20.3" / "names").rglob("_metadata")).parent)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine").write_bytes(b"x")
    cases = (
        (NoJobCheckpointError, StreamJob("a", spark, f"{tmp_path}/no"), "there is no such directory"),
        (OtherEngineError, StreamJob("a", spark, str(other)), "is a checkpoint of flink, not of spark"),
        (NothingOfWaveError, StreamJob("a", flink, str(other), f"{tmp_path}/new"), "of none of wave all"),
        (
            JobPathTakenError,
            StreamJob("a", spark, str(copy("rocksdb", tmp_path / "fine")), f"{tmp_path}/taken"),
            "something is there already",
        ),
        (
            JobPathTakenError,
            StreamJob("a", spark, f"{tmp_path}/fine", f"{tmp_path}/fine/new"),
            "one inside of the other",
        ),
        (
            JobBlockedError,
            StreamJob("a", spark, str(copy("uncommitted", tmp_path / "begun"))),
            "batch 2 has begun and was not committed",
        ),
        (
            JobBlockedError,
            StreamJob("a", spark, str(copy("mixed", tmp_path / "mixed"))),
            "topic weather.reports is not among those of link move-all",
        ),
        (
            ForeignPositionsError,
            StreamJob("a", spark, str(reads(copy("rocksdb", tmp_path / "far"), 600))),
            f"is at 600 of flights-0, whose log ends at {RECORDS} on old: it holds positions of another cluster",
        ),
    )
    before = tree(tmp_path)
    for kind, job, words in cases:
        doing = Doing(with_jobs(started, job))
        with pytest.raises(kind, match=words) as error:
            doing.do(STAGE, "a")
        assert type(error.value) is kind and error.value.hint
        assert error.value.message.startswith(f"job a: {tmp_path}")
        doing.put_back("a")
        assert tree(tmp_path) == before, words


def test_a_job_that_runs_and_records_that_are_not_copied_are_waited_for(started: Stand, tmp_path: Path) -> None:
    """Until it has been quiet for long enough, and until the link has come so far."""
    place = copy("rocksdb", tmp_path / "sums")
    doing = Doing(with_jobs(started, StreamJob("sums", JobKind.SPARK, str(place))))
    os.utime(place / "commits" / "4")
    for wait in (doing.look, lambda: doing.do(STAGE, "sums")):
        with pytest.raises(NotYetError, match=r"job sums: .*: it was written \d s ago.*may still run"):
            wait()
    hooks = (FenceKind.HOOK,)
    made = doing.made.migration
    Doing(replace(doing.made, migration=replace(made, waves=(replace(doing.made.wave, fences=hooks),)))).look()
    Doing(replace(doing.made, migration=replace(made, limits=replace(made.limits, job_quiet_ms=1)))).look()
    settle(place)
    doing.look()
    link = started.leg().link
    asyncio.run(started.stop_link("new", link))
    produce(started.old, "flights", numbered(10, first=900))
    reads(place, RECORDS + 10)
    before = tree(tmp_path)
    with pytest.raises(NotYetError, match=f"job sums: flights-0 is at {RECORDS + 10}.*10 to go"):
        doing.do(STAGE, "sums")
    assert tree(tmp_path) == before
    asyncio.run(started.run_link("new", link))
    started.link(link).await_position("flights", RECORDS + 10)
    started.link(link).await_rounds("flights")
    doing.do(STAGE, "sums")
    doing.do(PUBLISH, "sums")
    assert starts(place) == {**THERE, "flights-0": RECORDS + 9}


def test_a_job_that_went_on_after_staging_is_told_with_what_to_do(started: Stand, tmp_path: Path) -> None:
    """Nothing is written over it; once it was rewritten by hand the step is done."""
    made = with_jobs(started, *three(tmp_path))
    doing = Doing(made)
    for job in made.wave.jobs:
        doing.do(STAGE, job.name)
    for name in ("sums", "totals"):
        for log in ("offsets", "commits"):
            shutil.copyfile(tmp_path / name / log / "4", tmp_path / name / log / "5")
        settle(tmp_path / name)
    for name, to in (("sums", None), ("totals", f"{tmp_path}/totals-new")):
        before = snapshot(tmp_path / name)
        with pytest.raises(JobGoneOnError, match=r"has changed since .*commits/5, offsets/5; stop") as error:
            doing.do(PUBLISH, name)
        typed = f"anabranch checkpoint rewrite {tmp_path}/{name} --link move-all --target new"
        assert error.value.message.endswith(f"{typed}{' --to ' + to if to else ''} --execute")
        assert snapshot(tmp_path / name) == before
        by_hand(made, f"{tmp_path}/{name}", to)
        doing.do(PUBLISH, name)
    assert starts(tmp_path / "sums") == starts(tmp_path / "totals-new") == THERE
    (tmp_path / "savepoint-1" / "_metadata").unlink()
    with pytest.raises(JobGoneOnError, match="_metadata"):
        doing.do(PUBLISH, "alerts")
    doing.put_back("alerts")
    assert not [one for one in tmp_path.iterdir() if "anabranch" in one.name]


def test_without_the_source_a_position_behind_the_copies_is_where_they_end(started: Stand, tmp_path: Path) -> None:
    """What the job has of them is told; a batch that had begun over a gap is refused, for only the source proves it."""
    sums = reads(copy("rocksdb", tmp_path / "sums"), 600)
    copy("uncommitted", tmp_path / "begun")
    jobs = (StreamJob("sums", JobKind.SPARK, str(sums)), StreamJob("begun", JobKind.SPARK, f"{tmp_path}/begun"))
    doing = Doing(with_jobs(started, *jobs))
    steps = tuple(replace(step, kind=LOST) if step.kind is STAGE else step for step in doing.run.steps)
    doing.run = replace(doing.run, steps=steps)
    end = newest_offset(started.old, "flights")
    before = tree(tmp_path)
    for broker in started.old.brokers:
        broker.kill()
    try:
        for _ in range(2):
            staged = doing.do(LOST, "sums")
        told = f"job sums is at 600 of flights-0, and goes on where the copies end: what it has of {end} to 599"
        assert staged["doubts"] == [f"{told} is not on new"]
        doing._with(lambda one: one.put_back(doing.run, MigrationStep(LOST, "sums", "")))
        assert tree(tmp_path) == before
        doing.do(LOST, "sums")
        doing.do(PUBLISH, "sums")
        with pytest.raises(JobBlockedError, match="2 to 4 is flights-0 2 to 3: 1 offsets have no copy") as error:
            doing.do(LOST, "begun")
        assert error.value.hint.endswith("take the job out of the wave: anabranch migrate set")
    finally:
        for broker in started.old.brokers:
            broker.start()
    assert starts(sums) == {**THERE, "flights-0": end - 1}


def by_hand(made: Stand, place: str, to: str | None) -> None:
    """What the message says."""

    async def go() -> None:
        contexts = context_of(made.old, "admin"), context_of(made.new, "admin")
        async with open_cluster(contexts[0]) as source, open_cluster(contexts[1]) as target:
            clusters = OpenClusters({"old": source, "new": target})
            way = TranslationSource(ByLinks((LinkAt(made.leg().link, contexts[1]),)))
            await rewrite.apply(clusters, await rewrite.plan(clusters, RewriteRequest(place, WISH, way, to)))

    asyncio.run(go())


def test_there_by_engines_that_die_and_back_again(
    started: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Around each step of a job, and within its writes; on the way back each position is where it was at first."""
    jobs = three(tmp_path)
    made, deaths = with_jobs(started, *jobs), 0
    run = made.switch(longest_ms=None)
    for at, step in enumerate(switch_steps(made.leg(), Part.ALL)):
        for is_begun in (True, False) if step.kind in (STAGE, PUBLISH) else ():

            def dies(next_: WaveRun, at: int = at, is_begun: bool = is_begun) -> bool:
                return next_.is_begun is is_begun and next_.at == (at if is_begun else at + 1)

            with pytest.raises(DiedError):
                made.carry_out(run, dies)
            deaths += 1
            if step == MigrationStep(PUBLISH, "sums", step.text) and is_begun:
                for write in (2, 11, 20, 25):
                    monkeypatch.setattr(checkpoints, "open_files", partial(Crashing, at=write))
                    with pytest.raises(Crash):
                        made.carry_out(run)
                    deaths += 1
                monkeypatch.setattr(checkpoints, "open_files", open_files)
    assert deaths == 2 * 2 * len(jobs) + 4
    assert made.carry_out(run).state is WaveRunState.DONE
    assert starts(tmp_path / "sums") == starts(tmp_path / "totals-new") == THERE
    assert starts(tmp_path / "rewritten-1") == ORDERS_THERE

    # Nobody has gone on: the queries are where they were, and the Flink job has a savepoint of its own.
    for name in ("sums", "totals-new"):
        settle(tmp_path / name)
    doing = Doing(made, leg=1)
    with pytest.raises(ForeignPositionsError, match="was put there by link move-all"):
        doing.do(STAGE, "alerts")
    (tmp_path / "savepoint-2").mkdir()
    shutil.copyfile(tmp_path / "rewritten-1" / "_metadata", tmp_path / "savepoint-2" / "_metadata")
    settle(tmp_path / "savepoint-2")
    fresh = replace(jobs[2], moved=f"{tmp_path}/savepoint-2")
    with pytest.raises(JobPathTakenError, match="savepoint-1: something is there already"):
        Doing(with_jobs(made, fresh), leg=1).do(STAGE, "alerts")
    made = with_jobs(made, *jobs[:2], replace(fresh, checkpoint=f"{tmp_path}/rewritten-2"))
    for topic, count in PARTITIONS.items():
        for partition in range(count):
            back = made.link(made.leg(1).link)
            back.await_position(topic, newest_offset(made.new, topic, partition), partition)
    found = made.carry_out(made.switch(leg=1))
    assert (found.state, found.why) == (WaveRunState.DONE, "")
    assert starts(tmp_path / "sums") == starts(tmp_path / "totals-new") == HERE
    assert starts(tmp_path / "rewritten-2") == {**ORDERS_HERE, "orders-3": 0}
    assert snapshot(tmp_path / "sums") == snapshot(tmp_path / "totals")
