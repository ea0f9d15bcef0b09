"""The verbs that move groups, on two simulated clusters and a link whose runs are persisted: what is committed then."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import pytest

from anabranch.groups.baseline import Coverage
from anabranch.groups.plan import GroupsMoved, GroupsPlan, GroupStep
from anabranch.groups.select import GroupSelection, NoSuchGroupError
from anabranch.groups.undo import UndoRecord
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import BrokerRefusedError, ConnectionLostError
from anabranch.kafka.groups import PartitionsRefusedError
from anabranch.kafka.groups import snapshot as grouplook
from anabranch.model.groups import Commit, GroupState
from anabranch.model.plans import PlanChangedError
from anabranch.model.reasons import ReasonKind
from anabranch.model.start import StartPosition
from anabranch.model.topics import TopicPartition
from anabranch.operations.groups import commits
from anabranch.operations.groups import create as creating
from anabranch.operations.groups import sync as syncing
from anabranch.operations.groups import undo as undoing
from anabranch.operations.groups.create import GroupNotMadeError
from anabranch.operations.groups.undo import NoSuchUndoError
from anabranch.state.codecs import topics
from anabranch.state.codecs.positions import encode_undo
from anabranch.state.topics.control import ControlLostError
from anabranch.state.topics.positions import Positions
from qa import groups
from qa.blocking import between
from tests.unit.link_lab import (
    LINK,
    OTHER,
    SOURCE_END,
    TO_A,
    TO_B,
    A,
    B,
    Lab,
    append,
    lab,
)

pytestmark = pytest.mark.unit

HERE = {A: Commit(12, "noted"), B: Commit(30)}
THERE = {TO_A: Commit(2, "noted"), TO_B: Commit(15)}
"""What is committed on the source, and the same on the target."""
NOWHERE = TopicPartition(TO_A.topic, 7)


@pytest.fixture(scope="module")
def both() -> Iterator[Lab]:
    """The clusters, for all tests of this file: each has groups of its own."""
    with lab() as made:
        yield made


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look a second time at once, and wait for no transaction: here nobody commits unless a test does."""
    read = grouplook.read_commits

    async def impatient(cluster: Cluster, names: Iterable[str], *_: float) -> object:
        return await read(cluster, names, 0.0)

    monkeypatch.setattr(grouplook, "SETTLE_S", 0.0)
    monkeypatch.setattr(grouplook, "read_commits", impatient)


def plan(both: Lab, *names: str, **chosen: tuple[str, ...]) -> GroupsPlan:
    """Plan to move groups."""
    return groups.plan_sync(both.source, both.target, LINK, GroupSelection(names, **chosen))


def sync(both: Lab, *names: str, planned: GroupsPlan | None = None, **chosen: tuple[str, ...]) -> GroupsMoved:
    """Move groups, by a plan that was made before or by one that is made now."""
    return groups.sync(both.source, both.target, LINK, GroupSelection(names, **chosen), planned)


def test_a_move_writes_what_was_shown_and_an_undo_gives_back_what_was_there(both: Lab) -> None:
    """Shown, nothing is written; done, position and note are there and the former ones stored; then undone."""
    both.commit(both.source, "shop", HERE)
    both.commit(both.target, "shop", {TO_A: Commit(1, "old")})
    shown = plan(both, "shop")
    assert [one.step for one in shown.groups] == [GroupStep.MOVE]
    assert both.committed(both.target, "shop") == {TO_A: Commit(1, "old")}
    done = sync(both, "shop", planned=shown)
    assert (done.hash, [one.step for one in done.groups]) == (shown.hash, [GroupStep.MOVED])
    assert both.committed(both.target, "shop") == THERE
    (record,) = both.stored().undo[done.undo].values()
    assert (record.existed, record.undone_at_ms) == (True, None)
    assert record.former == {TO_A: Commit(1, "old"), TO_B: None}
    assert record.wrote == THERE
    assert [one.step for one in sync(both, "shop").groups] == [GroupStep.IN_SYNC]
    seen = groups.plan_undo(both.target, done.undo)
    assert (seen.ok, both.committed(both.target, "shop")) == (True, THERE)
    (listed,) = both.on(both.target, undoing.moves)
    assert (listed.id, listed.what, listed.undone) == (done.undo, record.what, ())
    taken = groups.undo(both.target, done.undo)
    (listed,) = both.on(both.target, undoing.moves)
    assert listed.undone == listed.groups
    assert (taken.ok, taken.groups[0].done) == (True, True)
    assert both.committed(both.target, "shop") == {TO_A: Commit(1, "old")}
    again = groups.undo(both.target, done.undo)
    assert [[why.why for why in one.refusals] for one in again.groups] == [[ReasonKind.UNDONE]]
    assert both.committed(both.target, "shop") == {TO_A: Commit(1, "old")}


