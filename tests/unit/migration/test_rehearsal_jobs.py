"""Where a rehearsal has its copies of checkpoints: beside each of them, by names that no two jobs share."""

from __future__ import annotations

import pytest

from anabranch.migration.legs import Leg
from anabranch.migration.rehearsal import rehearsal_of
from anabranch.migration.spec import JobKind, Migration, StreamJob, Wave

pytestmark = pytest.mark.unit

SPARK, FLINK = JobKind.SPARK, JobKind.FLINK


def made_of(*jobs: StreamJob) -> list[StreamJob]:
    """The jobs that are rehearsed in their place."""
    wave = Wave("orders", ("orders",), jobs=jobs)
    found = rehearsal_of(Migration("move", "old", "new", (wave,)), wave)
    assert found.leg.wave.jobs == tuple(job.made for job in found.jobs)
    assert found.real == Leg(Migration("move", "old", "new", (wave,)), wave)
    return [job.made for job in found.jobs]


@pytest.mark.parametrize(
    ("job", "checkpoint", "moved"),
    [
        (StreamJob("sums", SPARK, "/cp/sums"), "/cp/rehearsal.move.sums/checkpoint", ""),
        (StreamJob("sums", SPARK, "/cp/sums/"), "/cp/rehearsal.move.sums/checkpoint", ""),
        (StreamJob("sums", SPARK, "sums"), "rehearsal.move.sums/checkpoint", ""),
        (
            StreamJob("sums", SPARK, "s3://bucket/a/sums", "s3://other/b/sums"),
            "s3://bucket/a/rehearsal.move.sums/checkpoint",
            "s3://other/b/rehearsal.move.sums/moved",
        ),
        (
            StreamJob("alerts", FLINK, "/cp/savepoint-1/_metadata", "/cp/rewritten-1"),
            "/cp/rehearsal.move.alerts/checkpoint",
            "/cp/rehearsal.move.alerts/moved",
        ),
    ],
)
def test_a_copy_lies_beside_the_checkpoint_and_never_in_it(job: StreamJob, checkpoint: str, moved: str) -> None:
    """Also where the job's is in a store, is named by its metadata, or is put to a new path."""
    (found,) = made_of(job)
    assert (found.name, found.kind, found.checkpoint, found.moved) == (job.name, job.kind, checkpoint, moved)


def test_names_of_jobs_that_are_none_of_directories_never_become_one() -> None:
    """Signs of paths, and names that are long and begin alike."""
    names = ("a/b", "a_b", "a b", "../a", "..", "x" * 300, "x" * 299 + "y", "ö" * 300)
    found = made_of(*(StreamJob(name, SPARK, f"/cp/{number}") for number, name in enumerate(names)))
    directories = [one.checkpoint.split("/") for one in found]
    assert all(len(parts) == 4 and parts[1] == "cp" and parts[3] == "checkpoint" for parts in directories)
    assert len({parts[2] for parts in directories}) == len(names)
    assert all(len(parts[2].encode()) <= 249 for parts in directories)


def test_a_rehearsal_waits_for_no_job_and_says_what_of_it_is_not_copied() -> None:
    """Nobody writes to a copy."""
    wave = Wave("orders", ("orders",), jobs=(StreamJob("sums", SPARK, "/cp/sums", "/cp/new"),))
    found = rehearsal_of(Migration("move", "old", "new", (wave,)), wave)
    assert found.migration.limits.job_quiet_ms == 0
    assert found.jobs[0].directories == ("/cp/rehearsal.move.sums",)
    assert found.checkpoints == {"/cp/sums": "/cp/rehearsal.move.sums/checkpoint"}
    assert found.left_out == ("state of job sums: it holds no positions, and is not copied",)
