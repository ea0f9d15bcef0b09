"""Offsets of a link and answers of MirrorMaker 2, asked of simulated clusters: which side, which lanes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from anabranch.config.maps_file import StoredMap
from anabranch.config.verifyspec import VerifyOptions
from anabranch.kafka.admin import create_topic, delete_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import KeyedLog
from anabranch.kafka.settling import until_led
from anabranch.mirrormaker.report import Evidence
from anabranch.mirrormaker.store import OffsetSync
from anabranch.mirrormaker.wire import MirrorCheckpoint, decode_checkpoint, encode_sync
from anabranch.model.groups import Commit
from anabranch.model.lane import LaneMode
from anabranch.model.plans import PlanChangedError
from anabranch.model.positions import Answered, AnswerKind, OffsetPair
from anabranch.model.topics import TopicId
from anabranch.offsets import codec
from anabranch.offsets.align.gaps import Unclear, Why
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.operations.jobs.readerjob import ReaderJob
from anabranch.operations.offsets import rebuild
from anabranch.operations.offsets.comparison import comparison
from anabranch.operations.offsets.translate import GroupUnknownError, TopicNotInLinkError
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.records.encode import encode
from anabranch.records.sequence import sequence_of
from anabranch.state.maps.reading import LaneInDoubtError
from anabranch.state.topics.control import Links, MappedRanges, write
from anabranch.state.topics.journal import Journal
from qa import comparing as verify
from qa import mirror_answers, offsets
from qa.blocking import between
from tests.unit.asking import append, records
from tests.unit.link_lab import BLANK, LINK, OTHER, RUNS, SOURCE_END, TARGET_END, TO_A, TO_B, A, B, Lab, lab
from tests.unit.link_lab import append as more

pytestmark = pytest.mark.unit


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, for one test."""
    with lab() as made:
        yield made


def ask(both: Lab, offset: int, at: object = A) -> Answered:
    """The answer for one source offset."""
    (one,) = offsets.translate(both.target, LINK, [(at, offset)]).answers  # type: ignore[list-item]
    return one


def test_a_group_s_commits_are_those_of_the_side_that_is_asked_from(both: Lab) -> None:
    """A group of one name may have committed on both clusters; one that has not is unknown."""
    both.commit(both.source, "shop", {A: Commit(20), B: Commit(27)})
    both.commit(both.target, "shop", {TO_A: Commit(3)})
    found = offsets.translate_group(both.source, both.target, LINK, "shop")
    assert [(one.to, one.answer) for one in found.answers] == [(TO_A, 10), (TO_B, 12)]
    back = offsets.translate_group(both.source, both.target, LINK, "shop", reverse=True)
    assert [(one.to, one.answer) for one in back.answers] == [(A, 13)]
    with pytest.raises(GroupUnknownError):
        offsets.translate_group(both.source, both.target, LINK, "nobody")


def test_a_topic_that_the_link_has_not_on_that_side_is_refused(both: Lab) -> None:
    """A misspelt name is an error, and so is the other side's name."""
    for at, reverse in ((replace(A, topic="order"), False), (TO_A, False), (A, True)):
        with pytest.raises(TopicNotInLinkError):
            offsets.translate(both.target, LINK, [(at, 5)], reverse=reverse)


def test_a_partition_that_the_target_does_not_have_is_told_as_that(both: Lab) -> None:
    """Of the source one may come; of the target there is none."""
    for at, reverse, why in (
        (replace(A, partition=9), False, "no lane has begun to copy it: target topic old.orders has 2 partitions"),
        (replace(TO_A, partition=9), True, "there is no partition 9: target topic old.orders has 2 partitions"),
    ):
        (found,) = offsets.translate(both.target, LINK, [(at, 1)], reverse=reverse).answers
        assert (found.kind, found.why) == (AnswerKind.UNKNOWN, why)


def test_an_export_names_both_clusters_and_has_every_lane(both: Lab) -> None:
    """The source first; each lane's stored runs are those that its map is of."""
    maps = offsets.export(both.target, LINK)
    assert (maps.source, maps.target) == ("old", "new")
    assert [(lane.source, lane.target) for lane in maps.lanes] == [(A, TO_A), (B, TO_B)]
    assert {codec.decode(data).target_end for data in maps.stored.values()} == {TARGET_END}
    assert set(maps.stored) == {lane.lane for lane in maps.lanes}


def test_a_reader_of_everything_is_at_the_end_of_the_copy(both: Lab) -> None:
    """Progress passes the gap behind the last run; past it nothing is answered."""
    assert (ask(both, SOURCE_END).kind, ask(both, SOURCE_END).answer) == (AnswerKind.EXACT, TARGET_END)
    assert ask(both, SOURCE_END + 1).kind is AnswerKind.AFTER


