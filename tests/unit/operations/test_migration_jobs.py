"""Checkpoints of a wave's jobs as they lie there: what is not as the migration says is refused in words."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.clusters import NotOpenError, OpenClusters
from anabranch.kafka.settling import until_led
from anabranch.migration.jobs import job_move
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun
from anabranch.migration.spec import CopyRules, JobKind, Migration, StreamJob, Wave
from anabranch.model.cluster import ClusterContext
from anabranch.model.link import UnknownLinkError
from anabranch.model.plugins import PluginSpec
from anabranch.model.topics import TopicPartition
from anabranch.operations.checkpoints.copying import copy_to
from anabranch.operations.migrations import checkpoints
from anabranch.operations.migrations.desk import Scene
from anabranch.operations.migrations.jobs import (
    ForeignPositionsError,
    JobPathTakenError,
    JobRefusedError,
    NoJobCheckpointError,
    NothingOfWaveError,
    OtherEngineError,
    job_reasons,
    look,
)
from anabranch.storage.opening import open_files
from qa.blocking import between
from tests.unit.link_lab import append, lab
from tests.unit.operations.checkpoints.world import GOLDEN, SPARK, copy, draw

pytestmark = pytest.mark.unit

QUERY = SPARK / "rocksdb"
SNAPSHOT = next((GOLDEN / "flink" / "1.20.3" / "canonical").rglob("_metadata")).parent
NAMED = next((GOLDEN / "flink" / "1.20.3" / "names").rglob("_metadata")).parent
TOPICS = ("flights", "orders")


def leg_of(*jobs: StreamJob, number: int = 0, prefix: bool = False) -> Leg:
    """A leg of a wave with these jobs."""
    wave = Wave("all", TOPICS, jobs=jobs)
    rules = CopyRules(naming=PluginSpec("prefix")) if prefix else CopyRules()
    return Leg(Migration("move", "old", "new", (wave,), copy=rules), wave, number)


def job(kind: JobKind, checkpoint: Path, moved: Path | str = "") -> StreamJob:
    """A job of that kind."""
    return StreamJob("sums", kind, str(checkpoint), str(moved))


def refused(leg: Leg) -> JobRefusedError:
    """Why its job is."""
    with pytest.raises(JobRefusedError) as error:
        look(leg, job_move(leg, leg.wave.jobs[0]))
    assert error.value.job == "sums" and error.value.hint
    return error.value


def test_what_is_as_the_migration_says_is_opened(tmp_path: Path) -> None:
    """With its files of just before."""
    leg = leg_of(job(JobKind.SPARK, QUERY), job(JobKind.FLINK, SNAPSHOT, tmp_path / "new"))
    query, snapshot = (look(leg, job_move(leg, one)) for one in leg.wave.jobs)
    assert {"metadata", "offsets/4", "commits/4"} <= {*query.there}
    assert snapshot.there == ["_metadata"]


def test_what_is_not_is_refused_naming_job_and_path(tmp_path: Path) -> None:
    """Not there, of another engine, of other topics, of the other cluster's topics."""
    found = refused(leg_of(job(JobKind.SPARK, tmp_path / "no")))
    assert isinstance(found, NoJobCheckpointError)
    assert found.message == f"job sums: {tmp_path}/no: no checkpoint or savepoint: there is no such directory"
    found = refused(leg_of(job(JobKind.SPARK, SNAPSHOT)))
    assert isinstance(found, OtherEngineError)
    assert found.message == f"job sums: {SNAPSHOT} is a checkpoint of flink, not of spark"
    found = refused(leg_of(job(JobKind.FLINK, NAMED, tmp_path / "new")))
    assert isinstance(found, NothingOfWaveError)
    assert found.message.endswith("of none of wave all") and "t" in found.message
    found = refused(leg_of(job(JobKind.SPARK, QUERY), number=1, prefix=True))
    assert isinstance(found, ForeignPositionsError)
    assert found.message == f"job sums: {QUERY} holds positions of topic flights, as it is called on old"


