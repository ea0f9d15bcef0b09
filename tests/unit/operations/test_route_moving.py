"""What a switch does to clusters: ends are pinned, seen to be copied, and groups moved; each again after a crash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.groups import snapshot as grouplook
from anabranch.model.clock import now_ms
from anabranch.model.groups import Commit
from anabranch.operations.groups import commits
from anabranch.operations.routes import moving
from anabranch.operations.routes.moving import CopyingLink, Moved, NoLinkError
from anabranch.state.topics.control import Links
from qa.blocking import between
from tests.unit.link_lab import BLANK, LINK, SOURCE_END, TO_A, TO_B, A, B, Lab, append, lab

pytestmark = pytest.mark.unit
HERE, THERE = {A: Commit(12), B: Commit(30)}, {TO_A: Commit(2), TO_B: Commit(15)}


@pytest.fixture(scope="module")
def both() -> Iterator[Lab]:
    """The clusters, for all tests of this file: each has groups of its own."""
    with lab() as made:
        yield made


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look a second time at once: here nobody commits unless a test does."""
    read = grouplook.read_commits

    async def impatient(cluster: Cluster, names: Iterable[str], *_: float) -> object:
        return await read(cluster, names, 0.0)

    monkeypatch.setattr(grouplook, "SETTLE_S", 0.0)
    monkeypatch.setattr(grouplook, "read_commits", impatient)


def move(both: Lab, *groups: str) -> Moved:
    """Move groups by what they have committed of orders."""
    return between(
        both.source,
        both.target,
        lambda source, target: moving.move_groups(source, target, LINK, groups, ["orders"], {}),
    )


def test_the_link_that_copies_all_topics_is_found(both: Lab) -> None:
    """And where one topic is in none, that is said with all of them."""
    ours = {"orders": "old.orders"}
    assert both.on(both.target, lambda target: moving.link_between(target, "old", ours)) == CopyingLink(LINK)
    with pytest.raises(NoLinkError, match=r"__consumer_offsets as x, orders as old\.orders from old to new"):
        both.on(both.target, lambda target: moving.link_between(target, "old", {**ours, "__consumer_offsets": "x"}))
    with pytest.raises(NoLinkError, match="orders as orders"):
        both.on(both.target, lambda target: moving.link_between(target, "old", {"orders": "orders"}))
    with pytest.raises(NoLinkError):
        both.on(both.target, lambda target: moving.link_between(target, "elsewhere", ours))


