"""Processes that a change of routes would have read on one cluster and write on another."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.model.cluster import Security
from anabranch.model.routing import Client, ClientFacts, ClientRole, Route, RouteQuery
from anabranch.operations.routes.planning import parted
from anabranch.routes.impact import ClientMove, Impact

pytestmark = pytest.mark.unit
OLD = Route("orders", "old", ("old:1",), Security(), {}, True, True, "", 1, 1)
NEW = replace(OLD, cluster="new")


def client(number: int, role: ClientRole, pid: int = 7, cluster: str = "old") -> Client:
    """One of a process."""
    facts = ClientFacts("shop", "host-1", "127.0.0.1", pid, "0.1")
    query = RouteQuery("orders", role, ("a",), "g", f"c{number}")
    return Client(f"{number:032x}", facts, query, 0, 0, 10, cluster)


READER, WRITER = client(1, ClientRole.CONSUMER), client(2, ClientRole.PRODUCER)


def moves(*clients: Client) -> Impact:
    """These go from old to new."""
    return Impact(tuple(ClientMove(one, OLD, NEW) for one in clients))


def test_a_process_of_which_one_side_moves_is_named() -> None:
    """With where each of both would be; of several the first, and how many more."""
    (said,) = parted(moves(READER), [READER, WRITER])
    assert "consumer c1 (host-1, pid 7) would read on new" in said.what
    assert "producer c2 (host-1, pid 7), of the same process, write on old:" in said.what
    others = [client(3, ClientRole.CONSUMER, 8), client(4, ClientRole.PRODUCER, 8)]
    (said,) = parted(moves(WRITER, others[0]), [READER, WRITER, *others])
    assert "c1 (host-1, pid 7) would read on old" in said.what and "(and 1 more such processes)" in said.what


def test_one_that_moves_as_a_whole_or_is_parted_already_is_not() -> None:
    """What heals it is no fault; nor is a process that does one of both, or that does not say where it runs."""
    gone = replace(READER, cluster="new")
    nowhere = [replace(one, facts=replace(one.facts, host="")) for one in (READER, WRITER)]
    for moved, clients in (
        (moves(READER, WRITER), [READER, WRITER]),
        (moves(WRITER), [gone, WRITER]),
        (moves(READER), [READER, client(5, ClientRole.PRODUCER, 8)]),
        (moves(nowhere[0]), nowhere),
        (Impact(), [READER, WRITER]),
    ):
        assert parted(moved, clients) == []
