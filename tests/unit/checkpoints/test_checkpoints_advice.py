"""What is advised in the situations that people are in, and what holds whatever is seen."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import pytest
from advice_samples import (
    EXPIRED,
    NOT_COPIED,
    UID,
    A,
    B,
    attempt,
    facts,
    group,
    page,
    position,
    unrouted,
)
from hypothesis import given
from hypothesis import strategies as st

from anabranch.checkpoints.advice import (
    Advice,
    ConditionStatus,
    Effect,
    Facts,
    LaneFacts,
    LogFacts,
    ResumeOffsets,
    TargetFacts,
    Way,
    WayKind,
    advise,
)
from anabranch.checkpoints.advice.effects import UNKNOWN
from anabranch.checkpoints.advice.ranking import rank
from anabranch.checkpoints.job import CheckpointFormat, OperatorPage, SourcePage
from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset
from anabranch.checkpoints.route import TranslatedPosition
from anabranch.model.lane import LaneMode
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition
from anabranch.operations.checkpoints.advise import exact_positions

pytestmark = pytest.mark.unit


def way(advice: Advice, kind: WayKind) -> Way:
    """One of the ways."""
    return next(one for one in advice.ways if one.kind is kind)


def commands(one: Way) -> list[str]:
    """The steps that are typed."""
    return [step.command for step in one.steps if step.command]


def test_equal_offsets_need_no_rewrite() -> None:
    """Identity lanes whose positions are equal on both sides come first."""
    advice = advise(facts(shift=0))
    assert advice.best is not None
    assert advice.best.kind is WayKind.IDENTITY
    assert advice.unmodified_restart.exact


def test_equal_offsets_stay_so_only_where_every_partition_has_a_lane() -> None:
    """What no lane copies yet is equal by chance, and is asked about."""
    known = facts(shift=0)

    def lanes(of: Facts) -> ConditionStatus:
        (found,) = (
            one for one in way(advise(of), WayKind.IDENTITY).conditions if one.what == "every lane keeps offsets"
        )
        return found.status

    assert lanes(known) is ConditionStatus.MET
    assert lanes(replace(known, lanes={A: known.lanes[A]})) is ConditionStatus.UNKNOWN


def test_a_partition_of_which_nothing_was_read_is_equal_everywhere() -> None:
    """``earliest`` is looked up anew on either cluster, so that it does not speak against equal offsets."""
    known = facts(shift=0)
    empty = replace(known.positions[1], offset=SymbolicOffset.EARLIEST)
    answers = {known.positions[0]: known.answers[known.positions[0]], empty: TranslatedPosition(B, 0)}
    advice = advise(replace(known, positions=(known.positions[0], empty), answers=answers))
    assert advice.best is not None
    assert advice.best.kind is WayKind.IDENTITY
    assert any("310 records" in text for text in advice.seen), advice.seen


@pytest.mark.parametrize("form", list(CheckpointFormat))
def test_shifted_offsets_are_rewritten(form: CheckpointFormat) -> None:
    """Where offsets differ the checkpoint is rewritten, and what only new servers would do is counted."""
    advice = advise(facts(form))
    assert advice.best is not None
    assert advice.best.kind is WayKind.REWRITE
    assert (advice.unmodified_restart.repeated, advice.unmodified_restart.lost) == (10, 0)
    failed = way(advice, WayKind.IDENTITY)
    assert not failed.possible
    assert "orders-0 at 100 is orders-0 at 105 on the target; 2 of 2 positions differ" in failed.conditions[0].why


def test_what_passes_is_not_a_failure() -> None:
    """A link that is still behind makes the rewrite wait, with the reason, and nothing else."""
    known = facts(attempts=(attempt((), NOT_COPIED),))
    rewritten = way(advise(known), WayKind.REWRITE)
    assert rewritten.possible
    assert rewritten.conditions[0].status is ConditionStatus.LATER
    assert "copied up to 90" in rewritten.conditions[0].why


def test_what_cannot_be_rewritten_is_not_advised() -> None:
    """Records that the target lost speak against the rewrite, and the way comes after all that are possible."""
    known = facts(attempts=(attempt((), EXPIRED, EXPIRED),))
    advice = advise(known)
    rewritten = way(advice, WayKind.REWRITE)
    assert not rewritten.possible
    assert "(and 1 more)" in rewritten.conditions[0].why
    assert advice.best is not None
    assert advice.best.kind is not WayKind.REWRITE


def test_the_attempt_that_works_is_the_one_that_is_shown() -> None:
    """An uncommitted batch that can be translated is: the flag is in every command."""
    refused = attempt((), Reason(ReasonKind.UNCOMMITTED, "batch 8 was not committed"))
    works = attempt(flags=("--uncommitted", "translate"))
    known = facts(
        CheckpointFormat.SPARK, attempts=(refused, works), page=page(CheckpointFormat.SPARK, "0", uncommitted=8)
    )
    rewritten = way(advise(known), WayKind.REWRITE)
    assert [one.status for one in rewritten.conditions] == [ConditionStatus.MET]
    planned = [line for line in commands(rewritten) if "checkpoint plan" in line or "checkpoint rewrite" in line]
    assert len(planned) == 2
    assert all("--uncommitted translate" in line for line in planned)


def test_transactions_are_discarded_only_with_a_question() -> None:
    """A rewrite that throws pending transactions away asks whether they were committed."""
    pending = Reason(ReasonKind.PENDING_TRANSACTIONS, "sink counts has 2 pending transactions")
    known = facts(attempts=(attempt((), pending), attempt(flags=("--transactions", "discard"))))
    rewritten = way(advise(known), WayKind.REWRITE)
    assert [one.status for one in rewritten.conditions] == [ConditionStatus.MET, ConditionStatus.UNKNOWN]
    assert "2 pending transactions" in rewritten.conditions[1].why


def test_commits_are_held_against_the_savepoint() -> None:
    """What the group's own commits would repeat and lose is counted on the target."""
    known = facts(group=group(90, 203), uids=True, sql=False)
    fresh = way(advise(known), WayKind.NEW_UID)
    assert fresh.effect.exact
    assert "10 records would be read again and 3 never" in fresh.notes[0]
    unknown = facts(group=group(90, 203), uids=True, sql=False, answers={}, attempts=())
    measured = way(advise(unknown), WayKind.NEW_UID).effect
    assert (measured.repeated, measured.lost) == (10, 3)


