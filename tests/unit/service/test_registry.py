"""Registered clients in memory, and what of them a store keeps: also where it does not answer for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from anabranch.model.accounts import Account, Role
from anabranch.model.clock import now_ms
from anabranch.model.cluster import Security, SecurityProtocol
from anabranch.model.routing import ClientFacts, ClientReport, ClientRole, Route, RouteQuery
from anabranch.service import client_totals
from anabranch.service import registry as module
from anabranch.service.client_totals import Sums, client_metrics
from anabranch.service.clusters import ClusterPool
from anabranch.service.errors import SplitGroupError, TooManyClientsError, UnknownClientError
from anabranch.service.registry import KEPT_MS, Registry
from anabranch.service.routing import Routing
from anabranch.service.stored import Stored
from anabranch.service.watching import Watching
from anabranch.store.clients import RegisteredClient
from anabranch.store.errors import StoreError

pytestmark = pytest.mark.unit

ACCOUNT = Account("1", "shop", Role.CLIENT)
FACTS = ClientFacts("shop", "host-1", "127.0.0.1", 42, "0.1")
PLAIN = Security(SecurityProtocol.PLAINTEXT)


class Always(Routing):
    """Leads everyone to one cluster."""

    def route(self, query: RouteQuery) -> Route:
        """There."""
        return Route(query.code, "old", ("old:1",), PLAIN, {}, True, True, "", 1, 1)


def made(stored: Stored, instance: str = "here") -> Registry:
    """The registry of an instance."""

    async def nothing() -> None:
        """Nobody is told."""

    return Registry(stored, Always(stored, ClusterPool(), nothing), Watching(), instance)


async def register(registry: Registry, number: int) -> str:
    """A consumer of a group of its own."""
    query = RouteQuery("orders", ClientRole.CONSUMER, ("sales",), f"g{number}")
    return (await registry.register(ACCOUNT, f"{number:032x}", query, FACTS))[0].id


def test_what_could_not_be_written_is_written_next_time(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came and what went, also when it went while the store was away; in parts, of which each is kept."""
    monkeypatch.setattr(module, "_WRITTEN_AT_ONCE", 2)

    def fails(_: Sequence[object], *__: object) -> None:
        raise StoreError("store", "away")

    async def run() -> None:
        registry = made(stored)
        ids = [await register(registry, number) for number in range(5)]
        with monkeypatch.context() as patch:
            patch.setattr(stored.clients, "keep", fails)
            registered = now_ms()
            while now_ms() <= registered:  # what is seen within one millisecond is not newer
                await asyncio.sleep(0)
            for one in ids:
                registry.report(ACCOUNT, one, ClientReport(1, 7))
            with pytest.raises(StoreError):
                await registry.write()
        assert [one.client.report.records for one in stored.clients.live(0)] == [0] * 5
        await registry.write()
        assert [one.client.report.records for one in stored.clients.live(0)] == [7] * 5
        with monkeypatch.context() as patch:
            patch.setattr(stored.clients, "remove", fails)
            await registry.remove(ACCOUNT, ids[0])
            with pytest.raises(StoreError):
                await registry.write()
        await registry.write()
        assert [one.client.id for one in stored.clients.live(now_ms())] == ids[1:]
        with pytest.raises(UnknownClientError):
            await registry.get(ids[0])

    asyncio.run(run())