def test_of_two_links_the_one_that_is_not_paused_is_taken(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a second link has taken over from a paused one, which has not copied what was written last."""
    ours = {"orders": "old.orders"}

    class Two(Links):
        """The link of the lab under two names."""

        async def sync(self) -> None:
            """As ever, and then there are two."""
            await super().sync()
            record = self.links[LINK]
            self.links = {
                name: replace(record, wanted=replace(record.wanted, paused=one)) for name, one in paused.items()
            }

    monkeypatch.setattr(moving, "Links", Two)
    paused: dict[str, bool] = {}
    for first, second, taken in ((True, False, "b"), (False, False, "a"), (True, True, "a")):
        paused.update(a=first, b=second)
        found = both.on(both.target, lambda target: moving.link_between(target, "old", ours))
        assert found == CopyingLink(taken, is_paused=paused[taken])


def test_topics_with_more_partitions_on_the_target_are_named(both: Lab) -> None:
    """By them a key comes to another one; those that one of both does not have are none."""
    asked = {TO_A.topic: "orders", "nobody-made-it": "nor-this"}
    found = between(both.target, both.source, lambda here, there: moving.wider(here, there, asked))
    assert found == ("topic orders has 3 partitions on old, and old.orders 2",)
    back = {"orders": TO_A.topic, "private": "nobody-made-it"}
    assert between(both.source, both.target, lambda here, there: moving.wider(here, there, back)) == ()


def test_pinned_ends_are_those_of_logs_that_hold_something(both: Lab) -> None:
    """A topic that nobody has made yet holds nothing that could be lost."""
    pinned = both.on(both.source, lambda source: moving.pin(source, ["orders", "nobody-made-it"]))
    assert pinned == dict.fromkeys(map(str, (A, B, BLANK)), SOURCE_END)


def test_what_is_not_copied_yet_is_named(both: Lab) -> None:
    """By the offset map: its end, not what somebody says about it."""
    all_of_it = {str(A): SOURCE_END, str(B): SOURCE_END}
    assert both.on(both.target, lambda target: moving.uncopied(target, LINK, {})) == ()
    assert both.on(both.target, lambda target: moving.uncopied(target, LINK, all_of_it)) == ()
    (left,) = both.on(both.target, lambda target: moving.uncopied(target, LINK, {**all_of_it, str(A): SOURCE_END + 1}))
    assert left.startswith(f"{A} up to {SOURCE_END + 1:,}: ")


def test_positions_are_exact_or_absent(both: Lab) -> None:
    """A client is never sent to a guessed offset, and each to its own, where two stand differently in a partition."""
    asked = {"one": {str(A): 12, str(B): SOURCE_END + 5}, "other": {str(A): 13}, "new": {}}
    found = between(both.source, both.target, lambda source, target: moving.starts(source, target, LINK, asked))
    assert found == {"one": {str(TO_A): 2}, "other": {str(TO_A): 3}, "new": {}}
    nothing = between(both.source, both.target, lambda source, target: moving.starts(source, target, LINK, {"new": {}}))
    assert nothing == {"new": {}}


def test_readers_of_copies_go_on_where_the_copied_records_are(both: Lab) -> None:
    """By the same link, whose maps are read backwards: their positions, and those of their groups."""
    asked = {"one": {str(TO_A): 2}}
    found = between(both.target, both.source, lambda here, there: moving.starts(here, there, LINK, asked))
    assert found == {"one": {str(A): 12}}
    both.commit(both.target, "copies", {TO_A: Commit(3, "noted")})
    topics = {TO_A.topic}
    done = between(
        both.target, both.source, lambda here, there: moving.move_groups(here, there, LINK, ["copies"], topics, {})
    )
    assert (done.done, done.why) == (True, "")
    assert both.committed(both.source, "copies") == {A: Commit(13, "noted")}


def test_groups_are_moved_and_moved_again_changes_nothing(both: Lab) -> None:
    """And taken back they are where they were; a group that has committed nothing is where it belongs."""
    both.commit(both.source, "shop", HERE)
    begun = now_ms()
    done = move(both, "shop", "nobody")
    assert (done.done, done.why, bool(done.undo)) == (True, "", True)
    assert both.committed(both.target, "shop") == THERE
    assert move(both, "shop") == Moved(True)
    for groups, since, left in (
        (["shop"], now_ms() + 1, THERE),
        (["other"], begun, THERE),
        (["shop", "nobody"], begun, {}),
        (["shop", "nobody"], begun, {}),
    ):
        assert both.on(both.target, partial(moving.take_back, link=LINK, groups=groups, since_ms=since)) == ""
        assert both.committed(both.target, "shop") == left
    assert move(both, "nobody") == Moved(True)


def test_a_group_whose_last_records_are_not_copied_is_not_moved(both: Lab) -> None:
    """None of the others is, either, and it is said which and why."""
    both.commit(both.source, "calm", HERE)
    both.commit(both.source, "ahead", {A: Commit(SOURCE_END + 1)})
    both.on(both.source, lambda source: append(source, A, 1))
    found = move(both, "calm", "ahead")
    assert not found.done and found.undo == ""
    assert "group ahead: " in found.why and "calm" not in found.why
    assert both.committed(both.target, "calm") == {}


def test_a_group_whose_commits_were_not_taken_is_not_moved(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said which, and the switch does not go on: its consumers would begin where they have read nothing."""
    both.commit(both.source, "refused", HERE)

    async def loses(*_: object) -> None:
        """Acknowledge, and do nothing."""

    monkeypatch.setattr(commits.kafka_groups, "commit", loses)
    found = move(both, "refused")
    assert not found.done
    assert found.why.startswith("group refused: it reads back otherwise than it was written")
