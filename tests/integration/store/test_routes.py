"""Versions of the route table and registered clients, on each database."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from anabranch.model.routing import Client, ClientFacts, ClientReport, ClientRole, RouteQuery
from anabranch.store.clients import NOBODY, RegisteredClient, RouteClients
from anabranch.store.database import Database
from anabranch.store.routes import NoVersionError, PublishedMeanwhileError, RouteVersions
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.test

NOW = 1_000_000
TABLE = {"version": 1, "codes": {"orders": {"cluster": "old"}}, "rules": []}


def test_of_two_who_publish_at_once_one_is_refused(database: Database) -> None:
    """S8, time after time: one version comes of it, and the other is told who was first."""
    versions = RouteVersions(database)
    for base in range(5):
        gate = threading.Barrier(4)

        def publish(at: int, base: int = base, gate: threading.Barrier = gate) -> str:
            gate.wait(TIMEOUT_S)
            try:
                return versions.publish(TABLE, base, f"author-{at}", "r", NOW).author
            except PublishedMeanwhileError as error:
                return f"not over {error.author}, {error.base}, {error.newest}"

        with ThreadPoolExecutor(4) as pool:
            told = list(pool.map(publish, range(4)))
        (winner,) = [one for one in told if not one.startswith("not")]
        assert sorted(told) == sorted([winner, *[f"not over {winner}, {base}, {base + 1}"] * 3])
    assert [one.version for one in versions.notes(10)] == [5, 4, 3, 2, 1]


def test_versions_are_read_as_they_were_published(database: Database) -> None:
    """S7: by number, the newest, and in pages from either end."""
    versions = RouteVersions(database)
    assert versions.newest_number() == 0
    with pytest.raises(NoVersionError, match="published yet"):
        versions.get(0)
    made = [versions.publish({**TABLE, "rules": [{"at": at}]}, at, "mei", f"why {at}", NOW + at) for at in range(6)]
    assert versions.newest_number() == 6
    assert [versions.get(one.version) for one in made] == made
    assert [one.version for one in versions.notes(2, before=4)] == [3, 2]
    assert [one.version for one in versions.after(4, 10)] == [6, 5]
    assert [one.version for one in versions.after(0, 2)] == [6, 5]
    for wrong in (0, 7):
        with pytest.raises(NoVersionError):
            versions.get(wrong)
    with pytest.raises(PublishedMeanwhileError, match="mei has published version 6"):
        versions.publish(TABLE, 5, "eve", "late", NOW)


def client(number: int, group: str = "", until: int = NOW + 100) -> Client:
    """A client."""
    role = ClientRole.CONSUMER if group else ClientRole.PRODUCER
    return Client(
        f"{number:032x}",
        ClientFacts("shop", "host-1", "127.0.0.1", 42, "0.1"),
        RouteQuery("orders", role, ("sales", "^a.*"), group, "c", {"site": "berlin"}),
        NOW,
        NOW + 1,
        until,
        "old",
        3,
        ClientReport(3, 10, 1000, 1, 7, {"sales-0": 12}, "no broker"),
    )


def test_clients_are_known_as_they_were_written(database: Database) -> None:
    """Written again they are as they were written last, each once."""
    clients = RouteClients(database)
    clients.keep([])
    first = RegisteredClient(client(1, "billing"), "shop", "here")
    second = RegisteredClient(client(2), "shop", "there")
    clients.keep([first, second])
    moved = replace(first, client=replace(first.client, cluster="new", until_ms=NOW + 200, seen_ms=NOW + 50))
    clients.keep([moved])
    assert clients.of_instance("here", NOW) == [moved]
    assert clients.of_others("here", NOW) == [second]
    assert clients.live(NOW + 99) == [moved, second]
    assert clients.live(NOW + 100) == [moved]
    assert clients.get(second.client.id) == second
    assert clients.get("0" * 32) is None
    clients.keep([replace(first, instance="there")])
    assert clients.get(first.client.id) == moved, "what was seen before tells nothing new"


def test_who_is_beside_a_client_is_found_by_its_group(database: Database) -> None:
    """Its own row even where its lease has ended, of others those that live; none that the instance has that asks."""
    clients = RouteClients(database)
    rows = [RegisteredClient(client(at, "billing", NOW + at * 10), "shop", "here") for at in range(1, 4)]
    clients.keep([*rows, RegisteredClient(client(9), "shop", "here")])
    first, second = rows[0].client.id, rows[1].client.id
    assert clients.beside([first], ["billing"], "there", NOW + 20) == [rows[0], rows[2]]
    assert clients.beside([first, second], [], "there", NOW) == rows[:2]
    assert clients.beside(["f" * 32], ["other"], "there", NOW) == []
    assert clients.beside([first], ["billing"], "here", NOW) == []


def test_clients_of_groups_that_have_ended_are_kept_as_such_that_nobody_hears_of(database: Database) -> None:
    """Until they are forgotten like stale ones; one that registers again is somebody's."""
    clients = RouteClients(database)
    reader = RegisteredClient(client(1, "billing", NOW + 50), "shop", "here")
    clients.keep([reader, RegisteredClient(client(2, until=NOW + 50), "shop", "here")])
    clients.remove([f"{at:032x}" for at in (1, 2)], "here", NOW)
    (ended,) = clients.of_others("here", NOW - 1)
    assert (ended.client.id, ended.instance, ended.client.is_live(NOW)) == (reader.client.id, NOBODY, False)
    assert clients.of_instance("here", 0) == [] and clients.live(NOW) == []
    clients.remove([reader.client.id], NOBODY, NOW + 5)
    clients.keep([reader])
    assert clients.of_instance("here", NOW) == [reader]


def test_clients_that_are_gone_are_forgotten(database: Database) -> None:
    """Long after their leases, or at once where they say so; not those that another instance hears of by now."""
    clients = RouteClients(database)
    mine = [RegisteredClient(client(at, until=NOW + at), "shop", "here") for at in range(1200)]
    theirs = RegisteredClient(client(5000), "shop", "there")
    clients.keep([*mine, theirs])
    clients.remove([one.client.id for one in (*mine[:1100], theirs)], "here", NOW)
    assert clients.live(0) == [*mine[1100:], theirs]
    assert clients.forget(NOW + 1150) == 51
    assert len(clients.live(0)) == 50
