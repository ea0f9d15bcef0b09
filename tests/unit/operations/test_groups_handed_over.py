"""Groups whose old cluster does not answer go on by what their members handed over, and each doubt is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.model.groups import Commit
from anabranch.operations.groups.commits import read_groups
from anabranch.operations.routes.lost import GroupsHandedOver, MovedWithout, copied_to, handed_over, move_without
from tests.unit.link_lab import LINK, TO_A, TO_B, Lab, lab

pytestmark = pytest.mark.unit
Read = Mapping[str, Mapping[str, int]]


@pytest.fixture(scope="module")
def both() -> Iterator[Lab]:
    """The clusters; each test has groups of its own."""
    with lab() as made:
        yield made


def handed(both: Lab, positions: Read, link: str = LINK) -> GroupsHandedOver:
    """Where groups go on by what the target knows of them."""

    async def ask(target: Cluster) -> GroupsHandedOver:
        return await handed_over(target, link, positions, await read_groups(target, list(positions)))

    return both.on(both.target, ask)


def moved(both: Lab, positions: Read, link: str = LINK) -> MovedWithout:
    """What became of groups."""
    return both.on(both.target, lambda target: move_without(target, link, positions))


def test_what_was_copied_goes_on_exactly(both: Lab) -> None:
    """At a record, behind the last one, and at the first of those behind a gap; of each group apart."""
    found = handed(both, {"b": {"orders-0": 12, "orders-1": 30}, "a": {"orders-1": 25}})
    assert found.doubts == ()
    assert found.writes == {"b": {TO_A: Commit(2), TO_B: Commit(15)}, "a": {TO_B: Commit(10)}}
    assert handed(both, {"c": {}}) == GroupsHandedOver({"c": {}})


def test_what_was_read_and_not_copied_is_told_and_the_group_goes_on_behind_what_was(both: Lab) -> None:
    """Or where it was on the target if that is further, never before it."""
    late = handed(both, {"late": {"orders-0": 40}})
    assert late.writes == {"late": {TO_A: Commit(15)}}
    [told] = late.doubts
    assert told.startswith("group late: orders-0 was read up to 40, and goes on at 15: ")
    for name, at in (("ahead", 20), ("behind", 3)):
        both.commit(both.target, name, {TO_A: Commit(at)})
        found = handed(both, {name: {"orders-0": 40}})
        assert found.writes == {name: {TO_A: Commit(max(at, 15))}}
        assert found.doubts[0].startswith(f"group {name}: orders-0 was read up to 40, and goes on at {max(at, 15)}: ")


def test_what_is_exact_goes_back_to_where_the_members_were(both: Lab) -> None:
    """Where the group was on the target does not count then."""
    both.commit(both.target, "exact", {TO_A: Commit(9)})
    assert handed(both, {"exact": {"orders-0": 12}}) == GroupsHandedOver({"exact": {TO_A: Commit(2)}})


def test_a_partition_of_which_nothing_is_known_is_told_and_left(both: Lab) -> None:
    """Others of the group are moved all the same."""
    found = handed(both, {"some": {"orders-2": 7, "orders-0": 12}})
    assert found.writes == {"some": {TO_A: Commit(2)}}
    [told] = found.doubts
    assert told.startswith("group some: orders-2 was read up to 7, and ")


def test_without_a_link_nothing_is_translated_and_each_position_is_told(both: Lab) -> None:
    """In order; nothing is committed."""
    found = handed(both, {"b": {"orders-1": 1_200, "orders-0": 2}, "a": {"orders-0": 3}}, "none-such")
    assert found.writes == {}
    where = "and no offset map on new tells where that is"
    assert found.doubts == (
        f"group a: orders-0 was read up to 3, {where}",
        f"group b: orders-0 was read up to 2, {where}",
        f"group b: orders-1 was read up to 1,200, {where}",
    )
    without = moved(both, {"none": {"orders-0": 3}}, "none-such")
    assert (without.moved.done, without.moved.undo, len(without.doubts)) == (True, "", 1)
    assert both.committed(both.target, "none") == {}


def test_groups_are_moved_with_an_undo_record_and_once(both: Lab) -> None:
    """Again it changes nothing; what is not exact is told again."""
    positions = {"first": {"orders-0": 12, "orders-1": 40}, "second": {"orders-1": 27}}
    done = moved(both, positions)
    assert done.moved.done and done.moved.undo and done.moved.why == ""
    assert [one.partition(":")[0] for one in done.doubts] == ["group first"]
    assert both.committed(both.target, "first") == {TO_A: Commit(2), TO_B: Commit(15)}
    assert both.committed(both.target, "second") == {TO_B: Commit(12)}
    records = both.stored().undo[done.moved.undo].values()
    assert {(one.group, one.existed) for one in records} == {("first", False), ("second", False)}
    again = moved(both, positions)
    assert (again.moved.done, again.moved.undo, again.doubts) == (True, "", done.doubts)
    back = moved(both, {"second": {"orders-1": 26}})
    [kept] = both.stored().undo[back.moved.undo].values()
    assert (kept.existed, kept.former, kept.wrote) == (True, {TO_B: Commit(12)}, {TO_B: Commit(11)})


def test_a_group_with_members_on_the_target_is_not_moved_nor_is_any_other(both: Lab) -> None:
    """It is told which one."""
    with both.reader(both.there, "busy"):
        refused = moved(both, {"a-free": {"orders-0": 12}, "busy": {"orders-0": 12}})
    assert (refused.moved.done, refused.moved.undo) == (False, "")
    assert refused.moved.why == "group busy has members on new"
    assert both.committed(both.target, "a-free") == {}


def test_up_to_where_topics_were_copied_is_told(both: Lab) -> None:
    """Of the topics that are asked for; nothing where no link knows them."""

    def told(link: str, *topics: str) -> tuple[str, ...]:
        return both.on(both.target, lambda target: copied_to(target, link, topics))

    later = "what was written there later is not on new"
    assert told(LINK, "orders") == (
        f"orders-0 was copied up to 32: {later}",
        f"orders-1 was copied up to 32: {later}",
    )
    assert told(LINK, "other") == () == told("none-such", "orders")
