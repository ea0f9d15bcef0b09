"""Rounds of continuous sync on two simulated clusters: what is committed on the target then, and what is persisted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

import pytest

from anabranch.copier import groupsync
from anabranch.copier.groupsync import GroupSync
from anabranch.groups.continuous_sync import SyncState
from anabranch.groups.freshness import Freshness
from anabranch.kafka import groups as kafka_groups
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import BrokerRefusedError
from anabranch.kafka.security import open_cluster
from anabranch.mirrormaker.wire import MirrorCheckpoint
from anabranch.model.groups import Commit
from anabranch.model.link import GroupRules
from anabranch.model.topics import TopicPartition
from anabranch.state.maps.reading import read_maps
from tests.unit.link_lab import LINK, TO_A, TO_B, A, B, Lab, append, lab

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def both() -> Iterator[Lab]:
    """The clusters, for all tests of this file: each has groups of its own."""
    with lab() as made:
        yield made


class Driver:
    """What drives a link's rounds, and what they published."""

    def __init__(self, both: Lab, source: Cluster, target: Cluster) -> None:
        self.both = both
        self.source = source
        self.target = target
        self.published: list[MirrorCheckpoint] = []
        self.sync = GroupSync(source, target, LINK, "run-1", read_maps, self._publish)

    async def _publish(self, _: Cluster, alias: str, told: Iterable[MirrorCheckpoint]) -> None:
        assert alias == "old"
        self.published += told

    async def round(self) -> Freshness:
        """One round, and what is persisted then."""
        await self.sync.once()
        return await asyncio.to_thread(lambda: self.both.stored().freshness(LINK))

    async def commit(self, group: str, commits: Mapping[TopicPartition, Commit]) -> None:
        """A group commits on the source."""
        await kafka_groups.commit(self.source, group, commits)

    async def there(self, group: str) -> dict[TopicPartition, Commit]:
        """What a group has committed on the target."""
        return (await kafka_groups.committed(self.target, [group]))[group]


def drive(both: Lab, rules: GroupRules | None, what: Callable[[Driver], Awaitable[None]]) -> None:
    """Do something with the rounds of a link that follows some groups."""

    async def run() -> None:
        async with open_cluster(both.source) as source, open_cluster(both.target) as target:
            await what(Driver(both, source, target))

    both.follow(rules)
    asyncio.run(run())


def test_what_a_followed_group_commits_is_on_the_target_after_the_next_round(both: Lab) -> None:
    """Each round, not only the first; and a round in which nothing moved moves nothing."""

    async def what(driver: Driver) -> None:
        await driver.commit("shop", {A: Commit(12, "noted"), B: Commit(30)})
        persisted = await driver.round()
        assert await driver.there("shop") == {TO_A: Commit(2, "noted"), TO_B: Commit(15)}
        assert persisted.round is not None
        assert (persisted.round.moved, dict(persisted.round.groups)) == (1, {SyncState.IN_SYNC: 1})
        await driver.commit("shop", {A: Commit(14)})
        persisted = await driver.round()
        assert await driver.there("shop") == {TO_A: Commit(4), TO_B: Commit(15)}
        persisted = await driver.round()
        assert persisted.round is not None
        assert (persisted.round.moved, persisted.groups["shop"].state) == (0, SyncState.IN_SYNC)

    drive(both, GroupRules(("shop",)), what)


def test_a_position_that_was_not_copied_waits_for_the_map(both: Lab) -> None:
    """It is kept from round to round, and what is newer waits behind it: the map reaches it later."""

    async def what(driver: Driver) -> None:
        at = driver.both.source
        await asyncio.to_thread(lambda: driver.both.on(at, lambda cluster: append(cluster, A, 4)))
        await driver.commit("ahead", {A: Commit(33)})
        persisted = await driver.round()
        assert persisted.groups["ahead"].state is SyncState.WAITING
        await driver.commit("ahead", {A: Commit(35)})
        await driver.round()
        assert driver.sync._waiting == {"ahead": {A: Commit(33)}}
        assert await driver.there("ahead") == {}

    drive(both, GroupRules(("ahead",)), what)