def test_commits_on_the_target_count_before_the_old_ones() -> None:
    """Where the group stands on the target already, that is where the job would go on."""
    there = replace(group(100, 200), target_commits={A: 101, B: 215})
    found = way(advise(facts(group=there)), WayKind.NEW_UID)
    assert "4 records would be read again and 10 never" in found.notes[0]


@pytest.mark.parametrize(
    ("sql", "uids", "standing"),
    [(True, True, ConditionStatus.UNMET), (False, False, ConditionStatus.UNMET), (None, None, None)],
)
def test_uids_are_for_jobs_that_have_them(
    sql: bool | None, uids: bool | None, standing: ConditionStatus | None
) -> None:
    """A new uid is no way for SQL, nor where operators have none; dropping the source is one for both."""
    advice = advise(facts(sql=sql, uids=uids))
    fresh = way(advice, WayKind.NEW_UID)
    assert fresh.possible is (standing is None)
    assert way(advice, WayKind.DROP_SOURCE).possible


def test_the_old_consumer_gets_no_new_uid() -> None:
    """A FlinkKafkaConsumer without state reads everything again in a restored job: a new uid is no way for it."""
    known = facts(sql=False, uids=True, page=page(kind="kafka (old consumer)"))
    found = way(advise(known), WayKind.NEW_UID)
    assert not found.possible
    assert "reads them from their start" in found.conditions[2].why