def test_a_path_that_is_taken_is_refused(tmp_path: Path) -> None:
    """And one whose directory is not there: making it could not be put back."""
    (tmp_path / "mine").write_bytes(b"x")
    found = refused(leg_of(job(JobKind.FLINK, SNAPSHOT, tmp_path)))
    assert isinstance(found, JobPathTakenError)
    assert found.hint == "name a path where nothing is as moved of the job"
    found = refused(leg_of(job(JobKind.SPARK, QUERY, tmp_path / "no" / "such")))
    assert found.message.endswith("no/such: the directory that it would be in is not there")


def test_on_the_way_back_a_snapshot_that_the_switch_made_is_refused(tmp_path: Path) -> None:
    """With it the job began there, and has gone on since; a snapshot of its own is taken."""
    moved = tmp_path / "moved"
    copy_to(draw(open_files(str(SNAPSHOT)), by="link move-all"), open_files(str(moved)))
    names = leg_of(job(JobKind.FLINK, tmp_path / "back", moved), number=1)
    names = replace(names, wave=replace(names.wave, topics=("new.orders",)))
    found = refused(names)
    assert isinstance(found, ForeignPositionsError)
    assert "was put there by link move-all: with it the job began on new" in found.message
    assert found.hint == "stop the job with a savepoint, and name that as moved of the job"
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    (fresh / "_metadata").write_bytes((moved / "_metadata").read_bytes())
    names = replace(names, wave=replace(names.wave, jobs=(job(JobKind.FLINK, tmp_path / "back", fresh),)))
    assert look(names, job_move(names, names.wave.jobs[0])).there == ["_metadata"]


def test_a_plan_has_the_reasons_against_all_jobs(tmp_path: Path) -> None:
    """A job that reads another wave's topic too would be on two clusters."""
    jobs = (
        job(JobKind.SPARK, QUERY),
        replace(job(JobKind.SPARK, SPARK / "mixed"), name="mixed"),
        replace(job(JobKind.FLINK, tmp_path / "no", tmp_path / "new"), name="gone"),
        StreamJob("far", JobKind.SPARK, "nosuch://a/b"),
    )
    told = [reason.what for reason in asyncio.run(job_reasons(leg_of(*jobs)))]
    assert told == [
        "job mixed also reads topic weather.reports, not in this wave: it would be on two clusters",
        f"job gone: {tmp_path}/no: no checkpoint or savepoint: there is no such directory",
        "job far: nosuch://a/b: nosuch:// is no kind of storage that is known",
    ]


def test_clusters_that_are_open_are_used_and_stay_open() -> None:
    """Others are refused."""
    with lab() as both:

        async def ask(source: Cluster, target: Cluster) -> str:
            async with OpenClusters({"old": source, "new": target}) as clusters:
                assert clusters.of(clusters.context("new")) is target
                assert clusters.context("old").bootstrap == source.bootstrap
                for asks in (lambda: clusters.context("x"), lambda: clusters.of(ClusterContext("x", ("h:1",)))):
                    with pytest.raises(NotOpenError):
                        asks()
            return await target.cluster_id()

        assert between(both.source, both.target, ask)


def test_a_checkpoint_past_the_end_of_the_log_that_it_names_is_not_moved(tmp_path: Path) -> None:
    """Of another cluster, it would skip what comes there; without its cluster nobody can tell, and none is asked."""
    place = copy("rocksdb", tmp_path / "sums")
    leg = leg_of(job(JobKind.SPARK, place))
    run = WaveRun("r", "move", "all", "switch", (), 0)
    nobody: Any = None

    async def flights(cluster: Cluster) -> None:
        await create_topic(cluster, "flights", 3, 1, {})
        await until_led(cluster, ["flights"])
        for partition in range(3):
            await append(cluster, TopicPartition("flights", partition), 9)

    with lab() as both:
        both.on(both.source, flights)

        async def ask(source: Cluster, target: Cluster) -> str:
            scene = Scene(leg, source, target, nobody, run, "sums")
            with pytest.raises(ForeignPositionsError) as refused:
                await checkpoints.stage_checkpoint(scene)
            with pytest.raises(UnknownLinkError):
                await checkpoints.stage_lost_checkpoint(scene)
            return refused.value.message

        what = between(both.source, both.target, ask)
    assert what == (
        f"job sums: {place} is at 10 of flights-2, whose log ends at 9 on old: it holds positions of another cluster"
    )