def test_a_former_owner_s_progress_says_nothing_after_the_next_claim(both: Lab) -> None:
    """The next owner may have copied something else there."""
    claim = Claim(str(both.lanes[0].lane), 7_100, LaneMode.MAPPED, "run-2", None, 3_000, ClaimState.CLAIMED, 30, 15)
    both.on(both.target, lambda cluster: Journal(cluster).append(claim))
    assert ask(both, 30).answer == TARGET_END
    assert ask(both, SOURCE_END).kind is AnswerKind.AFTER


def test_runs_past_the_end_of_the_log_are_in_doubt(both: Lab) -> None:
    """The log was cut since: nothing is answered, exported or compared of that lane, and each says so."""

    async def file(cluster: Cluster) -> None:
        await MappedRanges(cluster).persist({(both.lanes[1].lane, 1): [MappedRange(40, 100, 5)]})

    both.on(both.target, file)
    assert (ask(both, 12, B).kind, ask(both, 12).kind) == (AnswerKind.UNKNOWN, AnswerKind.EXACT)
    with pytest.raises(LaneInDoubtError):
        offsets.export(both.target, LINK)
    spec = verify.plan(both.source, both.target, LINK, VerifyOptions())
    assert [pin.source for pin in spec.pins] == [A]
    assert set(spec.doubts) == {str(B), str(BLANK)}
    assert "ranges are persisted up to target offset 105" in spec.doubts[str(B)]


def test_runs_that_an_earlier_owner_persisted_late_hide_none_of_its_successor_s(both: Lab) -> None:
    """Its request was carried out after theirs: what they tell of is copied all the same."""
    lane = both.lanes[0].lane

    async def file(cluster: Cluster) -> None:
        earlier, later = MappedRanges(cluster), MappedRanges(cluster)
        earlier.claimed(lane, 5)
        later.claimed(lane, 9)
        await later.persist({(lane, 0): RUNS})
        await earlier.persist({(lane, 0): RUNS[:1]})

    answers = [ask(both, offset) for offset in range(SOURCE_END)]
    both.on(both.target, file)
    assert [ask(both, offset) for offset in range(SOURCE_END)] == answers


@pytest.mark.parametrize("late", [None, (MappedRange(10, 0, 4),), (MappedRange(10, 1, 8),)])
def test_a_position_below_what_was_retired_is_older_than_the_map(
    both: Lab, late: tuple[MappedRange, ...] | None
) -> None:
    """Also where an earlier owner has stored again, late, what was retired, in an older version or another one."""
    lane = both.lanes[0].lane

    async def file(cluster: Cluster) -> None:
        await MappedRanges(cluster).persist({(lane, 0): late or (), (lane, 2): RUNS[1:]})

    both.on(both.target, file)
    both.there.served.do(lambda one: one.partition(TO_A.topic, 0).led.log.delete_before(10))
    for offset in (10, 19, 24):
        one = ask(both, offset)
        assert (one.kind, one.above) == (AnswerKind.BEFORE, OffsetPair(25, 10)) and "gone on both sides" in one.why
    assert [ask(both, offset).answer for offset in (25, 29, SOURCE_END)] == [10, 14, TARGET_END]
    (back,) = offsets.translate(both.target, LINK, [(TO_A, 9)], reverse=True).answers
    assert back.kind is AnswerKind.BEFORE


def test_of_segments_that_are_missing_the_log_tells_what_it_still_holds(both: Lab) -> None:
    """An older owner's request may have forgotten them for the moment; nothing is told of what lies below the log."""
    lane, far = both.lanes[0].lane, 3_000_000_000

    async def file(cluster: Cluster) -> None:
        await MappedRanges(cluster).persist({(lane, 0): (), (lane, 2): (MappedRange(far + 15, 30, 5),)})
        meta, part = await cluster.partition(TO_A.topic, 0)
        batch = encode(records(20), producer_id=7_000, producer_epoch=0, sequence=sequence_of(far))
        assert await append(await cluster.connection(part.leader), TO_A.topic, meta.id, batch) == 0

    both.on(both.target, file)
    both.there.served.do(lambda one: one.partition(TO_A.topic, 0).led.log.delete_before(20))
    assert (ask(both, far + 4).kind, ask(both, far + 4).above) == (AnswerKind.BEFORE, OffsetPair(far + 5, 20))
    assert [ask(both, far + at).answer for at in (5, 14, 15, 19)] == [20, 29, 30, 34]


def test_the_map_of_a_topic_that_was_made_again_is_in_doubt(both: Lab) -> None:
    """Only the id tells a new topic from the one that was copied to."""

    async def remember_another(cluster: Cluster) -> None:
        links = Links(cluster)
        await links.sync()
        (topic,) = links.topics_of(LINK)
        await links.put_topic(replace(topic, target_id=TopicId(uuid.uuid4())))

    both.on(both.target, remember_another)
    one = ask(both, 12)
    assert one.kind is AnswerKind.UNKNOWN and "deleted and made again" in one.why