def test_the_old_consumer_is_not_stopped_with_a_savepoint() -> None:
    """One so taken lacks its positions: it is taken while the job runs, or a retained checkpoint is."""
    steps = way(advise(facts(page=page(kind="kafka (old consumer)"))), WayKind.REWRITE).steps
    assert steps[0].command.startswith("flink savepoint ") and "retained checkpoint" in steps[0].what
    assert way(advise(facts()), WayKind.REWRITE).steps[0].command.startswith("flink stop ")


def test_one_group_cannot_stand_at_two_places() -> None:
    """Two sources that read a partition at different offsets cannot share a group."""
    at = (position(A, 100), position(A, 120, "other"))
    answers = {one: TranslatedPosition(A, int(str(one.offset)) + 5) for one in at}
    found = way(advise(facts(positions=at, answers=answers)), WayKind.DROP_SOURCE)
    assert not found.possible
    assert "read orders-0 at 100 and 120" in found.conditions[-1].why


def test_renamed_topics_are_counted_from_their_beginning() -> None:
    """A job that takes topics for new ones reads all that they hold before its positions again."""
    found = way(advise(facts(topic="old.orders")), WayKind.RENAMED_TOPIC)
    assert found.possible
    assert (found.effect.repeated, found.effect.lost) == (100 + 205, 0)
    assert not way(advise(facts()), WayKind.RENAMED_TOPIC).possible


def test_producers_do_not_write_among_copied_records() -> None:
    """Producers cannot go first where a link copies into the topics or copied records lie in them."""
    copied = way(advise(facts()), WayKind.PRODUCERS_FIRST)
    assert not copied.possible
    assert "old-new copies into orders" in copied.conditions[0].why
    full = way(advise(facts(lanes={})), WayKind.PRODUCERS_FIRST)
    assert "they hold 415 records" in full.conditions[0].why
    empty = way(advise(facts(lanes={}, new={A: LogFacts(0, 0), B: LogFacts(0, 0)})), WayKind.PRODUCERS_FIRST)
    assert empty.possible


def test_draining_takes_the_lag_by_the_rate() -> None:
    """110 records that are not read take 11 s at ten a second, which is too long for ten."""
    known = facts(lanes={}, new={A: LogFacts(0, 0), B: LogFacts(0, 0)}, group=group(100, 200, 10.0))
    found = way(advise(replace(known, downtime_s=10)), WayKind.PRODUCERS_FIRST)
    assert found.waits_s == 11
    assert not found.possible
    assert way(advise(replace(known, downtime_s=12)), WayKind.PRODUCERS_FIRST).possible


def test_a_start_position_gives_up_what_was_not_read() -> None:
    """It does not follow from where the job stands: its lag is lost, unless the job has drained the old cluster."""
    flags = ("--start", "earliest", "--target", "new")
    empty = {A: LogFacts(0, 0), B: LogFacts(0, 0)}
    answers = {one: TranslatedPosition(one.partition, 0) for one in facts().positions}
    known = facts(flags=flags, lanes={}, new=empty, answers=answers)
    found = way(advise(known), WayKind.REWRITE)
    assert (found.effect.repeated, found.effect.lost) == (0, 110)
    best = advise(known).best
    assert best is not None
    assert best.kind is WayKind.PRODUCERS_FIRST
    drained = replace(known, old={A: LogFacts(0, 100), B: LogFacts(0, 200)})
    best = advise(drained).best
    assert best is not None
    assert best.kind is WayKind.REWRITE


def test_given_offsets_are_asked_about() -> None:
    """Nobody here has translated them."""
    found = way(advise(facts(flags=("--offsets", "f.json", "--target", "new"))), WayKind.REWRITE)
    assert found.count(ConditionStatus.UNKNOWN) == 1


def test_a_dynamic_source_is_needed_for_two_clusters() -> None:
    """Reading both clusters is for jobs with a DynamicKafkaSource; for others the reason is named."""
    empty = {A: LogFacts(0, 0), B: LogFacts(0, 0)}
    plain = way(advise(facts(lanes={}, new=empty)), WayKind.DYNAMIC)
    assert not plain.possible
    assert f"{UID}: kafka; its state is not taken over" in plain.conditions[0].why
    both = facts(lanes={}, new=empty, page=page(kind="dynamic kafka"))
    assert way(advise(both), WayKind.DYNAMIC).possible