def test_who_was_answered_is_known_after_a_crash(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    """C4: of many at once few questions are asked; one that could not be written was not answered, and is later."""
    asked: list[int] = []
    keep = stored.clients.keep

    def counted(rows: Sequence[object]) -> None:
        asked.append(len(rows))
        if len(asked) == 1:
            raise StoreError("store", "away")
        keep(rows)  # type: ignore[arg-type]

    async def run() -> None:
        monkeypatch.setattr(stored.clients, "keep", counted)
        registry = made(stored)
        with pytest.raises(StoreError):
            await register(registry, 99)
        found = await asyncio.gather(*(register(registry, number) for number in range(50)))
        again = made(stored)  # nothing else was written: the process is gone
        await again.load()
        assert {one.id for one in await again.live()} == {*found}
        assert sum(asked) == 51 and len(asked) < 20
        await register(registry, 99)
        assert len(await registry.live()) == 51

    asyncio.run(run())


def test_who_comes_again_is_not_written_first_while_the_store_has_all_that(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C4: as after a restart; with other topics, a lease that runs out, or from another instance it is."""
    written: list[str] = []
    keep = stored.clients.keep

    def noted(rows: Sequence[RegisteredClient]) -> None:
        written.extend(one.client.id for one in rows)
        keep(rows)

    async def run() -> None:
        first = made(stored)
        ids = [await register(first, number) for number in range(3)]
        assert written == ids
        await first.write()
        assert written == ids, "what was written first is not written again"
        again = made(stored)
        await again.load()
        written.clear()
        for number in range(3):
            await register(again, number)
        assert written == []
        await again.write()
        assert sorted(written) == ids
        written.clear()
        query = RouteQuery("orders", ClientRole.CONSUMER, ("sales", "more"), "g0")
        await again.register(ACCOUNT, ids[0], query, FACTS)
        assert written == ids[:1] and stored.clients.live(0)[0].client.query == query
        await register(made(stored, "there"), 1)
        await register(again, 1)
        assert written == [ids[0], ids[1], ids[1]]
        later = now_ms() + again.lease_ms - module.REPORT_MS + 1
        monkeypatch.setattr(module, "now_ms", lambda: later)
        await register(again, 2)
        assert written[3:] == [ids[2]]

    monkeypatch.setattr(stored.clients, "keep", noted)
    asyncio.run(run())


def test_a_consumer_of_a_group_that_has_ended_is_known_to_who_plans_and_to_nobody_else(stored: Stored) -> None:
    """Its group's positions stay where they are; registered again it is a client like any other."""

    async def run() -> None:
        registry = made(stored)
        first = await register(registry, 1)
        await registry.write()
        await registry.remove(ACCOUNT, first)
        await registry.write()
        assert [await registry.every(), await registry.live()] == [[], []]
        (ended,) = await registry.every(ended=True)
        assert (ended.id, ended.query.group, ended.is_live(now_ms())) == (first, "g1", False)
        for again in (registry.get(first), registry.remove(ACCOUNT, first)):
            with pytest.raises(UnknownClientError):
                await again
        await register(registry, 1)
        await registry.write()
        assert [one.id for one in await registry.every()] == [first]

    asyncio.run(run())


def test_who_has_ended_is_not_known_after_a_crash(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    """C4: of many at once few questions are asked; who comes again while it is forgotten is known nevertheless."""
    asked: list[int] = []
    remove = stored.clients.remove

    def counted(ids: Sequence[str], instance: str, now_ms: int) -> None:
        asked.append(len(ids))
        remove(ids, instance, now_ms)

    async def run() -> None:
        monkeypatch.setattr(stored.clients, "remove", counted)
        registry = made(stored)
        ids = [await register(registry, number) for number in range(50)]
        await asyncio.gather(*(registry.remove(ACCOUNT, one) for one in ids[1:]), register(registry, 60))
        assert sum(asked) == 49 and len(asked) < 20
        again = made(stored)  # nothing else was written: the process is gone
        await again.load()
        assert {one.id for one in await again.every()} == {ids[0], f"{60:032x}"}
        forgetting = asyncio.create_task(again.remove(ACCOUNT, ids[0]))
        await asyncio.sleep(0)
        await register(again, 0)
        await forgetting
        await again.write()
        last = made(stored)
        await last.load()
        assert ids[0] in {one.id for one in await last.every()}

    asyncio.run(run())


def test_after_a_restart_who_was_live_is_live_again_and_who_was_stale_is_not(stored: Stored) -> None:
    """However long the instance was away: nobody could report meanwhile."""
    now = now_ms()

    async def run() -> None:
        before = made(stored)
        ids = [await register(before, number) for number in range(3)]
        rows = []
        for client_id, seen_ago, left in ((ids[0], 900_000, 20_000), (ids[1], 950_000, -1), (ids[2], 9 * KEPT_MS, 5)):
            client = await before.get(client_id)
            until = now - 900_000 + left if client_id != ids[2] else now - 8 * KEPT_MS
            values = {name: getattr(client, name) for name in type(client).__slots__}
            values |= {"seen_ms": now - seen_ago, "until_ms": until}
            rows.append(RegisteredClient(type(client)(**values), "shop", "here"))
        stored.clients.forget(2**62)
        stored.clients.keep(rows)
        after = made(stored)
        await after.load()
        every = {one.id: one.is_live(now_ms()) for one in await after.every()}
        assert every == {ids[0]: True, ids[1]: False}
        after.report(ACCOUNT, ids[1], ClientReport(1))
        assert [one.id for one in await after.live()] == ids[:2]

    asyncio.run(run())


def test_another_instances_client_is_shown_as_it_wrote_it(stored: Stored) -> None:
    """Until it comes here: then what is known here counts, and the other one's word later no more."""

    async def run() -> None:
        here, there = made(stored), made(stored, "there")
        client = await register(there, 1)
        await there.write()
        assert [one.id for one in await here.every()] == [client]
        with pytest.raises(UnknownClientError):
            here.report(ACCOUNT, client, ClientReport())
        written = now_ms()
        while now_ms() <= written:
            await asyncio.sleep(0.001)
        await register(here, 1)
        here.report(ACCOUNT, client, ClientReport(1, 7))
        await here.write()
        there._changed.add(client)
        await there.write()
        assert (await here.get(client)).report.records == 7
        (row,) = stored.clients.live(0)
        assert (row.instance, row.client.report.records) == ("here", 7)

    asyncio.run(run())


def test_a_member_that_registers_before_all_are_led_again_is_no_split_of_its_group(stored: Stored) -> None:
    """Of thousands who are led again some come last; by the table of now they go where it goes."""

    class Led(Always):
        """Leads everyone to a cluster that changes."""

        cluster = "old"

        def route(self, query: RouteQuery) -> Route:
            """There, but for who says otherwise."""
            return replace(super().route(query), cluster=query.parameters.get("to", self.cluster))

    async def test() -> None:
        async def nothing() -> None:
            """Nobody is told."""

        routing = Led(stored, ClusterPool(), nothing)
        registry = Registry(stored, routing, Watching(), "here")
        query = RouteQuery("orders", ClientRole.CONSUMER, ("sales",), "billing")
        await registry.register(ACCOUNT, "1" * 32, query, FACTS)
        routing.cluster = "new"
        _, route = await registry.register(ACCOUNT, "2" * 32, query, FACTS)
        assert route.cluster == "new"
        with pytest.raises(SplitGroupError):
            await registry.register(ACCOUNT, "3" * 32, replace(query, parameters={"to": "old"}), FACTS)

    asyncio.run(test())


def test_an_instance_takes_no_more_clients_than_it_can(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that it knows go on."""
    monkeypatch.setattr(module, "MOST_CLIENTS", 2)

    async def run() -> None:
        registry = made(stored)
        for number in (0, 1, 0):
            await register(registry, number)
        with pytest.raises(TooManyClientsError):
            await register(registry, 2)

    asyncio.run(run())


def test_all_clients_together_report_no_more_often_than_an_instance_takes(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten seconds at least, then as many as there are."""
    monkeypatch.setattr(module, "REPORTS_PER_S", 1)

    async def run() -> None:
        registry = made(stored)
        assert (registry.report_ms, registry.lease_ms) == (10_000, 30_000)
        for number in range(12):
            await register(registry, number)
        assert (registry.report_ms, registry.lease_ms) == (12_000, 36_000)

    asyncio.run(run())


def test_what_an_application_counts_goes_on_whichever_client_and_instance_tells(stored: Stored) -> None:
    """A client that begins anew adds all that it tells, one that comes from another instance what is new."""

    async def run() -> None:
        here, there = made(stored), made(stored, "there")
        first, second = await register(here, 1), await register(here, 2)
        here.report(ACCOUNT, first, ClientReport(records=10, bytes=100, errors=1, lag=5))
        here.report(ACCOUNT, second, ClientReport(records=1, lag=7))
        here.report(ACCOUNT, first, ClientReport(records=15, bytes=150, errors=1, lag=6))
        side = ("shop", "consumer")
        assert (here.totals.sums(), here.lags()) == ({side: Sums(16, 150, 1)}, {"shop": 13})
        here.report(ACCOUNT, first, ClientReport(records=2, bytes=20))
        assert here.totals.sums() == {side: Sums(18, 170, 1)}
        await here.write()
        assert await register(there, 1) == first
        there.report(ACCOUNT, first, ClientReport(records=5, bytes=50))
        assert there.totals.sums() == {side: Sums(3, 30, 0)}
        assert there.lags() == {}

    asyncio.run(run())


def test_of_very_many_applications_the_first_are_told_apart(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    """What clients call themselves is their own: it must not make metrics without end."""
    monkeypatch.setattr(client_totals, "MOST", 2)

    async def run() -> None:
        registry = made(stored)
        for number in range(4):
            query = RouteQuery("orders", ClientRole.PRODUCER, ("sales",))
            facts = replace(FACTS, application=f"shop-{number}")
            found, _ = await registry.register(ACCOUNT, f"{number:032x}", query, facts)
            registry.report(ACCOUNT, found.id, ClientReport(records=1))
        told = {application: sums.records for (application, _), sums in registry.totals.sums().items()}
        assert told == {"(others)": 2, "shop-0": 1, "shop-1": 1}

    asyncio.run(run())


def test_bytes_of_producers_are_told_where_they_are_counted() -> None:
    """Their applications may not ask for statistics: nothing is told then, and no 0."""
    sums = {("a", "producer"): Sums(5, 0, 1), ("b", "producer"): Sums(5, 70, 0), ("c", "consumer"): Sums()}
    told = {
        (sample.name, sample.labels["application"]): sample.value
        for family in client_metrics(sums, {})
        for sample in family.samples
    }
    of_bytes = {application: value for (name, application), value in told.items() if "bytes" in name}
    assert of_bytes == {"b": 70, "c": 0}
    assert sum("records" in name for name, _ in told) == 3
