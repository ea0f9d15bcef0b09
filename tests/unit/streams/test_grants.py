"""Grants: closed where none is, inherited downward, and one more never takes anything away."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.streams.catalog.names import ObjectName
from anabranch.streams.grants import (
    Allowed,
    Authority,
    Denied,
    DeniedError,
    Grant,
    Need,
    PrincipalError,
    Privilege,
    check_principal,
    decide,
    group,
    user,
)

pytestmark = pytest.mark.unit

PARTS = st.sampled_from(["a", "b"])
NAMES = st.builds(ObjectName, PARTS, PARTS, PARTS)
SECURABLES = NAMES.flatmap(lambda name: st.sampled_from([*name.parents, str(name)]))
ACCOUNTS, GROUPS = st.sampled_from(["mei", "jo"]), st.sampled_from(["shop", "pay"])
PRINCIPALS = ACCOUNTS.map(user) | GROUPS.map(group)
GRANTS = st.frozensets(st.builds(Grant, SECURABLES, PRINCIPALS, st.sampled_from(Privilege)), max_size=8)
OWNERS = st.dictionaries(SECURABLES, ACCOUNTS, max_size=3)
AUTHORITIES = st.builds(Authority, ACCOUNTS, st.frozensets(GROUPS), GRANTS, OWNERS)
NEEDS = st.lists(st.builds(Need, NAMES, st.sampled_from(Privilege)), max_size=5)


@given(ACCOUNTS, st.frozensets(GROUPS), NEEDS.filter(bool))
def test_without_a_grant_everything_is_denied(account: str, groups: frozenset[str], needs: list[Need]) -> None:
    """R1."""
    assert decide(Authority(account, groups), needs) == Denied(tuple(sorted(set(needs))))


@given(AUTHORITIES, GRANTS, OWNERS, st.frozensets(GROUPS), NEEDS)
def test_a_grant_more_never_takes_anything_away(
    first: Authority, grants: frozenset[Grant], owners: dict[str, str], groups: frozenset[str], needs: list[Need]
) -> None:
    """R2: nor does owning more, or being in another group."""
    owned = {**owners, **{name: one for name, one in first.owners.items() if one == first.account}}
    more = Authority(first.account, first.groups | groups, first.grants | grants, owned)
    before, after = decide(first, needs), decide(more, needs)
    if isinstance(after, Denied):
        assert isinstance(before, Denied) and set(after.needs) <= set(before.needs)


@given(NAMES, NAMES, st.sampled_from(Privilege), st.sampled_from(Privilege), st.integers(0, 2))
def test_a_grant_holds_for_what_is_below_it_alone(
    name: ObjectName, other: ObjectName, given: Privilege, asked: Privilege, level: int
) -> None:
    """R3, R4."""
    above = lambda one: (*one.parents, str(one))[level]  # noqa: E731
    authority = Authority("mei", frozenset({"shop"}), frozenset({Grant(above(name), "group:shop", given)}))
    expected = above(name) == above(other) and given in (asked, Privilege.MANAGE)
    assert authority.may(other, asked) is expected
    assert authority.may_see(other) is (above(name) == above(other))


@given(NAMES, st.sampled_from(Privilege))
def test_an_owner_and_an_admin_may_do_everything(name: ObjectName, asked: Privilege) -> None:
    """R4."""
    assert Authority("mei", owners={str(name): "mei"}).may(name, asked)
    assert Authority("mei", owners={name.parents[1]: "mei"}).may(name, asked)
    assert not Authority("mei", owners={str(name): "jo"}).may(name, asked)
    assert decide(Authority("mei", is_admin=True), [Need(name, asked)]) == Allowed()


def test_a_group_is_no_account_of_its_name() -> None:
    """Whoever is called as a group is has nothing of it."""
    name = ObjectName("c", "d", "t")
    granted = frozenset({Grant(str(name), "group:shop", Privilege.READ)})
    assert not Authority("shop", frozenset(), granted).may(name, Privilege.READ)
    assert not Authority("group:shop", frozenset(), granted).may(name, Privilege.READ)


def test_a_refusal_names_what_is_denied_and_nothing_else() -> None:
    """All of it at once."""
    error = DeniedError("mei", ("read shop.orders", "write shop.out"))
    assert error.message == "mei may not read shop.orders; may not write shop.out"


@pytest.mark.parametrize(
    ("denied", "fix"),
    [
        (("call reflect, which calls methods of Java",), "leave it out"),
        (("set spark.x", "read shop.orders"), "catalog grant"),
        (("read mine: topic t of cluster c is that of shop.t",), "catalog grant"),
        (("read mine: no table of the catalog has topic t of cluster c: let the catalog have one",), "catalog create"),
        (("declare mine: a script may not: let the catalog have it", "make a function of a class"), "catalog create"),
        (("look into what has no name in the catalog (parquet)",), "leave it out"),
    ],
)
def test_the_hint_is_what_would_help(denied: tuple[str, ...], fix: str) -> None:
    """A grant only where one can be given."""
    assert fix in DeniedError("mei", denied).hint


@pytest.mark.parametrize("text", ["", "mei", "user:", "role:admin", "user:" + "x" * 200, "user:a\nb"])
def test_a_principal_that_names_nobody_is_refused(text: str) -> None:
    """Before it is kept."""
    with pytest.raises(PrincipalError):
        check_principal(text)
    assert check_principal("group:shop") == "group:shop"
