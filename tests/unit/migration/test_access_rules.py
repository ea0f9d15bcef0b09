"""What becomes of the source's rules and quotas on the target (A4, A5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.migration.access.quotas import carried_quotas
from anabranch.migration.access.rules import carried, is_fence, proposed
from anabranch.migration.access.scope import AccessScope, access_scope
from anabranch.migration.access.users import lacking
from anabranch.migration.access.values import Access, QuotaKey
from anabranch.migration.legs import Leg
from anabranch.migration.spec import AccessCarryOver, CopyRules, FenceKind, JobKind, Migration, Readers, StreamJob, Wave
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.model.plugins import PluginSpec
from anabranch.model.quotas import CLIENT_ID, IP, PRODUCER_BYTE_RATE, USER, quota_entity
from anabranch.operations.migrations.fencing import denials

pytestmark = pytest.mark.unit

OWN = "User:link"
DESCRIBE = AclOperation.DESCRIBE
SHOP = Wave("shop", ("shop.orders", "shop.payments"), ("billing",), clients=("till",), fences=(FenceKind.ACL,))
OTHER = Wave("clicks", ("clicks",), ("counter",))
PREFIX = PluginSpec("prefix")


def scope(naming: PluginSpec | None = None, wave: Wave = SHOP, **principals: str) -> AccessScope:
    """Of a wave of two topics and a group; principals are mapped by their names."""
    mapping = {f"User:{old}": f"User:{new}" for old, new in principals.items()}
    access = AccessCarryOver(True, mapping, True)
    copy = CopyRules() if naming is None else CopyRules(naming)
    return access_scope(Leg(Migration("move", "old", "new", (wave, OTHER), copy=copy, access=access), wave), OWN)


def rule(name: str = "shop.orders", **other: Any) -> Acl:
    """The shop may read a topic, or something else."""
    plain = Acl(ResourceType.TOPIC, name, PatternType.LITERAL, "User:shop", "*", AclOperation.READ, AclPermission.ALLOW)
    return replace(plain, **other)


def became(of: Acl, naming: PluginSpec | None = None, **principals: str) -> set[Acl] | str | None:
    """What is made of a rule, beside one that makes the shop a user; why it is not, None where it is left."""
    base = rule("shop.orders", operation=AclOperation.DESCRIBE)
    made = scope(naming, **principals)
    found = carried({base, of}, made)
    if refused := [one.why for one in found.refused if one.rule == of]:
        return refused[0]
    if of in found.left:
        return None
    return set(found.wanted - carried({base}, made).wanted)


GROUP, IDS, CLUSTER = ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID, ResourceType.CLUSTER
PREFIXED, DENY = PatternType.PREFIXED, AclPermission.DENY


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (rule(), {rule()}),
        (rule(host="10.0.0.1", permission=DENY), {rule(host="10.0.0.1", permission=DENY)}),
        (rule("clicks"), None),
        (rule("shop.", pattern=PREFIXED), {rule("shop.", pattern=PREFIXED)}),
        (rule("shops.", pattern=PREFIXED), None),
        (rule("*"), {rule("shop.orders"), rule("shop.payments")}),
        (rule("*", pattern=PREFIXED), None),
        (rule("billing", resource_type=GROUP), {rule("billing", resource_type=GROUP)}),
        (rule("bill", resource_type=GROUP, pattern=PREFIXED), {rule("bill", resource_type=GROUP, pattern=PREFIXED)}),
        (rule("*", resource_type=GROUP), {rule("billing", resource_type=GROUP)}),
        (rule("counter", resource_type=GROUP), None),
        (rule("totals", resource_type=GROUP), "its groups are in no wave"),
        (rule("totals", resource_type=GROUP, principal="User:x"), None),
        (rule("till-1", resource_type=IDS), {rule("till-1", resource_type=IDS)}),
        (rule("till", resource_type=IDS, pattern=PREFIXED), {rule("till", resource_type=IDS, pattern=PREFIXED)}),
        (rule("*", resource_type=IDS), "it is about all transactional ids, also those of others"),
        (rule("till-1", resource_type=IDS, principal="User:x"), None),
        (
            rule("kafka-cluster", resource_type=CLUSTER, operation=AclOperation.IDEMPOTENT_WRITE),
            {rule("kafka-cluster", resource_type=CLUSTER, operation=AclOperation.IDEMPOTENT_WRITE)},
        ),
        (
            rule("kafka-cluster", resource_type=CLUSTER, operation=AclOperation.ALTER),
            "it is about the whole cluster",
        ),
        (rule("kafka-cluster", resource_type=CLUSTER, principal="User:x"), None),
        (rule("token", resource_type=ResourceType.DELEGATION_TOKEN), "tokens and users are not carried over"),
        (rule("User:a", resource_type=ResourceType.USER), "tokens and users are not carried over"),
        (rule(principal=OWN), None),
        (rule(principal="User:*"), {rule(principal="User:*")}),
    ],
)
def test_each_kind_of_rule_has_its_fate(of: Acl, expected: set[Acl] | str | None) -> None:
    """Kept, narrowed, told with the reason, or left, for it is somebody else's."""
    assert became(of) == expected


