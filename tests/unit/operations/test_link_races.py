"""Two verbs about one link at once: the second one is carried out between the first one's look and its write."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from anabranch.copier.planning.planner import Planner
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import KeyedLog
from anabranch.kafka.security import open_cluster
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, UnknownLinkError, WantedState
from anabranch.model.plans import PlanChangedError
from anabranch.model.plugins import PluginSpec
from anabranch.operations.links import accept, change, delete
from anabranch.operations.links import create as creating
from anabranch.operations.links.create import LinkBeingDeletedError, LinkExistsError
from anabranch.protocol.endings import Stop
from anabranch.state.codecs.topics import LINKS
from anabranch.state.topics.control import ControlLostError, Links, MappedRanges, Progress
from anabranch.state.topics.journal import Journal
from anabranch.state.topics.positions import Positions
from qa import links
from qa.blocking import between
from tests.unit.link_lab import LINK, OTHER, Lab, lab
from tests.unit.operations.test_ways_out import stop

pytestmark = pytest.mark.test

Verb = Callable[[], Awaitable[object]]
PAUSE = change.PAUSE
SLOWLY = change.WantedChanges(rate_limit=1000)


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters, for one test."""
    with lab() as made:
        yield made


def before_the_write(monkeypatch: pytest.MonkeyPatch, verb: Verb) -> None:
    """Have another verb carried out when the next one is about to append what it changes."""
    append = KeyedLog.append

    async def overtaken(self: KeyedLog, *args: Any) -> int | None:
        if self.topic == LINKS:
            monkeypatch.setattr(KeyedLog, "append", append)
            await verb()
        return await append(self, *args)

    monkeypatch.setattr(KeyedLog, "append", overtaken)


async def changed(cluster: Cluster, changes: change.WantedChanges) -> None:
    """Plan and apply a change."""
    await change.apply(cluster, await change.plan(cluster, LINK, changes))


def second(spec: LinkSpec) -> LinkSpec:
    """A link beside the one of the lab, of which nothing was copied yet."""
    return replace(spec, id="second", filter=PluginSpec("regex", {"include": [OTHER.topic]}))


SPEC = second(LinkSpec("any", ClusterRef("old", ""), ClusterRef("new", "")))


