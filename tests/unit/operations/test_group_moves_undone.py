"""A group's move that a cluster took in part, or not at all: its former commits are restored at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from anabranch.errors import AnabranchError
from anabranch.groups.undo import UndoRecord, undo
from anabranch.kafka.admin import create_topic, delete_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import ConnectionLostError
from anabranch.kafka.settling import until_led
from anabranch.model.groups import Commit
from anabranch.model.topics import TopicPartition
from anabranch.operations.groups import commits
from anabranch.state.topics.positions import Positions
from tests.unit.link_lab import TO_A, TO_B, Lab, lab

pytestmark = pytest.mark.unit
NOWHERE = TopicPartition("nowhere", 0)
At = Mapping[TopicPartition, Commit]


@pytest.fixture(scope="module")
def both() -> Iterator[Lab]:
    """The clusters; each test has groups of its own."""
    with lab() as made:
        yield made


def record(group: str, former: At, wrote: At, *, existed: bool = True, undo_id: str = "") -> UndoRecord:
    """A move of a group."""
    before = {at: former.get(at) for at in wrote}
    return UndoRecord(undo_id or f"u-{group}", group, existed, before, wrote, 1_000, "groups sync old-new")


def move(both: Lab, *records: UndoRecord) -> dict[str, str]:
    """Write them; why groups failed."""

    async def ask(cluster: Cluster) -> dict[str, str]:
        store = Positions(cluster)
        await store.sync()
        return await commits.move(cluster, store, records)

    return both.on(both.target, ask)


def undone(both: Lab, one: UndoRecord) -> bool:
    """Whether the stored record is marked as undone."""
    return both.stored().undo[one.id][one.group].undone_at_ms is not None


def test_a_move_that_was_taken_is_kept_with_its_record(both: Lab) -> None:
    """Of each group; nothing is marked as undone."""
    records = [record(name, {}, {TO_A: Commit(5)}, existed=False) for name in ("fine", "well")]
    assert move(both, *records) == {}
    assert [both.committed(both.target, name) for name in ("fine", "well")] == [{TO_A: Commit(5)}] * 2
    assert not any(undone(both, one) for one in records)
    assert move(both) == {}


def test_a_partition_that_is_refused_undoes_the_others_of_its_group(both: Lab) -> None:
    """A new group is gone again, one that was there has what it had; another group of the move is moved."""
    both.commit(both.target, "there", {TO_A: Commit(3)})
    new = record("new", {}, {TO_A: Commit(5), NOWHERE: Commit(1)}, existed=False)
    there = record("there", {TO_A: Commit(3)}, {TO_A: Commit(5), TO_B: Commit(6), NOWHERE: Commit(1)})
    fine = record("other", {}, {TO_B: Commit(6)}, existed=False)
    failed = move(both, new, there, fine)
    assert sorted(failed) == ["new", "there"]
    assert all(why.endswith("; it was undone") for why in failed.values())
    assert "nowhere-0" in failed["new"]
    assert both.committed(both.target, "new") == {}
    assert both.committed(both.target, "there") == {TO_A: Commit(3)}
    assert both.committed(both.target, "other") == {TO_B: Commit(6)}
    assert [undone(both, one) for one in (new, there, fine)] == [True, True, False]


def test_what_reads_back_otherwise_has_failed(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the cluster answered: one record less is another position."""
    taken = commits.kafka_groups.commit

    async def one_less(cluster: Cluster, group: str, wrote: At) -> None:
        changed = {at: Commit(one.offset - 1) if at == TO_B else one for at, one in wrote.items()}
        await taken(cluster, group, changed)

    one = record("less", {}, {TO_A: Commit(5), TO_B: Commit(6)}, existed=False)
    monkeypatch.setattr(commits.kafka_groups, "commit", one_less)
    failed = move(both, one)
    assert failed["less"].startswith("it reads back otherwise than it was written: old.orders-1 and 0 more; ")