def test_topics_are_renamed_as_they_are_copied() -> None:
    """Prefixes, too, where the policy makes one prefix of them."""
    assert became(rule(), PREFIX) == {rule("old.shop.orders")}
    assert became(rule("shop.", pattern=PREFIXED), PREFIX) == {rule("old.shop.", pattern=PREFIXED)}
    assert became(rule("*"), PREFIX) == {rule("old.shop.orders"), rule("old.shop.payments")}
    assert became(rule("billing", resource_type=GROUP), PREFIX) == {rule("billing", resource_type=GROUP)}
    ending = PluginSpec("template", {"template": "{topic}.{source}"})
    assert became(rule(), ending) == {rule("shop.orders.old")}
    assert became(rule("shop.", pattern=PREFIXED), ending) == (
        "the naming policy does not make one prefix of what begins with it"
    )


def test_principals_are_mapped_and_all_others_keep_their_names() -> None:
    """In each rule."""
    made = scope(shop="shop-2")
    found = carried({rule(), rule(principal="User:till"), rule("x", resource_type=IDS)}, made)
    assert {one.principal for one in found.wanted} == {"User:shop-2", "User:till"}
    assert proposed(replace(made, named=frozenset({"User:shop"}))) == {
        replace(rule(topic), principal="User:shop-2", operation=operation)
        for topic in SHOP.topics
        for operation in (AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE)
    } | {
        replace(rule("billing", resource_type=GROUP), principal="User:shop-2", operation=operation)
        for operation in (AclOperation.READ, AclOperation.DESCRIBE)
    }
    assert proposed(made) == frozenset()


def test_a_wave_that_is_read_by_jobs_alone_may_read_and_transactions_have_their_ids() -> None:
    """Jobs read without a group; who only writes reads nothing."""
    job = StreamJob("totals", JobKind.SPARK, "/checkpoints/totals")
    made = [scope(wave=replace(SHOP, groups=(), jobs=jobs, principals=("User:shop",))) for jobs in ((), (job,))]
    reads = {replace(rule(topic), operation=AclOperation.READ) for topic in SHOP.topics}
    assert proposed(made[1]) - proposed(made[0]) == reads
    ids = {replace(rule("till-1", resource_type=IDS), operation=one) for one in (AclOperation.WRITE, DESCRIBE)}
    assert proposed(made[1], ["till-1"]) - proposed(made[1]) == ids


def test_the_links_own_rules_are_carried_only_where_the_file_names_them() -> None:
    """An application may come as who carries it over."""
    own = rule(principal=OWN)
    assert carried({own}, scope()).wanted == frozenset()
    assert carried({own}, scope(link="shop")).wanted == {rule()}
    assert carried({own}, scope(wave=replace(SHOP, principals=(OWN,)))).wanted == {own}


names = st.sampled_from(["shop.orders", "shop.payments", "shop.", "sh", "clicks", "*", "billing", "b", "kafka-cluster"])
acls = st.builds(
    Acl,
    st.sampled_from(ResourceType),
    names,
    st.sampled_from(PatternType),
    st.sampled_from(["User:shop", "User:x", "User:*", OWN]),
    st.sampled_from(["*", "10.0.0.1"]),
    st.sampled_from(AclOperation),
    st.sampled_from(AclPermission),
)
namings = st.sampled_from([None, PREFIX, PluginSpec("template", {"template": "a{topic}b"})])


@given(st.frozensets(acls, max_size=12), namings)
def test_a_fence_is_never_carried_over(rules: frozenset[Acl], naming: PluginSpec | None) -> None:
    """Neither one that stands on the source, nor anything that would look like one on the target."""
    made = scope(naming)
    fenced = {*rules, *denials(SHOP, SHOP.topics, rules, OWN)}
    found = carried(fenced, made)
    assert not any(is_fence(one) for one in found.wanted)
    assert {*denials(SHOP, SHOP.topics, rules, OWN)} <= {one.rule for one in found.refused}
    assert found.wanted == carried(rules, made).wanted