def test_of_two_changes_at_once_the_second_is_refused(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither takes back what the other was told to be stored."""
    before = links.show(both.target, LINK).wanted

    async def at_once(cluster: Cluster) -> None:
        before_the_write(monkeypatch, lambda: changed(cluster, PAUSE))
        await changed(cluster, SLOWLY)

    with pytest.raises(PlanChangedError, match=f"link '{LINK}' changed since plan"):
        both.on(both.target, at_once)
    assert links.show(both.target, LINK).wanted == replace(before, paused=True, revision=before.revision + 1)
    both.on(both.target, lambda cluster: changed(cluster, SLOWLY))
    after = links.show(both.target, LINK).wanted
    assert (after.paused, after.spec.rate_limit, after.revision) == (True, 1000, before.revision + 2)


def test_of_two_links_of_one_name_that_are_created_at_once_the_first_one_is_stored(
    both: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other is refused as if it had come later."""

    async def at_once(here: Cluster, there: Cluster) -> None:
        first = await creating.plan(here, there, SPEC)
        other = await creating.plan(here, there, replace(SPEC, rate_limit=1000))
        before_the_write(monkeypatch, lambda: creating.apply(here, there, first))
        await creating.apply(here, there, other)

    with pytest.raises(LinkExistsError):
        between(both.source, both.target, at_once)
    assert links.show(both.target, "second").spec.rate_limit is None


def test_a_link_that_is_paused_while_something_is_accepted_stays_paused(
    both: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was decided then, and the same is accepted when it was looked at again."""
    stop(both, Stop.POSITION_LOST, 20)

    async def at_once(here: Cluster, there: Cluster) -> None:
        planned = await accept.plan(here, there, LINK, "orders:0")
        before_the_write(monkeypatch, lambda: changed(there, PAUSE))
        await accept.apply(here, there, planned)

    with pytest.raises(PlanChangedError):
        between(both.source, both.target, at_once)
    assert links.show(both.target, LINK).wanted.paused
    assert both.on(both.target, decided) == 0
    assert len(links.accept(both.source, both.target, LINK, "orders:0").pending) == 1
    assert links.show(both.target, LINK).wanted.paused
    assert both.on(both.target, decided) == 1


async def decided(cluster: Cluster) -> int:
    """How many decisions are stored."""
    stored = Links(cluster)
    await stored.sync()
    return len(stored.decisions[LINK])


def test_what_a_planner_finds_out_takes_back_nothing_that_people_want(
    both: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stores the control topics' ids with the link as it is by then."""

    async def plan() -> None:
        async with open_cluster(both.source) as here, open_cluster(both.target) as there:
            before_the_write(monkeypatch, lambda: changed(there, PAUSE))
            await Planner(LINK, here, there).plan()

    asyncio.run(plan())
    after = links.show(both.target, LINK)
    assert after.wanted.paused and after.record.control_topics


def test_a_link_that_is_changed_while_it_is_deleted_is_there_with_all_that_it_had(
    both: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deletion is refused before anything is forgotten; of two deletions the second finds no link."""
    before = links.plan_delete(both.target, LINK)

    async def at_once(cluster: Cluster) -> None:
        before_the_write(monkeypatch, lambda: changed(cluster, PAUSE))
        await delete.apply(cluster, before)

    with pytest.raises(PlanChangedError):
        both.on(both.target, at_once)
    after = links.plan_delete(both.target, LINK)
    assert (after.forget, after.topics) == (before.forget, before.topics)

    async def twice(cluster: Cluster) -> None:
        before_the_write(monkeypatch, lambda: delete.apply(cluster, after))
        await delete.apply(cluster, after)

    with pytest.raises(UnknownLinkError):
        both.on(both.target, twice)


def test_no_link_is_created_while_another_of_its_name_is_deleted(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the last record of the old one is forgotten; then it begins with nothing of it."""
    refused: list[str] = []
    quiet, spec = delete._quiet, replace(SPEC, id=LINK)

    async def while_it_waits(progress: Progress, link_id: str) -> None:
        async with open_cluster(both.source) as here, open_cluster(both.target) as there:
            with pytest.raises(LinkBeingDeletedError) as error:
                await creating.plan(here, there, spec)
        refused.append(error.value.message)
        await quiet(progress, link_id)

    monkeypatch.setattr(delete, "_quiet", while_it_waits)
    assert links.delete(both.target, LINK).findings == ()
    assert refused == [f"link '{LINK}' is being deleted, or its deletion broke off"]
    links.create(both.source, both.target, spec)
    assert not links.show(both.target, LINK).lanes


def test_a_link_that_was_created_while_one_of_its_name_was_deleted_is_left(
    both: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old one had no topics to know the deletion by; or an older version has created the new one."""

    async def create(cluster: Cluster) -> None:
        stored = Links(cluster)
        await stored.sync()
        await stored.put(LinkRecord(WantedState(replace(SPEC, id=LINK, rate_limit=7)), ("any",), 77))

    async def while_it_waits(_progress: Progress, _link_id: str) -> None:
        async with open_cluster(both.target) as there:
            await create(there)

    monkeypatch.setattr(delete, "_quiet", while_it_waits)
    done = links.delete(both.target, LINK)
    assert ["created again meanwhile" in one.what for one in done.findings] == [True]
    assert links.show(both.target, LINK).record.created_at_ms == 77
    assert len(links.plan_delete(both.target, LINK).topics) == 1


STEPS = (Positions, Journal, MappedRanges, Progress, Links)


@pytest.mark.parametrize("part", STEPS)
def test_a_deletion_that_broke_off_is_finished_by_the_next_one(
    both: Lab, monkeypatch: pytest.MonkeyPatch, part: type
) -> None:
    """Wherever it was killed, nobody creates a link of the name before, and nothing is left after."""

    async def killed(*_: object) -> None:
        raise ControlLostError

    with monkeypatch.context() as patched:
        patched.setattr(part, "forget", killed)
        with pytest.raises(ControlLostError):
            links.delete(both.target, LINK)
    with pytest.raises(UnknownLinkError):
        links.show(both.target, LINK)
    with pytest.raises(LinkBeingDeletedError):
        links.create(both.source, both.target, replace(SPEC, id=LINK))
    left = links.plan_delete(both.target, LINK)
    assert any(left.forget.values()) and not left.running
    done = links.delete(both.target, LINK)
    assert (done.plan.hash, done.findings) == (left.hash, ())
    with pytest.raises(UnknownLinkError):
        links.plan_delete(both.target, LINK)

    async def claimed(cluster: Cluster) -> list[object]:
        claims = await Journal(cluster).read()
        return [one for lane in both.lanes for one in claims.claims(str(lane.lane))]

    assert both.on(both.target, claimed) == []
    links.create(both.source, both.target, replace(SPEC, id=LINK))