def test_a_commit_whose_answer_was_lost_is_sent_again(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same once more does no harm; a second time it has failed."""
    taken, asked = commits.kafka_groups.commit, 0

    async def lost(cluster: Cluster, group: str, wrote: At) -> None:
        nonlocal asked
        asked += 1
        await taken(cluster, group, wrote)
        if asked == 1 or group == "gone":
            raise ConnectionLostError(cluster.name, "1", "gone")

    monkeypatch.setattr(commits.kafka_groups, "commit", lost)
    assert move(both, record("again", {}, {TO_A: Commit(5)}, existed=False)) == {}
    assert (asked, both.committed(both.target, "again")) == (2, {TO_A: Commit(5)})
    gone = record("gone", {}, {TO_A: Commit(5)}, existed=False)
    assert move(both, gone)["gone"].endswith("; it was undone")
    assert both.committed(both.target, "gone") == {} and undone(both, gone)


def test_what_another_move_wrote_at_the_same_time_is_left(both: Lab) -> None:
    """It is told whose it is, and with which command this one is undone."""
    mine = record("shared", {}, {TO_A: Commit(5), NOWHERE: Commit(1)}, existed=False, undo_id="u-mine")
    other = record("shared", {}, {TO_A: Commit(5)}, existed=False, undo_id="u-other")
    assert move(both, other) == {}
    failed = move(both, mine)
    assert failed["shared"].endswith(
        "; what u-other wrote too at the same time was left; anabranch groups undo u-mine --execute"
    )
    assert both.committed(both.target, "shared") == {TO_A: Commit(5)}
    assert not undone(both, mine)


def test_a_group_that_is_read_meanwhile_is_not_moved_and_says_what_undoes_it(both: Lab) -> None:
    """Nothing was written for it."""
    both.commit(both.target, "busy", {TO_A: Commit(3)})
    one = record("busy", {TO_A: Commit(3)}, {TO_A: Commit(5)})
    with both.reader(both.there, "busy"):
        failed = move(both, one)
        assert both.committed(both.target, "busy") == {TO_A: Commit(3)}
    assert failed == {
        "busy": "group busy on cluster new has members: commit was refused; it cannot be undone: busy is "
        "completing_rebalance on the target, with 1 member: only its members may commit"
    }
    assert not undone(both, one)


def test_undoing_forgets_commits_of_a_topic_that_is_gone_and_what_was_new(both: Lab) -> None:
    """Other commits of the group stay."""
    both.on(both.target, lambda cluster: create_topic(cluster, "brief", 1, 1, {}))
    both.on(both.target, lambda cluster: until_led(cluster, ["brief"]))
    brief = TopicPartition("brief", 0)
    both.commit(both.target, "back", {TO_A: Commit(3)})
    one = record("back", {TO_A: Commit(3)}, {TO_A: Commit(5), TO_B: Commit(6), brief: Commit(0)})
    assert move(both, one) == {}
    both.on(both.target, lambda cluster: delete_topic(cluster, "brief"))

    async def take_back(cluster: Cluster) -> None:
        now = (await commits.read_groups(cluster, ["back"]))["back"]
        planned = undo(one, now)
        assert planned.refusals == ()
        await commits.apply_undo(cluster, planned)

    both.on(both.target, take_back)
    assert both.committed(both.target, "back") == {TO_A: Commit(3)}


def test_what_cannot_be_restored_is_an_error(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the cluster took it and reads back otherwise."""
    both.commit(both.target, "stuck", {TO_A: Commit(5)})
    one = record("stuck", {TO_A: Commit(3)}, {TO_A: Commit(5)})

    async def nothing(*_: object) -> None:
        """It is taken, and not written."""

    async def take_back(cluster: Cluster) -> None:
        now = (await commits.read_groups(cluster, ["stuck"]))["stuck"]
        await commits.apply_undo(cluster, undo(one, now))

    with monkeypatch.context() as patch:
        patch.setattr(commits.kafka_groups, "commit", nothing)
        with pytest.raises(AnabranchError, match="stuck"):
            both.on(both.target, take_back)
    both.on(both.target, take_back)
    assert both.committed(both.target, "stuck") == {TO_A: Commit(3)}