def test_a_fence_of_groups_is_never_carried_over() -> None:
    """Of a wave whose switch makes such; else a rule that looks like one is somebody's own."""
    denied = rule("billing", resource_type=GROUP, permission=DENY)
    narrower = replace(denied, host="10.0.0.1")
    wave = replace(SHOP, readers=Readers.DENY)
    found = carried({rule(), denied, narrower}, scope(wave=wave))
    assert [(one.rule, one.why.partition(" as ")[0]) for one in found.refused] == [
        (denied, "it denies reading in a group")
    ]
    assert narrower in found.wanted and denied in carried({rule(), denied}, scope()).wanted


@given(st.frozensets(acls, max_size=12), namings)
def test_each_rule_of_the_source_is_accounted_for(rules: frozenset[Acl], naming: PluginSpec | None) -> None:
    """Carried, told, or left; and no rule is about a name that is neither the wave's nor under a prefix of a rule."""
    made = scope(naming)
    found = carried(rules, made)
    refused = {one.rule for one in found.refused}
    assert not refused & {*found.left}
    rest = rules - refused - {*found.left}
    assert carried(rest | set(SHARED), made).wanted >= found.wanted
    for one in found.wanted:
        if one.pattern is PatternType.LITERAL and one.resource_type in (ResourceType.TOPIC, GROUP):
            assert one.resource_name in {*made.topics.values(), *made.groups}


SHARED = (rule("shop.orders", principal="User:shop"), rule("shop.orders", principal="User:x"))


def test_quotas_of_users_and_client_ids_of_the_wave_are_carried() -> None:
    """Not those of everybody, nor of addresses; users by their new names."""
    users = frozenset({"User:shop", "User:till", "User:*"})

    def key(**names: str | None) -> QuotaKey:
        return QuotaKey(quota_entity({name.replace("_", "-"): value for name, value in names.items()}), "r")

    quotas = {
        key(user="shop"): 1.0,
        key(user="shop", client_id=None): 2.0,
        key(client_id="till"): 3.0,
        key(client_id="till", user=None): 4.0,
        key(user="x"): 5.0,
        key(client_id="x"): 6.0,
        key(user=None): 7.0,
        key(user=None, client_id=None): 8.0,
        key(client_id=None): 9.0,
        key(ip="10.0.0.1"): 10.0,
        key(group="g"): 11.0,
    }
    found = carried_quotas(quotas, scope(shop="shop-2"), users)
    assert found.wanted == {
        key(user="shop-2"): 1.0,
        key(user="shop-2", client_id=None): 2.0,
        key(client_id="till"): 3.0,
        key(client_id="till", user=None): 4.0,
    }
    assert {*found.left} == {key(user="x"), key(client_id="x")}
    assert {one.value for one in found.refused} == {7.0, 8.0, 9.0, 10.0, 11.0}
    assert {USER, CLIENT_ID, IP} == {"user", "client-id", "ip"}


def test_users_that_become_one_must_have_one_quota() -> None:
    """Which of two values is meant is not guessed."""
    users = frozenset({"User:a", "User:b"})
    keys = [QuotaKey(quota_entity({USER: user}), PRODUCER_BYTE_RATE) for user in "ab"]
    made = scope(a="one", b="one")
    assert carried_quotas(dict.fromkeys(keys, 1.0), made, users).wanted == {
        QuotaKey(quota_entity({USER: "one"}), PRODUCER_BYTE_RATE): 1.0
    }
    found = carried_quotas(dict(zip(keys, (1.0, 2.0), strict=True)), made, users)
    assert (found.wanted, [one.quota for one in found.refused]) == ({}, keys)


def test_users_without_a_password_on_the_target_are_named() -> None:
    """Those that rules or quotas name, by their names there, and that have one on the source."""
    key = QuotaKey(quota_entity({USER: "slow"}), PRODUCER_BYTE_RATE)
    wanted = Access(frozenset({rule(), rule(principal="User:new"), rule(principal="User:*")}), {key: 1.0})
    assert lacking(wanted, {"User:former": "User:new"}, {"shop", "former", "slow", "x"}, {"shop"}) == ("new", "slow")
    assert lacking(wanted, {}, {"former"}, ()) == ()
