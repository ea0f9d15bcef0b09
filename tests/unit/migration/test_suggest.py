"""What is suggested: what belongs together is one wave, and the check finds no fault in it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.migration.check import check
from anabranch.migration.inventory import GroupInventory, Inventory, TopicInventory, WriterInventory
from anabranch.migration.legs import same_links
from anabranch.migration.spec import AccessCarryOver, FenceKind
from anabranch.migration.suggest import SeenAccess, suggest
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.model.groups import GroupKind, GroupState, Member
from anabranch.model.reasons import errors

pytestmark = pytest.mark.unit


def topic(name: str) -> TopicInventory:
    """A topic of one partition."""
    return TopicInventory(name, 1, 1, 10, 1_000, 0.0, {})


def group(name: str, *topics: str, kind: GroupKind = GroupKind.CLASSIC) -> GroupInventory:
    """A group with a member of a client id."""
    return GroupInventory(name, kind, GroupState.STABLE, (Member("m", f"{name}-client", "/10.0.0.1"),), topics, 0)


def inventory(
    topics: list[str], groups: list[GroupInventory] | None = None, writers: tuple[WriterInventory, ...] = ()
) -> Inventory:
    """A source that holds these."""
    found: Mapping[str, GroupInventory] = {one.name: one for one in groups or []}
    return Inventory("old", "OLD", "4.3", 3, 1_000, {name: topic(name) for name in topics}, found, writers)


def test_topics_that_a_group_or_a_transaction_shares_are_one_wave() -> None:
    """Others are waves of their own, and a group is where it reads."""
    seen = inventory(
        ["shop.orders", "shop.payments", "clicks", "__consumer_offsets", "heartbeats"],
        [group("billing", "shop.orders"), group("counter", "clicks"), group("app", "clicks", kind=GroupKind.STREAMS)],
        (WriterInventory(7, "till", ("shop.orders", "shop.payments"), 0), WriterInventory(8, "", ("clicks",), 0)),
    )
    made = suggest("move", "new", "NEW", seen, (FenceKind.ACL, FenceKind.OBSERVE))
    assert [(wave.name, wave.topics, wave.groups, wave.clients) for wave in made.waves] == [
        ("clicks", ("clicks",), ("counter",), ("app-client", "counter-client")),
        ("shop", ("shop.orders", "shop.payments"), ("billing",), ("billing-client",)),
    ]
    assert {wave.fences for wave in made.waves} == {(FenceKind.ACL, FenceKind.OBSERVE)}
    assert (made.source, made.source_id, made.target, made.target_id) == ("old", "OLD", "new", "NEW")


def test_where_everybody_may_write_the_others_are_named() -> None:
    """A fence that denied everybody would deny the links; where rules name all writers the fence goes by them."""
    topic_rule = partial(Acl, ResourceType.TOPIC, host="*", permission=AclPermission.ALLOW, pattern=PatternType.LITERAL)
    rules = [
        topic_rule("orders", principal="User:*", operation=AclOperation.WRITE),
        topic_rule("orders", principal="User:shop", operation=AclOperation.ALL),
        topic_rule("orders", principal="User:link", operation=AclOperation.WRITE),
        topic_rule("orders", principal="User:reader", operation=AclOperation.READ),
        topic_rule("clicks", principal="User:site", operation=AclOperation.WRITE),
    ]
    seen = inventory(["orders", "clicks"])
    carried = AccessCarryOver(True, quotas=True)
    made = suggest("move", "new", "", seen, (FenceKind.ACL,), carried, SeenAccess(rules, "User:link"))
    assert {wave.name: wave.principals for wave in made.waves} == {"clicks": (), "orders": ("User:shop",)}
    assert made.access == carried and not errors(check(made))
    assert {wave.principals for wave in suggest("move", "new", "", seen, (FenceKind.OBSERVE,)).waves} == {()}


def test_waves_that_would_have_one_name_are_numbered() -> None:
    """Also those of names that no link may have, and of names that links of another wave have."""
    made = suggest("move", "new", "", inventory(["Ä.1", "Ä_1", "ß"]), (FenceKind.OBSERVE,))
    assert sorted(wave.name for wave in made.waves) == ["1", "1_2", "wave"]
    made = suggest("move", "new", "", inventory(["orders", "orders-2", "orders-back", "shop-2", "shop"]), ())
    assert not same_links(wave.name for wave in made.waves)


names = st.text("abAB.-_ä", min_size=1, max_size=30)


@given(st.lists(names, unique=True, max_size=8), st.data())
def test_no_fault_is_found_in_what_is_suggested(topics: list[str], data: st.DataObject) -> None:
    """Whatever reads and writes there: no topic and no group belongs to two waves, and each topic belongs to one."""
    some = st.lists(st.sampled_from(topics), unique=True, min_size=1) if topics else st.just([])
    read = data.draw(st.lists(some, max_size=5))
    written = data.draw(st.lists(some, max_size=3))
    groups = [group(f"g{number}", *mine) for number, mine in enumerate(read) if mine]
    writers = tuple(WriterInventory(n, f"t{n}", tuple(sorted(mine)), 0) for n, mine in enumerate(written) if mine)
    seen = inventory(topics, groups, writers)
    made = suggest("move", "new", "", seen, (FenceKind.OBSERVE,))
    faults = errors(check(made))
    assert [reason.what for reason in faults] == ([] if topics else ["it has no wave"])
    assert sorted(name for wave in made.waves for name in wave.topics) == sorted(topics)
    for one in groups:
        assert sum(one.name in wave.groups for wave in made.waves) == 1
