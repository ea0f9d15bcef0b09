"""From where to where a job's positions go on each leg, and what the steps say of it."""

from __future__ import annotations

import pytest

from anabranch.migration.jobs import job_move
from anabranch.migration.legs import Leg
from anabranch.migration.spec import JobKind, Migration, StreamJob, Wave
from anabranch.migration.steps import Part, StepKind, switch_steps

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("kind", "moved", "legs"),
    [
        (JobKind.SPARK, "", [("/cp", ""), ("/cp", ""), ("/cp", "")]),
        (JobKind.SPARK, "/new", [("/cp", "/new"), ("/new", ""), ("/new", "")]),
        (JobKind.FLINK, "/new", [("/cp", "/new"), ("/new", "/cp"), ("/cp", "/new")]),
    ],
)
def test_each_leg_begins_where_the_job_is(kind: JobKind, moved: str, legs: list[tuple[str, str]]) -> None:
    """A query stays in its directory, a Flink job has a snapshot on each side; the plan names the same paths."""
    job = StreamJob("sums", kind, "/cp", moved)
    wave = Wave("orders", ("orders",), jobs=(job,))
    for number, (at, to) in enumerate(legs):
        leg = Leg(Migration("move", "old", "new", (wave,)), wave, number)
        move = job_move(leg, job)
        assert (move.at, move.to, move.place) == (at, to, to or at)
        assert [move.field, move.to_field] == [{"/cp": "checkpoint", "/new": "moved", "": ""}[one] for one in (at, to)]
        told = {step.kind: step.text for step in switch_steps(leg, Part.ALL)}
        assert told[StepKind.STAGE_CHECKPOINTS] == f"rewrite {at} beside where it will be"
        assert told[StepKind.PUBLISH_CHECKPOINTS] == f"put the rewritten checkpoint to {to or at}"