def test_undoing_takes_away_a_group_that_the_move_made(both: Lab) -> None:
    """It is not there afterwards, as it was not before; one that was there without commits stays."""
    both.commit(both.source, "fresh", HERE)
    done = sync(both, "fresh")
    assert both.stored().undo[done.undo]["fresh"].existed is False
    groups.undo(both.target, done.undo)
    assert both.described(both.target, "fresh").state is GroupState.DEAD
    with pytest.raises(NoSuchUndoError):
        groups.undo(both.target, "20261121-100000-cafe")


def test_a_plan_that_is_no_longer_so_is_not_carried_out(both: Lab) -> None:
    """The group committed on the source since: nothing is written and nothing stored."""
    both.commit(both.source, "late", HERE)
    shown = plan(both, "late")
    both.commit(both.source, "late", {A: Commit(13)})
    with pytest.raises(PlanChangedError) as raised:
        sync(both, "late", planned=shown)
    assert raised.value.hint == "look again: `anabranch groups plan old-new late`"
    assert both.committed(both.target, "late") == {}
    assert not any("late" in records for records in both.stored().undo.values())


def test_a_group_that_somebody_reads_in_is_not_moved(both: Lab) -> None:
    """On either side; and nothing is stored of it."""
    both.commit(both.source, "read", HERE)
    for cluster, why in ((both.here, ReasonKind.MOVING), (both.there, ReasonKind.ACTIVE)):
        with both.reader(cluster, "read"):
            done = sync(both, "read")
        assert [one.step for one in done.groups] == [GroupStep.REFUSED]
        assert [one.why for one in done.groups[0].reasons] == [why]
        assert done.undo == ""
        assert both.committed(both.target, "read") == {}
    assert plan(both, "read").groups[0].step is GroupStep.MOVE


def test_a_group_with_an_open_transaction_is_not_moved(both: Lab) -> None:
    """On the source its position is not decided; on the target the transaction would commit over the move."""
    both.commit(both.source, "open", HERE)
    both.commit(both.target, "open", {TO_A: Commit(1)})
    with both.pending(both.here, "open", A, 20):
        assert [one.why for one in plan(both, "open").groups[0].reasons] == [ReasonKind.MOVING, ReasonKind.NO_COMMITS]
    with both.pending(both.there, "open", TO_A, 9):
        assert [one.why for one in sync(both, "open").groups[0].reasons] == [ReasonKind.ACTIVE]
    assert both.committed(both.target, "open") == {TO_A: Commit(1)}