def test_a_group_that_somebody_reads_in_on_the_target_is_left_to_them(both: Lab) -> None:
    """Its position there is its own, also when the reader came between the look and the commit."""

    async def what(driver: Driver) -> None:
        await driver.commit("till", {A: Commit(12)})
        look = groupsync.take_snapshot

        async def before(*arguments: object, **options: object) -> object:
            seen = await look(*arguments, **options)  # type: ignore[arg-type]
            reading.__enter__()
            return seen

        reading = driver.both.reader(driver.both.there, "till")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(groupsync, "take_snapshot", before)
            persisted = await driver.round()
        assert persisted.round is not None
        assert (persisted.round.moved, persisted.groups["till"].state) == (0, SyncState.ACTIVE)
        persisted = await driver.round()
        assert persisted.groups["till"].state is SyncState.ACTIVE
        assert await driver.there("till") == {}
        reading.__exit__(None, None, None)

    drive(both, GroupRules(("till",)), what)


def test_a_commit_that_the_target_refuses_holds_its_group_alone(both: Lab) -> None:
    """It is told with its reason and not counted as moved; the others are moved."""

    async def what(driver: Driver) -> None:
        await driver.commit("good", {A: Commit(12)})
        await driver.commit("bad", {A: Commit(12)})
        commit = kafka_groups.commit

        async def refused(cluster: Cluster, group: str, commits: Mapping[TopicPartition, Commit]) -> None:
            if group == "bad":
                raise BrokerRefusedError(cluster.name, "Commit", f"group {group}", 30)
            await commit(cluster, group, commits)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(groupsync.kafka_groups, "commit", refused)
            persisted = await driver.round()
        assert persisted.round is not None
        assert (persisted.round.moved, persisted.groups["bad"].state) == (1, SyncState.BLOCKED)
        assert "bad" in persisted.groups["bad"].why
        assert persisted.groups["good"].state is SyncState.IN_SYNC

    drive(both, GroupRules(("good", "bad")), what)


def test_a_round_that_failed_says_so_and_forgets_nothing(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of the groups stays as it was, the age of the positions too."""

    async def what(driver: Driver) -> None:
        await driver.commit("kept", {A: Commit(12)})
        before = await driver.round()
        other = Driver(driver.both, driver.source, driver.target)

        async def away(*_: object, **__: object) -> object:
            raise BrokerRefusedError("old", "Metadata", "cluster", 5)

        with monkeypatch.context() as patch:
            patch.setattr(groupsync, "take_snapshot", away)
            with pytest.raises(BrokerRefusedError, match="old"):
                await other.round()
        after = await asyncio.to_thread(lambda: driver.both.stored().freshness(LINK))
        assert after.round is not None
        assert after.round.error
        assert after.groups == before.groups
        assert "kept" in after.groups

    drive(both, GroupRules(("kept",)), what)


def test_groups_that_are_no_longer_followed_are_forgotten(both: Lab) -> None:
    """What is persisted tells of the groups that the link follows now."""

    async def what(driver: Driver) -> None:
        await driver.commit("first", {A: Commit(12)})
        assert "first" in (await driver.round()).groups
        await asyncio.to_thread(lambda: driver.both.follow(GroupRules(("second",))))
        await driver.commit("second", {A: Commit(12)})
        driver.sync._listed = float("-inf")
        assert set((await driver.round()).groups) == {"second"}

    drive(both, GroupRules(("first",)), what)


def test_checkpoints_tell_each_new_position_once(both: Lab) -> None:
    """Clients that know the source by its alias read the newest; what did not change is not told again."""

    async def what(driver: Driver) -> None:
        await driver.commit("mm2", {A: Commit(12)})
        await driver.round()
        await driver.round()
        await driver.commit("mm2", {A: Commit(14)})
        await driver.round()
        assert [(one.group, one.upstream, one.downstream) for one in driver.published] == [
            ("mm2", 12, 2),
            ("mm2", 14, 4),
        ]

    drive(both, GroupRules(("mm2",), checkpoints=True), what)