def test_named_sources_get_their_exact_offsets() -> None:
    """Names of sources, and only names, make a way without a rewrite; the offsets are in its step."""
    at = tuple(replace(one, source="flights") for one in facts(CheckpointFormat.SPARK).positions)
    answers = {one: TranslatedPosition(one.partition, int(str(one.offset)) + 5) for one in at}
    known = facts(CheckpointFormat.SPARK, positions=at, answers=answers, page=page(CheckpointFormat.SPARK, "flights"))
    found = way(advise(known), WayKind.NAMED_SOURCES)
    assert found.possible
    text = next(step.what for step in found.steps if "startingOffsets=" in step.what)
    assert json.loads(text.split("startingOffsets=")[1]) == {"orders": {"0": 105, "1": 205}}
    assert "has a number" in way(advise(facts(CheckpointFormat.SPARK)), WayKind.NAMED_SOURCES).conditions[0].why


def test_state_is_not_thrown_away() -> None:
    """Beginning anew is a way only for jobs that keep nothing."""
    assert not way(advise(facts()), WayKind.START_AGAIN).possible
    stateless = facts(page=page(operators=()))
    assert way(advise(stateless), WayKind.START_AGAIN).possible


def test_links_to_several_clusters_are_told_apart() -> None:
    """Each has its addresses, its file of offsets and its group; producers cannot be followed by one start position."""
    flags = ("--link", "one@west", "--link", "two@east", "--source", UID)
    clusters = (
        TargetFacts("west", ("w:9092",), ("one@west", "one"), ("orders",), ("eu.orders",)),
        TargetFacts("east", ("e:9092",), ("two@east", "two"), ("bills",), ("bills",)),
    )
    advice = advise(replace(facts(), flags=flags, clusters=clusters))
    dropped = "\n".join(commands(way(advice, WayKind.DROP_SOURCE)))
    assert "advise /save/1 --link one@west --source" in dropped and "--stay bills --out positions-west.json" in dropped
    assert "--stay orders --out positions-east.json" in dropped
    assert "--topic eu.orders --start @positions-west.json --target west --execute" in dropped
    assert "--topic bills --start @positions-east.json --target east --execute" in dropped
    start = way(advice, WayKind.REWRITE).steps[-1].what
    assert "w:9092 for eu.orders; e:9092 for bills" in start
    assert not way(advice, WayKind.PRODUCERS_FIRST).possible


def test_a_source_whose_positions_are_not_known_leaves_no_way() -> None:
    """Nothing is claimed of a job that the checkpoint does not tell of: not its lag, not that it repeats nothing."""
    lost = Reason(ReasonKind.UNKNOWN, "no position is stored", "begin from a retained checkpoint", "orders-source")
    advice = advise(facts(positions=(), answers={}, unread=(lost,), page=page(kind="kafka (old consumer)")))
    assert advice.best is None
    for one in advice.ways:
        assert (one.conditions[0].why, one.conditions[0].fix) == (lost.what, lost.fix)
        assert (one.effect.repeated, one.effect.lost) == (None, None)
    assert "orders-source: no position is stored" in advice.seen[0]
    assert not any("lie behind the checkpoint" in line for line in advice.seen)


def test_without_a_route_the_route_is_asked_for() -> None:
    """Nothing is claimed of positions that nobody translated."""
    advice = advise(unrouted(facts()))
    assert advice.unmodified_restart.repeated is None
    assert advice.best is not None
    assert "--link" in way(advice, WayKind.REWRITE).conditions[0].fix


def renamed_of(known: Facts) -> tuple[ConditionStatus, str, Effect]:
    """Whether its topics have other names, as the way by these says, and what that way does."""
    one = way(advise(known), WayKind.RENAMED_TOPIC)
    (told,) = (each for each in one.conditions if each.what == "the topics have other names on the target")
    return told.status, told.why, one.effect