def test_a_transaction_that_opens_between_the_two_looks_is_seen(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look found commits that were decided; the second one finds that they are not any more."""
    both.commit(both.source, "between", HERE)
    read, looks = grouplook.read_commits, []

    async def opening(cluster: Cluster, names: Iterable[str], *_: float) -> object:
        commits, pending = await read(cluster, names)
        looks.append(cluster.name)
        return commits, {"between": (A,)} if looks.count(both.source.name) > 1 else pending

    monkeypatch.setattr(grouplook, "read_commits", opening)
    done = sync(both, "between")
    assert [one.why for one in done.groups[0].reasons] == [ReasonKind.MOVING]
    assert both.committed(both.target, "between") == {}


def test_who_joins_between_the_two_looks_is_seen(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody read when groups were listed, and nothing is committed yet."""
    both.commit(both.source, "joined", HERE)
    read, reading = grouplook.read_commits, both.reader(both.here, "joined")
    entered: list[object] = []

    async def joining(cluster: Cluster, names: Iterable[str], *_: float) -> object:
        if not entered:
            entered.append(reading.__enter__())
        return await read(cluster, names)

    monkeypatch.setattr(grouplook, "read_commits", joining)
    done = sync(both, "joined")
    reading.__exit__(None, None, None)
    assert [one.why for one in done.groups[0].reasons] == [ReasonKind.MOVING]
    assert both.committed(both.target, "joined") == {}


def test_a_group_moves_wholly_or_not_at_all(both: Lab) -> None:
    """One partition that is not in the link keeps the others back, unless only the topics of the link count."""
    both.commit(both.source, "wide", {**HERE, OTHER: Commit(5)})
    done = sync(both, "wide")
    assert [one.why for one in done.groups[0].reasons] == [ReasonKind.NOT_IN_LINK]
    assert both.committed(both.target, "wide") == {}
    done = sync(both, "wide", topics=("orders",))
    assert (done.left_out, both.committed(both.target, "wide")) == ({"wide": 1}, THERE)


def test_groups_that_are_left_out_or_not_of_the_link_are_not_moved(both: Lab) -> None:
    """Without names those that have committed something in the link are meant; exclude wins."""
    both.commit(both.source, "mine", HERE)
    both.commit(both.source, "left", HERE)
    both.commit(both.source, "private", {OTHER: Commit(5)})
    names = {one.group for one in plan(both, exclude=("left", "wide")).groups}
    assert "mine" in names
    assert not names & {"left", "private", "wide"}
    with pytest.raises(NoSuchGroupError):
        plan(both, "nobody")


def test_the_leader_epoch_of_the_source_is_not_taken_along(both: Lab) -> None:
    """On another cluster it would fence the reader, or have it begin elsewhere."""
    both.commit(both.source, "epoch", HERE)

    def mark(cluster: object) -> None:
        commits = cluster.groups.known["epoch"].commits  # type: ignore[attr-defined]
        for place, one in commits.items():
            commits[place] = one._replace(leader_epoch=7)

    both.here.served.do(mark)
    assert both.committed(both.source, "epoch")[A].leader_epoch == 7
    sync(both, "epoch")
    assert both.committed(both.target, "epoch") == THERE
    both.commit(both.target, "epoch", {TO_A: Commit(3, "", 7)})
    assert both.committed(both.target, "epoch")[TO_A].leader_epoch == -1


def move(both: Lab, *records: UndoRecord) -> dict[str, str]:
    """Write what records say."""

    async def ask(cluster: Cluster) -> dict[str, str]:
        return await commits.move(cluster, Positions(cluster), records)

    return both.on(both.target, ask)


def record(name: str, wrote: Mapping[TopicPartition, Commit], **fields: object) -> UndoRecord:
    """A record of a group that had nothing."""
    given = {"existed": False, "former": dict.fromkeys(wrote), **fields}
    return UndoRecord(f"u-{name}", name, wrote=wrote, made_at_ms=1, what="groups sync old-new", **given)  # type: ignore[arg-type]


def test_a_group_that_a_broker_took_in_part_is_given_back_what_it_had(both: Lab) -> None:
    """The broker leaves out a partition that is not there and commits the rest: the rest is undone, and noted so."""
    both.commit(both.target, "part", {TO_A: Commit(3)})
    failed = move(
        both,
        record("part", {TO_A: Commit(5), NOWHERE: Commit(1)}, existed=True, former={TO_A: Commit(3), NOWHERE: None}),
        record("whole", {TO_A: Commit(5)}),
    )
    assert list(failed) == ["part"]
    assert "it was undone" in failed["part"]
    assert both.committed(both.target, "part") == {TO_A: Commit(3)}
    assert both.committed(both.target, "whole") == {TO_A: Commit(5)}
    stored = both.stored().undo
    assert stored["u-part"]["part"].undone_at_ms is not None
    assert stored["u-whole"]["whole"].undone_at_ms is None


def test_a_commit_names_the_partitions_that_were_refused(both: Lab) -> None:
    """A broker answers each partition with its own code; the others were done."""
    with pytest.raises(PartitionsRefusedError) as caught:
        both.commit(both.target, "some", {TO_A: Commit(5), NOWHERE: Commit(1)})
    assert (dict(caught.value.refused), caught.value.done) == ({NOWHERE: 3}, (TO_A,))


def test_nothing_is_written_where_the_undo_record_cannot_be_stored(both: Lab) -> None:
    """A move without a record could not be taken back."""

    class Lost(Positions):
        async def put_undo(self, records: Iterable[UndoRecord]) -> None:
            raise ControlLostError

    async def ask(cluster: Cluster) -> None:
        await commits.move(cluster, Lost(cluster), [record("lost", {TO_A: Commit(5)})])

    with pytest.raises(ControlLostError):
        both.on(both.target, ask)
    assert both.committed(both.target, "lost") == {}


def test_a_move_that_does_not_read_back_is_no_move(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that acknowledged and lost a commit: the group is told as failed, and the rest of it undone."""
    real = commits.kafka_groups.commit

    async def loses(cluster: Cluster, group: str, commits: Mapping[TopicPartition, Commit]) -> None:
        await real(cluster, group, {at: one for at, one in commits.items() if at != TO_B})

    with monkeypatch.context() as patch:
        patch.setattr(commits.kafka_groups, "commit", loses)
        failed = move(both, record("lossy", {TO_A: Commit(5), TO_B: Commit(6)}))
    assert "reads back otherwise" in failed["lossy"]
    assert both.described(both.target, "lossy").state is GroupState.DEAD


def test_a_move_that_fails_leaves_what_another_at_the_same_time_has_moved(
    both: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have read the same: one writes and says so, the other's connection is lost before it writes anything."""
    both.commit(both.source, "twice", HERE)
    both.commit(both.target, "twice", {TO_A: Commit(1)})
    done: list[GroupsMoved] = []

    async def at_once(here: Cluster, there: Cluster) -> None:
        shown = await syncing.plan(here, there, LINK, GroupSelection(("twice",)))
        real = commits._commit

        async def lost(*_: object) -> None:
            monkeypatch.setattr(commits, "_commit", real)
            done.append(await syncing.apply(here, there, shown))
            raise ConnectionLostError("new", "1", "gone")

        monkeypatch.setattr(commits, "_commit", lost)
        done.append(await syncing.apply(here, there, shown))

    between(both.source, both.target, at_once)
    first, second = done
    assert [one.step for one in first.groups] == [GroupStep.MOVED]
    assert [one.step for one in second.groups] == [GroupStep.FAILED]
    assert f"what {first.undo} wrote too at the same time was left" in second.groups[0].failure
    assert both.committed(both.target, "twice") == THERE
    assert groups.undo(both.target, first.undo).ok
    assert both.committed(both.target, "twice") == {TO_A: Commit(1)}


def test_of_a_move_that_fails_the_rest_is_undone_where_another_wrote_a_part(both: Lab) -> None:
    """Only where that began at the same commit, wrote the same and was not undone."""
    both.commit(both.target, "shared", {TO_A: Commit(3), TO_B: Commit(4)})
    former = {TO_A: Commit(3), TO_B: Commit(4), NOWHERE: None}
    mine = record("shared", {TO_A: Commit(5), TO_B: Commit(6), NOWHERE: Commit(1)}, existed=True, former=former)
    given = replace(mine, id="u-other", wrote={TO_A: Commit(5)}, former={TO_A: Commit(3)})
    undone = replace(mine, id="u-undone", undone_at_ms=7)
    later = replace(mine, id="u-later", wrote={TO_B: Commit(6)}, former={TO_B: Commit(5)})
    both.on(both.target, lambda cluster: Positions(cluster).put_undo([given, undone, later]))
    failed = move(both, mine)
    assert "what u-other wrote too" in failed["shared"]
    assert both.committed(both.target, "shared") == {TO_A: Commit(5), TO_B: Commit(4)}
    assert both.stored().undo["u-shared"]["shared"].undone_at_ms is None


def test_an_undo_that_does_not_read_back_is_refused(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The group counts as undone only when it stands as it stood."""
    both.commit(both.target, "stuck", {TO_A: Commit(1)})
    move(both, record("stuck", {TO_A: Commit(5)}, existed=True, former={TO_A: Commit(1)}))

    async def loses(*_: object) -> None:
        """Acknowledge, and do nothing."""

    with monkeypatch.context() as patch:
        patch.setattr(commits.kafka_groups, "commit", loses)
        found = groups.undo(both.target, "u-stuck")
    assert (found.groups[0].done, [one.why for one in found.groups[0].refusals]) == (False, [ReasonKind.UNAVAILABLE])
    assert both.stored().undo["u-stuck"]["stuck"].undone_at_ms is None
    assert groups.undo(both.target, "u-stuck").groups[0].done
    assert both.committed(both.target, "stuck") == {TO_A: Commit(1)}


def test_a_group_that_moved_since_is_not_undone(both: Lab) -> None:
    """Neither one that was read in since, nor one that is read in now; the others of that plan are."""
    move(both, *(record(name, {TO_A: Commit(5)}) for name in ("went", "reads")))
    both.commit(both.target, "went", {TO_A: Commit(9)})
    for name in ("went", "reads"):
        with both.reader(both.there, name) if name == "reads" else both.pending(both.here, "none", A, 1):
            found = groups.undo(both.target, f"u-{name}")
        assert (found.ok, found.groups[0].done) == (False, False)
    assert both.committed(both.target, "went") == {TO_A: Commit(9)}
    assert both.committed(both.target, "reads") == {TO_A: Commit(5)}


def test_marks_are_stored_with_what_the_link_holds(both: Lab) -> None:
    """A group before the link's begin would lose records; one at its begin would not."""
    both.commit(both.source, "begins", {A: Commit(10)})
    both.commit(both.source, "before", {A: Commit(9), B: Commit(12)})
    report = groups.baseline(both.source, both.target, LINK, GroupSelection(("begins", "before")))
    assert (report.ok, report.stored) == (False, True)
    found = both.stored().baselines[LINK]
    assert (found["begins"].coverage, found["before"].coverage) == (Coverage.COVERED, Coverage.BEFORE)
    assert [one.lost() for one in found["before"].partitions] == [1, 0]
    assert {one.group: one.baseline for one in groups.list_groups(both.source, both.target, LINK).groups}["before"] is (
        Coverage.BEFORE
    )


def test_groups_are_listed_and_shown_as_they_stand_on_both_sides(both: Lab) -> None:
    """How many of its partitions the link copies, and what a move would do now."""
    both.commit(both.source, "listed", {**HERE, OTHER: Commit(5)})
    rows = {one.group: one for one in groups.list_groups(both.source, both.target, LINK).groups}
    assert (rows["listed"].in_link, rows["listed"].outside) == (2, 1)
    assert (rows["listed"].state, rows["listed"].target_state) == (GroupState.EMPTY, GroupState.DEAD)
    both.commit(both.target, "listed", {TO_A: Commit(1)})
    shown = groups.show(both.source, both.target, LINK, "listed")
    assert (shown.plan.step, [one.why for one in shown.plan.reasons]) == (GroupStep.REFUSED, [ReasonKind.NOT_IN_LINK])
    assert shown.target is not None
    assert shown.target.commits == {TO_A: Commit(1)}
    with pytest.raises(NoSuchGroupError):
        groups.show(both.source, both.target, LINK, "nobody")


def test_a_subscription_begins_only_where_nothing_is_committed(both: Lab) -> None:
    """Shown first, then made with an undo record that takes the group away again; what exists is never touched."""
    start = StartPosition.parse("old.orders-0:4,old.orders-1:6")
    shown = groups.plan_create(both.target, "made", [TO_A.topic], start)
    assert (shown.ok, both.committed(both.target, "made")) == (True, {})
    done = groups.create(both.target, "made", [TO_A.topic], start)
    assert both.committed(both.target, "made") == {TO_A: Commit(4), TO_B: Commit(6)}
    other = StartPosition.parse("earliest")
    again = groups.plan_create(both.target, "made", [TO_A.topic], other)
    assert [one.why for one in again.refusals] == [ReasonKind.EXISTS, ReasonKind.EXISTS]
    with pytest.raises(GroupNotMadeError, match=r"has committed 4 for old\.orders-0 already"):
        groups.create(both.target, "made", [TO_A.topic], other)
    assert both.committed(both.target, "made") == {TO_A: Commit(4), TO_B: Commit(6)}
    assert groups.undo(both.target, done.undo).groups[0].done
    assert both.described(both.target, "made").state is GroupState.DEAD
    with both.reader(both.there, "made"):
        read = groups.plan_create(both.target, "made", [TO_A.topic], start)
        assert [one.why for one in read.refusals] == [ReasonKind.ACTIVE]
        with pytest.raises(GroupNotMadeError):
            groups.create(both.target, "made", [TO_A.topic], start)


def test_a_subscription_is_begun_as_it_was_shown(both: Lab) -> None:
    """Where somebody else has begun it since, nothing is written; the log's end may have moved."""
    shown = groups.plan_create(both.target, "begun", [TO_A.topic], StartPosition.parse("latest"))
    both.commit(both.target, "begun", {TO_A: Commit(1)})
    with pytest.raises(PlanChangedError):
        both.on(both.target, lambda cluster: creating.apply(cluster, shown))
    assert both.committed(both.target, "begun") == {TO_A: Commit(1)}
    shown = groups.plan_create(both.target, "later", [TO_A.topic], StartPosition.parse("latest"))
    both.on(both.target, lambda cluster: append(cluster, TO_B, 1))
    done = both.on(both.target, lambda cluster: creating.apply(cluster, shown))
    assert done.begins == {TO_A: Commit(15), TO_B: Commit(16)}


def test_an_undo_is_carried_out_as_it_was_shown(both: Lab) -> None:
    """Where a group could be undone then and cannot be now, nothing is done before somebody has looked."""
    move(both, record("seen", {TO_A: Commit(5)}))
    shown = groups.plan_undo(both.target, "u-seen")
    both.commit(both.target, "seen", {TO_A: Commit(9)})
    with pytest.raises(PlanChangedError):
        both.on(both.target, lambda cluster: undoing.apply(cluster, shown))
    assert both.committed(both.target, "seen") == {TO_A: Commit(9)}


def test_a_subscription_that_was_not_made_is_an_error(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster took nothing of it: nobody is told that it was begun."""

    async def loses(*_: object) -> None:
        """Acknowledge, and do nothing."""

    monkeypatch.setattr(commits.kafka_groups, "commit", loses)
    with pytest.raises(GroupNotMadeError):
        groups.create(both.target, "unmade", [TO_A.topic], StartPosition.parse("earliest"))
    assert both.described(both.target, "unmade").state is GroupState.DEAD


def test_a_group_at_the_source_end_moves_to_the_target_end(both: Lab) -> None:
    """The map ends where both logs end, and nothing is left to read."""
    both.commit(both.source, "ends", {A: Commit(SOURCE_END)})
    done = sync(both, "ends")
    assert [one.lag for one in done.groups[0].moves] == [0]
    assert both.committed(both.target, "ends") == {TO_A: Commit(15)}


def undo_of(group: str, partitions: int, metadata: str = "") -> UndoRecord:
    """What is stored of a group before it is moved, in so many partitions."""
    places = [TopicPartition(f"a-topic-of-usual-length-{number // 50}", number % 50) for number in range(partitions)]
    wrote = {place: Commit(123_456_789_012, metadata) for place in places}
    former = {place: Commit(987_654_321_098, metadata) for place in places}
    if metadata:  # no two alike: what is alike is compressed
        chance = random.Random(1)
        former = {place: Commit(1, chance.randbytes(1500).hex()) for place in places}
    return UndoRecord("20261121-100000-cafe", group, True, former, wrote, 1, "sync")


def test_an_undo_record_of_five_thousand_partitions_fits_and_a_larger_one_moves_nothing(both: Lab) -> None:
    """The broker refuses it, and neither that group nor the one beside it is moved."""
    limit = int(topics.configs(1)["max.message.bytes"])
    assert limit * 0.75 < len(encode_undo(undo_of("large", 5_000))) < limit
    beside = UndoRecord("20261121-100000-cafe", "beside", False, {TO_A: None}, {TO_A: Commit(2)}, 1, "sync")

    large = undo_of("noted", 900, "m")

    async def move(cluster: Cluster) -> None:
        await commits.move(cluster, Positions(cluster), [beside, large])

    with pytest.raises(BrokerRefusedError, match=r"TOO_LARGE"):
        both.on(both.target, move)
    for name in ("beside", large.group):
        assert both.committed(both.target, name) == {}


def test_a_move_of_weeks_ago_keeps_a_failed_one_from_being_undone_no_more(both: Lab) -> None:
    """The group was put back by other means since: of what is refused in part nothing stays."""

    def move(record: UndoRecord) -> object:
        async def ask(cluster: Cluster) -> object:
            return await commits.move(cluster, Positions(cluster), [record])

        return both.on(both.target, ask)

    weeks = 3 * 7 * 86_400_000
    both.commit(both.target, "again", {TO_A: Commit(1)})
    old = UndoRecord("20261101-000000-aaaa", "again", True, {TO_A: Commit(1)}, {TO_A: Commit(5)}, weeks, "sync")
    assert move(old) == {}
    both.commit(both.target, "again", {TO_A: Commit(1)})
    wrote = {TO_A: Commit(5), NOWHERE: Commit(1)}
    new = replace(old, id="20261122-000000-bbbb", former={TO_A: Commit(1), NOWHERE: None}, wrote=wrote)
    assert list(move(replace(new, made_at_ms=2 * weeks))) == ["again"]  # type: ignore[call-overload]
    assert both.committed(both.target, "again") == {TO_A: Commit(1)}
