"""Copies of checkpoints for a rehearsal: their committed state, at records of topics that are made for it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset
from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.checkpoints.spark import SparkCheckpoint
from anabranch.migration.rehearsal import Rehearsal, rehearsal_of
from anabranch.migration.spec import JobKind, Migration, StreamJob, Wave
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition
from anabranch.operations.migrations import rehearsed_jobs
from anabranch.operations.migrations.rehearsed import SAMPLES, RehearsalFailedError
from anabranch.operations.migrations.rehearsed_files import clean_files, refuse_foreign_files
from anabranch.operations.migrations.rehearsed_jobs import JobNotCopiedError, ScratchRoute, check_jobs, copy_jobs
from anabranch.storage.opening import open_files
from tests.unit.operations.checkpoints.world import SPARK, copy, snapshot, starts

pytestmark = pytest.mark.unit

FIRST = 100
"""Where the logs of the topics that are made begin."""
COMMITTED = sorted(one.name for one in SPARK.iterdir() if one.name != "continuous" and (one / "commits").is_dir())


def planned(place: Path, moved: str = "") -> Rehearsal:
    """A wave of one job, and of all topics that its checkpoint names."""
    topics = {one.partition.topic for one in open_checkpoint(open_files(str(place))).positions()}
    job = StreamJob("sums", JobKind.SPARK, str(place), moved)
    wave = Wave("all", tuple(sorted(topics)), jobs=(job,))
    return rehearsal_of(Migration("move", "old", "new", (wave,)), wave)


def records(made: Rehearsal) -> dict[TopicPartition, list[int]]:
    """Every other offset is a record's, in ten partitions of each topic."""
    offsets = list(range(FIRST, FIRST + 4 * SAMPLES, 2))
    return {TopicPartition(topic, at): offsets for topic in made.topics.values() for at in range(10)}


@pytest.mark.parametrize("name", COMMITTED)
def test_a_copy_is_what_a_restart_reads_at_one_record_of_topics_that_are_made(name: str, tmp_path: Path) -> None:
    """Each checkpoint that Spark has written; a batch that has begun is left away, and its own is as it was."""
    place = copy(name, tmp_path / "cp", state=True)
    before, made = snapshot(place, hidden=True), planned(place)
    asyncio.run(copy_jobs(made, records(made)))
    assert snapshot(place, hidden=True) == before
    copied = open_checkpoint(open_files(made.jobs[0].made.checkpoint))
    assert isinstance(copied, SparkCheckpoint) and copied.uncommitted is None and not copied.contents.stale
    assert {one.offset for one in copied.positions()} == {FIRST + SAMPLES}
    assert {one.partition.topic for one in copied.positions()} == {f"rehearsal.move.{topic}" for topic in made.topics}
    logs = [path for path in snapshot(Path(made.jobs[0].made.checkpoint)) if path.startswith(("offsets/", "state/"))]
    assert 1 <= len([path for path in logs if not path.rpartition("/")[2].startswith(".")]) <= 2
    again = copied.rewrite(rehearsed_jobs.RewriteSpec(), ScratchRoute({}, {}, frozenset()))
    assert {one.why for one in again.refusals} == {ReasonKind.NOT_IN_LINK}
    asyncio.run(copy_jobs(made, records(made)))
    refuse_foreign_files(made)
    for _ in range(2):
        clean_files(made)
        assert [one.name for one in tmp_path.iterdir()] == ["cp"]


def test_no_text_of_a_copy_names_a_topic_of_the_wave(tmp_path: Path) -> None:
    """Also where no restart reads."""
    made = planned(copy("rocksdb", tmp_path / "cp"))
    asyncio.run(copy_jobs(made, records(made)))
    for path, data in snapshot(Path(made.jobs[0].made.checkpoint)).items():
        assert data.count(b"flights") == data.count(b"rehearsal.move.flights"), path


def losing(lose: Callable[[], object], times: int) -> Callable[[float], None]:
    """What happens between two looks."""
    waited = []

    def sleep(_: float) -> None:
        waited.append(1)
        if len(waited) >= times:
            lose()

    return sleep


@pytest.mark.parametrize("at_look", [1, 2])
def test_a_checkpoint_that_changes_meanwhile_is_looked_at_again(
    at_look: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a file of the log is gone before it is read; three looks in all."""
    place = copy("rocksdb", tmp_path / "cp")
    made, log = planned(place), place / "offsets"
    for number in range(4):
        (log / str(number)).rename(tmp_path / f"kept-{number}")
    monkeypatch.setattr(
        rehearsed_jobs.time, "sleep", losing(lambda: shutil.copy(tmp_path / "kept-3", log / "3"), at_look)
    )
    asyncio.run(copy_jobs(made, records(made)))
    monkeypatch.setattr(rehearsed_jobs.time, "sleep", lambda _: None)
    (log / "3").unlink()
    with pytest.raises(JobNotCopiedError, match="offsets/4 is the only one; a restart needs the file before it"):
        asyncio.run(copy_jobs(made, records(made)))


def test_a_position_that_is_not_at_its_record_is_told(tmp_path: Path) -> None:
    """As one of another topic, and one that is gone."""
    made = planned(copy("rocksdb", tmp_path / "cp"))
    logs = records(made)
    copies = asyncio.run(copy_jobs(made, logs))
    there = {TopicPartition(made.leg.topics[one.topic], one.partition): offsets for one, offsets in logs.items()}
    assert asyncio.run(check_jobs(made, made.leg, there, copies)) == 3
    shifted = {one: [offset + 1 for offset in offsets] for one, offsets in there.items()}
    more = {"sums": copies["sums"] | {("0", OffsetRole.NEXT, TopicPartition("rehearsal.move.flights", 7))}}
    for known, wanted, words in (
        (shifted, copies, "job sums is at 120 of rehearsal.move.flights-0, and not at 121"),
        ({}, copies, "names rehearsal.move.flights-0, which was not made for the rehearsal"),
        (there, more, "has no position of rehearsal.move.flights-7 in source 0 any more"),
    ):
        with pytest.raises(RehearsalFailedError, match=f"failed to move checkpoints: .*{words}") as error:
            asyncio.run(check_jobs(made, made.leg, known, wanted))
        assert "rehearse again" in str(error.value.hint)
    clean_files(made)
    with pytest.raises(RehearsalFailedError, match="there is no such directory"):
        asyncio.run(check_jobs(made, made.leg, there, copies))
    assert starts(tmp_path / "cp") == {"flights-0": 8, "flights-1": 9, "flights-2": 10}


def test_positions_that_have_no_record_stay_without_one_or_are_refused() -> None:
    """What was not looked up yet can be moved by nobody."""
    at = TopicPartition("orders", 3)
    route = ScratchRoute({"orders": "made"}, {TopicPartition("made", 3): range(SAMPLES)}, frozenset({at}))

    def moved(offset: int | SymbolicOffset | None, role: OffsetRole = OffsetRole.NEXT) -> int | str | None:
        answer = route.move(Position("0", at, offset, role, "here"))
        assert answer is not None
        return answer.why.value if isinstance(answer, Reason) else answer.offset

    assert [moved(None), moved(7), moved(7, OffsetRole.INITIAL)] == [None, SAMPLES // 2, 0]
    assert [moved(SymbolicOffset.LATEST), moved(SymbolicOffset.COMMITTED)] == ["marker", "marker"]
    assert moved(SymbolicOffset.EARLIEST) == SAMPLES // 2
    assert route.partitions("made") == {3} and route.partitions("orders") == frozenset()