def test_whether_topics_are_renamed_is_told_by_the_route_alone() -> None:
    """Without one it is not known, and nothing is told of what would be read again."""
    assert renamed_of(unrouted(facts()))[:2] == (ConditionStatus.UNKNOWN, "no route was given")
    assert renamed_of(facts())[:2] == (ConditionStatus.UNMET, "orders keeps its name")
    assert renamed_of(facts(topic="b.orders"))[:2] == (ConditionStatus.MET, "b.orders")


def test_what_a_renamed_topic_has_read_again_needs_exact_positions() -> None:
    """What lies before them on the target, where all are known; else why nothing is told."""
    assert renamed_of(unrouted(facts()))[2] == UNKNOWN
    known = facts(topic="b.orders")
    assert renamed_of(known)[2] == Effect(305, 0, "what the target topics hold before the positions")
    some = {**known.answers, known.positions[0]: NOT_COPIED}
    told = Effect(None, None, "the positions on the target are not all exact")
    assert renamed_of(replace(known, answers=some))[2] == told
    unseen = replace(known, new={one: log for one, log in known.new.items() if one.partition == 0})
    assert renamed_of(unseen)[2] == Effect(None, 0, "b.orders-1 was not looked at on the target")


def test_commands_can_be_typed() -> None:
    """Names that a shell would take apart are quoted."""
    known = replace(facts(), path="/save/my job")
    lines = [line for one in advise(known).ways for line in commands(one)]
    assert any("/save/my job" in shlex.split(line) for line in lines)
    assert not any(word == "job" for line in lines for word in shlex.split(line))


def test_partitions_that_stay_are_left_alone() -> None:
    """A topic that stays on the old cluster makes no difference between offsets."""
    known = facts(shift=0)
    other = position(TopicPartition("stays", 0), 7)
    advice = advise(replace(known, positions=(*known.positions, other), answers={**known.answers, other: None}))
    assert advice.best is not None
    assert advice.best.kind is WayKind.IDENTITY


_ANSWERS = st.one_of(
    st.builds(
        TranslatedPosition,
        st.builds(TopicPartition, st.sampled_from(["orders", "old.orders"]), st.integers(0, 2)),
        st.none() | st.integers(0, 300),
        st.none() | st.integers(0, 50),
        st.none() | st.integers(0, 50),
    ),
    st.builds(Reason, st.sampled_from(ReasonKind), st.just("a reason")),
    st.none(),
)
_LOGS = st.builds(
    lambda start, more, rate: LogFacts(start, start + more, rate),
    st.integers(0, 99),
    st.integers(0, 99),
    st.none() | st.floats(0, 1e6),
)


_SMALL = st.integers(0, 9)


@st.composite
def situations(draw: st.DrawFn) -> Facts:
    """Whatever may be seen of a job, sense or none."""
    form = draw(st.sampled_from(CheckpointFormat))
    source = draw(st.sampled_from([UID, "0", "flights"]))
    at = tuple(
        position(TopicPartition("orders", number), draw(st.integers(0, 300)), source)
        for number in range(draw(st.integers(0, 3)))
    )
    rewrites = st.lists(st.builds(Reason, st.sampled_from(ReasonKind), st.just("a reason")), max_size=2)
    return Facts(
        "/save/1",
        page(
            form,
            source,
            draw(st.sampled_from(["kafka", "kafka (old consumer)", "dynamic kafka"])),
            uncommitted=draw(st.none() | st.just(8)),
            operators=draw(st.sampled_from([(), (OperatorPage("1", "count", "aggregation", 1, None),)])),
            sources=(SourcePage(source, "flights", draw(st.sampled_from(["kafka", "dynamic kafka"])), ()),),
        ),
        at,
        draw(st.sampled_from([(), ("--link", "old-new", "--target", "new"), ("--start", "earliest")])),
        answers={one: draw(_ANSWERS) for one in at if draw(st.booleans())},
        attempts=tuple(attempt((), *draw(rewrites)) for _ in range(draw(st.integers(0, 2)))),
        drop=draw(st.none() | st.just(attempt(flags=("--drop-source", source)))),
        lanes={
            one.partition: LaneFacts(
                "old-new", one.partition, draw(st.sampled_from(LaneMode)), "", draw(st.integers(0, 9)), 1.0
            )
            for one in at
            if draw(st.booleans())
        },
        old={one.partition: draw(_LOGS) for one in at if draw(st.booleans())},
        new={one.partition: draw(_LOGS) for one in at if draw(st.booleans())},
        group=draw(st.none() | st.builds(group, st.integers(0, 300), st.integers(0, 300), st.none() | st.just(5.0))),
        uids=draw(st.none() | st.booleans()),
        sql=draw(st.none() | st.booleans()),
        downtime_s=draw(st.none() | st.floats(0, 100)),
    )


