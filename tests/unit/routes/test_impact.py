"""What a change of the table does to registered clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.reasons import Severity
from anabranch.model.routing import Client, ClientFacts, ClientRole, RouteQuery
from anabranch.routes.impact import Impact, impact, not_waited_for, renamed
from anabranch.routes.routing import router
from anabranch.routes.table import RouteTable, may_move
from tests.chance import examples
from tests.unit.routes.test_resolving import CONTEXTS, rule, table

pytestmark = pytest.mark.unit
FACTS = ClientFacts("shop", "host-1", "10.0.0.1", 42, "0.1")


def client(name: str, role: ClientRole, topics: tuple[str, ...] = ("orders",), group: str = "", **more: Any) -> Client:
    """A registered client."""
    return Client(name, FACTS, RouteQuery("orders", role, topics, group, name, more), 0, 0, 1)


def change(before: RouteTable, after: RouteTable, clients: Sequence[Client]) -> Impact:
    """What changes."""
    return impact(router(before, 1, CONTEXTS), router(after, 2, CONTEXTS), clients)


READERS = [client(f"c{number}", ClientRole.CONSUMER, group="g") for number in range(3)]
WRITER = client("p", ClientRole.PRODUCER)


def test_whom_a_change_moves_is_told_by_name() -> None:
    """And who stays is counted."""
    found = change(table(), table(None, rule("r", "new", group="g")), [*READERS, WRITER])
    assert [move.client.id for move in found.moves] == ["c0", "c1", "c2"]
    assert all(move.changes_cluster for move in found.moves)
    assert (found.staying, dict(found.groups), found.forbids) == (1, {"g": ("old", "new")}, ())


def test_a_group_is_never_split() -> None:
    """Part of it on another cluster would read its partitions twice and others never."""
    found = change(table(), table(None, rule("r", "new", client_id="c1")), READERS)
    assert [reason.what for reason in found.forbids] == [
        "group g would be split: 1 on new (consumer c1 (host-1, pid 42)); "
        "2 on old (consumer c0 (host-1, pid 42), consumer c2 (host-1, pid 42))"
    ]


def test_whoever_would_be_refused_forbids_the_change() -> None:
    """With the reason; who was refused before does not."""
    both = client("both", ClientRole.CONSUMER, ("orders", "payments"), "h")
    after = table(None, rule("pay", "new", topic="pay*"))
    found = change(table(), after, [both])
    assert "consumer both (host-1, pid 42) would be refused: topic 'orders' leads to" in found.forbids[0].what
    assert not change(after, table(None, rule("pay", "a1", topic="pay*")), [both]).forbids
    found = change(
        table(), after, [client(f"c{number}", ClientRole.CONSUMER, ("orders", "payments")) for number in range(9)]
    )
    assert len(found.forbids) == 1 and "and 6 more would be refused: topic 'orders'" in found.forbids[0].what


def test_readers_that_are_left_behind_are_named() -> None:
    """Producers go, and a consumer of their topic stays: it would see no more of them without a link back."""
    found = change(table(), table(None, rule("r", "new", role="producer")), [*READERS[:1], WRITER])
    assert not found.forbids
    assert "c0 (host-1, pid 42) stays on old, and producers of orders go to new" in found.reasons[0].what


def test_other_names_and_addresses_move_a_client_too() -> None:
    """Though it stays on its cluster, it has to begin again."""
    renamed_ = change(table(), table({"orders": {"cluster": "old", "topics": "v2.{topic}"}}), [WRITER])
    moved = change(table(), table(clusters={"old": {"bootstrap": ["other:9092"]}}), [WRITER])
    for found in (renamed_, moved):
        assert [(move.client.id, move.changes_cluster) for move in found.moves] == [("p", False)]
    assert [reason.what.split(":")[0] for reason in renamed(renamed_.moves)] == [
        "topic orders would be v2.orders on old for producer p (host-1, pid 42)"
    ]
    assert not renamed(moved.moves)


def test_a_topic_that_is_called_otherwise_on_its_cluster_is_named_with_its_clients() -> None:
    """R10; on another cluster a link copies it under that name."""
    two = {"orders": {"cluster": "old", "topics": "v2.{topic}"}}
    elsewhere = {"orders": {"cluster": "new", "topics": "v2.{topic}"}}
    (found,) = renamed(change(table(), table(two), [*READERS, WRITER]).moves)
    assert "for consumer c0 (host-1, pid 42), consumer c1 (host-1, pid 42), consumer c2" in found.what
    assert "and 1 more" in found.what and "--at-once" in found.fix
    assert not renamed(change(table(), table(elsewhere), READERS).moves)
    assert not renamed(change(table(), table(two), [client("idle", ClientRole.PRODUCER, ())]).moves)
    gone = not_waited_for(change(table(), table(two), READERS), change(table(), table(two), []))
    assert [reason.severity for reason in gone] == [Severity.WARNING]


def test_of_clients_that_are_not_heard_of_it_is_said_what_becomes_of_them() -> None:
    """A group that nobody alive has keeps its positions; a producer may still write.  Who stays is not named."""
    after = table({"orders": {"cluster": "new"}})
    gone = change(table(), after, [*READERS[1:], WRITER])
    alone, beside = (
        not_waited_for(gone, change(table(), after, [])),
        not_waited_for(gone, change(table(), after, READERS)),
    )
    assert [reason.what for reason in alone] == [
        "group g has no live consumer: its positions stay on old, and its consumers are led to new",
        "not seen any more, and not waited for: producer p (host-1, pid 42); one that still runs writes on to its "
        "cluster until it reaches the service",
    ]
    assert beside == alone[1:], "with a live consumer the group is moved"
    assert "groups sync LINK g --target new" in alone[0].fix
    assert not not_waited_for(change(table(), table(), READERS), change(table(), table(), []))


_RULES = st.lists(
    st.tuples(st.sampled_from(["old", "new"]), st.sampled_from(["g", "h", "*"]), st.sampled_from(["c0", "c*", ""])),
    max_size=3,
)
_CLIENTS = st.lists(st.tuples(st.sampled_from(list(ClientRole)), st.sampled_from(["g", "h"])), min_size=1, max_size=6)


@examples(800)
@given(_RULES, _RULES, _CLIENTS)
def test_an_impact_names_those_who_have_to_change_and_forbids_every_split(
    before: list[tuple[str, str, str]], after: list[tuple[str, str, str]], who: list[tuple[ClientRole, str]]
) -> None:
    """R6 and R7."""

    def made(rules: list[tuple[str, str, str]]) -> RouteTable:
        return table(
            None,
            *(
                rule(f"r{number}", cluster, number, **({"group": group} if not own else {"client_id": own}))
                for number, (cluster, group, own) in enumerate(rules)
            ),
        )

    clients = [
        client(f"c{number}", role, group=group if role is ClientRole.CONSUMER else "")
        for number, (role, group) in enumerate(who)
    ]
    one, other = made(before), made(after)
    found = change(one, other, clients)
    moved = {move.client.id for move in found.moves}
    lead = {at.id: router(other, 2, CONTEXTS)(at.query).cluster for at in clients}
    for at in clients:
        assert (at.id in moved) == (router(one, 1, CONTEXTS)(at.query).cluster != lead[at.id])
    split = {group for group in ("g", "h") if len({lead[at.id] for at in clients if at.query.group == group}) > 1}
    assert bool(found.forbids) == bool(split)
    assert found.staying == len(clients) - len(moved)
    assert may_move(one, other) or not moved, "what is published without a switch moves nobody"


def test_what_a_table_may_do_to_a_client_that_is_not_known() -> None:
    """Addresses and rights, a new code and one that is gone lead nobody to another cluster, or another topic."""
    lead = {"cluster": "old"}
    plain = table({"orders": lead, "shop": lead}, rule("r", "new", group="g"))
    for other in (
        table({"orders": lead, "shop": lead, "more": {"cluster": "new"}}, rule("r", "new", group="g")),
        table({"orders": lead}, rule("r", "new", group="g")),
        table({"orders": lead, "shop": {**lead, "write": False}}, rule("r", "new", group="g")),
        table({"orders": lead, "shop": lead}, rule("another", "new", group="g")),
    ):
        assert not may_move(plain, other)
    for other in (
        table({"orders": {"cluster": "new"}, "shop": lead}, rule("r", "new", group="g")),
        table({"orders": {"code": "shop"}, "shop": lead}, rule("r", "new", group="g")),
        table({"orders": {**lead, "topics": "v2.{topic}"}, "shop": lead}, rule("r", "new", group="g")),
        table({"orders": lead, "shop": lead}, rule("r", {"cluster": "new", "topics": "v2.{topic}"}, group="g")),
        table({"orders": lead, "shop": lead}),
        table({"orders": lead, "shop": lead}, rule("r", "new", group="h")),
        table({"orders": lead, "shop": lead}, rule("r", "new", 9, group="g")),
    ):
        assert may_move(plain, other)