def test_a_rebuilt_map_is_compared_behind_what_is_unclear_and_says_so(both: Lab) -> None:
    """Else a part would be called the whole."""
    ranges = OffsetMap.of([MappedRange(0, 0, 10), MappedRange(20, 20, 10)])
    clear = StoredMap(both.lanes[0].lane, A, TO_A, ranges)
    doubted = StoredMap(both.lanes[1].lane, B, TO_B, ranges, None, (Unclear(10, 20, 10, 20, Why.SEVERAL),))
    spec = comparison(both.source, both.target, LINK, [clear, doubted])
    assert [(one.source_from, one.target_from) for one in spec.pins] == [(0, 0), (20, 20)]
    assert set(spec.doubts) == {str(B)}


def test_maps_are_made_of_the_topics_that_were_pinned(
    both: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs may have grown since; a copy that was made again is another one, and no job is started for it."""
    topics = {OTHER.topic: TO_A.topic}
    monkeypatch.setattr("anabranch.operations.jobs.readerjob.check_reader", lambda _, settings: dict(settings))
    job = ReaderJob(both.source, both.target, "local[1]", tmp_path)
    planned = between(both.source, both.target, lambda source, target: rebuild.plan(source, target, "made", topics))
    assert [(one.source, one.target, *one.bounds) for one in planned.lanes] == [
        (OTHER, TO_A, 0, SOURCE_END, 0, TARGET_END)
    ]
    both.on(both.target, lambda cluster: more(cluster, TO_A, 1))
    again = between(both.source, both.target, lambda source, target: rebuild.plan(source, target, "made", topics))
    assert (again.lanes[0].bounds[3], again.hash) == (TARGET_END + 1, planned.hash)

    async def make_again(cluster: Cluster) -> None:
        await delete_topic(cluster, TO_A.topic)
        await create_topic(cluster, TO_A.topic, 2, 1, {})
        await until_led(cluster, [TO_A.topic])

    both.on(both.target, make_again)
    out = tmp_path / "maps.json"
    with pytest.raises(PlanChangedError):
        between(both.source, both.target, lambda source, target: rebuild.apply(source, target, planned, out, job))
    assert not list(tmp_path.iterdir())


def test_clients_of_mirror_maker_find_exact_positions_under_the_copy_s_name(both: Lab) -> None:
    """Shown, nothing is written; written, they are what was shown, and what is not exact is left out."""
    both.commit(both.source, "shop", {A: Commit(20, "noted"), BLANK: Commit(4)})
    shown = mirror_answers.plan_publish(both.source, both.target, LINK)
    assert shown.source_alias == "old"
    assert shown.checkpoints == (MirrorCheckpoint("shop", TO_A, 20, 10, "noted"),)
    assert [(one.group, one.source) for one in shown.left_out] == [("shop", BLANK)]

    async def topics(cluster: Cluster) -> set[str]:
        return set((await cluster.metadata(None)).topics)

    assert "old.checkpoints.internal" not in both.on(both.target, topics)
    done = mirror_answers.publish(both.source, both.target, LINK)
    assert done.checkpoints == shown.checkpoints
    stored = both.on(both.target, lambda cluster: KeyedLog(cluster, "old.checkpoints.internal").read())
    assert tuple(decode_checkpoint(one.key, one.value or b"") for one in stored) == shown.checkpoints


def test_an_answer_of_mirror_maker_has_bounds_where_records_cannot_be_told_apart(both: Lab) -> None:
    """Equal records give no exact position; at most what lies up to the commit, by the newest sync before it."""
    both.commit(both.source, "shop", {A: Commit(20)})
    mirror_answers.publish(both.source, both.target, LINK)

    async def sync(cluster: Cluster) -> None:
        name = "mm2-offset-syncs.new.internal"
        await create_topic(cluster, name, 1, 1, {"cleanup.policy": "compact"})
        await until_led(cluster, [name])
        for one in (OffsetSync(17, 9), OffsetSync(19, 11)):
            await write(KeyedLog(cluster, name), [encode_sync(A, one)])

    both.on(both.source, sync)
    report = mirror_answers.report(both.source, both.target)
    (row,) = report.rows
    assert (row.group, row.source, row.target, row.committed, row.downstream) == ("shop", A, TO_A, 20, 10)
    assert (row.exact, row.evidence, row.least, row.most) == (None, Evidence.NONE, 0, 2)
    assert (report.exact, report.unanswered, report.most_read_again) == (0, 0, 2)
    (known,) = mirror_answers.report(both.source, both.target, link=LINK).rows
    assert (known.exact, known.evidence, known.least, known.most) == (10, Evidence.MAP, 0, 0)