@given(situations())
def test_advice_is_a_total_order(known: Facts) -> None:
    """Equal facts give equal advice; every way of the engine is there once; no two rank alike."""
    advice = advise(known)
    assert advice == advise(known)
    kinds = [one.kind for one in advice.ways]
    assert len(set(kinds)) == len(kinds) >= 6
    ranks = [rank(one) for one in advice.ways]
    assert ranks == sorted(set(ranks))


@given(situations())
def test_a_failed_condition_never_comes_first(known: Facts) -> None:
    """Ways with a failed condition stand behind all without one, each with a reason, and are never the best."""
    advice = advise(known)
    possible = [one.possible for one in advice.ways]
    assert possible == sorted(possible, reverse=True)
    assert advice.best is None or advice.best.possible
    for one in advice.ways:
        assert all(condition.why for condition in one.conditions if condition.status is ConditionStatus.UNMET)
        assert one.steps


@given(situations())
def test_an_exact_way_comes_before_one_that_harms(known: Facts) -> None:
    """Among ways that are possible none that repeats or loses stands before one that does neither."""
    exact = [one.effect.exact for one in advise(known).ways if one.possible]
    assert exact == sorted(exact, reverse=True)


@given(situations())
def test_numbers_are_never_negative(known: Facts) -> None:
    """What is repeated, lost, or waited for is counted from 0."""
    advice = advise(known)
    for effect in (advice.unmodified_restart, *(one.effect for one in advice.ways)):
        assert effect.repeated is None or effect.repeated >= 0
        assert effect.lost is None or effect.lost >= 0
    assert all(one.waits_s is None or one.waits_s >= 0 for one in advice.ways)


def test_two_positions_in_one_place_are_not_exact() -> None:
    """Neither of them is told where two of the job's positions lead to one partition at two offsets."""
    to = TopicPartition("all", 0)
    one, other = position(A, 100), position(B, 200)
    found = exact_positions({one: TranslatedPosition(to, 5), other: TranslatedPosition(to, 6)})
    assert isinstance(found, Reason) and found.why is ReasonKind.COLLISION
    assert exact_positions({one: TranslatedPosition(to, 5), other: TranslatedPosition(to, 5)}) == ResumeOffsets({to: 5})


def test_partitions_that_nobody_has_read_are_told_or_begin_where_the_route_says() -> None:
    """None is left out of where the job goes on without a word."""
    to, other = TopicPartition("all", 0), TopicPartition("all", 1)
    waiting = Position("source", B, None, OffsetRole.UNASSIGNED, "enumerator")
    read = {position(A, 100): TranslatedPosition(to, 5)}
    assert exact_positions({**read, waiting: TranslatedPosition(other, None)}) == ResumeOffsets({to: 5}, (other,))
    assert exact_positions({**read, waiting: TranslatedPosition(other, 9)}) == ResumeOffsets({to: 5, other: 9})
    away = Reason(ReasonKind.NOT_IN_LINK, "not in it")
    assert exact_positions({**read, waiting: away}) == away
