"""What is done to a target's rules and quotas: all that is wanted, and to nothing that was not made here (A1 to A3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.migration.access.diff import AccessDiff, QuotaChange, changed, diff, once_made, refused, while_made
from anabranch.migration.access.values import Access, Made, QuotaKey
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.model.quotas import PRODUCER_BYTE_RATE, USER, quota_entity

pytestmark = pytest.mark.unit


def rule(topic: str, principal: str = "User:shop") -> Acl:
    """Somebody may read a topic."""
    return Acl(ResourceType.TOPIC, topic, PatternType.LITERAL, principal, "*", AclOperation.READ, AclPermission.ALLOW)


def rate_of(user: str) -> QuotaKey:
    """A user's rate of bytes."""
    return QuotaKey(quota_entity({USER: user}), PRODUCER_BYTE_RATE)


rules = st.frozensets(st.sampled_from([rule(topic) for topic in "abcd"]))
keys = st.sampled_from([rate_of(user) for user in "abc"])
values = st.sampled_from([1.0, 2.0, 3.0])
accesses = st.builds(Access, rules, st.dictionaries(keys, values))
records = st.builds(Made, rules, st.dictionaries(keys, st.frozensets(values, min_size=1)))


@given(accesses, accesses, records, records)
def test_what_was_done_is_not_to_be_done_again(wanted: Access, target: Access, own: Made, others: Made) -> None:
    """All wanted rules are there, and the wanted quotas that nobody else set."""
    found = diff(wanted, target, own, others)
    there, made = changed(target, found), once_made(own, found)
    assert wanted.rules <= there.rules
    conflicts = {one.key for one in found.conflicts}
    assert {key: there.quotas[key] for key in wanted.quotas if key not in conflicts} == {
        key: value for key, value in wanted.quotas.items() if key not in conflicts
    }
    again = diff(wanted, there, made, others)
    assert not again.changes
    assert again.delete == ()
    assert {one.key for one in again.conflicts} == conflicts


@given(accesses, accesses, records, records)
def test_nothing_is_touched_that_was_not_made_here(wanted: Access, target: Access, own: Made, others: Made) -> None:
    """Nor what another wave has made, or wants, too; and what is touched is in the record first."""
    found = diff(wanted, target, own, others)
    assert {*found.delete} == own.rules - wanted.rules - others.rules
    assert target.rules - changed(target, found).rules == {*found.delete} & target.rules
    for change in found.quotas:
        assert change.before is None or change.before in (own | others).quotas[change.key]
        assert change.value is not None or change.key not in {**wanted.quotas, **others.quotas}
    before, there = while_made(own, found), changed(target, found)
    assert there.rules - target.rules <= before.rules
    assert own.rules <= before.rules
    for change in found.quotas:
        assert change.value is None or change.value in before.quotas[change.key]
        assert change.before not in own.quotas.get(change.key, ()) or change.before in before.quotas[change.key]


@given(accesses, accesses, records, records, st.data())
def test_who_comes_after_one_that_died_ends_the_same(
    wanted: Access, target: Access, own: Made, others: Made, data: st.DataObject
) -> None:
    """Wherever in between it died: the record was written, some was done, and not that it is done."""
    found = diff(wanted, target, own, others)
    create = data.draw(st.sets(st.sampled_from(found.create)) if found.create else st.just(set()))
    quotas = data.draw(st.sets(st.sampled_from(found.quotas)) if found.quotas else st.just(set()))
    some = changed(target, AccessDiff(create=tuple(create), quotas=tuple(quotas)))
    record = while_made(own, found)
    rest = diff(wanted, some, record, others)
    assert changed(some, rest) == changed(target, found)
    assert {one.key for one in rest.conflicts} == {one.key for one in found.conflicts}


@given(accesses, accesses, records, records, st.data())
def test_what_was_refused_is_not_in_the_record(
    wanted: Access, target: Access, own: Made, others: Made, data: st.DataObject
) -> None:
    """What was done of the rest is; and all that was in it before."""
    found = diff(wanted, target, own, others)
    create = data.draw(st.sets(st.sampled_from(found.create)) if found.create else st.just(set()))
    set_ = [one for one in found.quotas if one.value is not None]
    quotas = data.draw(st.sets(st.sampled_from(set_)) if set_ else st.just(set()))
    record = refused(own, found, changed(target, AccessDiff(create=tuple(create), quotas=tuple(quotas))))
    assert record.rules == own.rules | create | {*found.adopt}
    for change in set_:
        is_in = change.value in record.quotas.get(change.key, ())
        assert is_in is (change in quotas or change.value in own.quotas.get(change.key, ()))
    assert all(values <= record.quotas[key] for key, values in own.quotas.items())


@given(accesses, records)
def test_what_is_taken_back_leaves_what_was_there(target: Access, own: Made) -> None:
    """Of a wave that wants nothing any more."""
    found = diff(Access(), target, own, Made())
    there = changed(target, found)
    assert there.rules == target.rules - own.rules
    assert there.quotas == {k: v for k, v in target.quotas.items() if v not in own.quotas.get(k, ())}
    assert once_made(own, found) == Made()


def test_a_quota_that_somebody_else_set_is_told_and_stays() -> None:
    """Also one that was made here once, and was changed since."""
    key = rate_of("shop")
    for own in (Made(), Made(quotas={key: frozenset({5.0})})):
        found = diff(Access(quotas={key: 7.0}), Access(quotas={key: 6.0}), own, Made())
        assert found.conflicts == (QuotaChange(key.entity, key.name, 6.0, 7.0),)
        assert found.quotas == ()
        assert once_made(own, found) == Made()
    found = diff(Access(quotas={key: 7.0}), Access(quotas={key: 5.0}), Made(quotas={key: frozenset({5.0})}), Made())
    assert found.quotas == (QuotaChange(key.entity, key.name, 5.0, 7.0),)


def test_what_two_waves_want_goes_with_the_last_of_them() -> None:
    """Each has it in its record; the first one that lets go deletes nothing."""
    shared = Access(frozenset({rule("a")}), {rate_of("a"): 1.0})
    first = diff(shared, Access(), Made(), Made())
    target, one = changed(Access(), first), once_made(Made(), first)
    second = diff(shared, target, Made(), one)
    assert (second.create, second.adopt, len(second.quotas_adopted)) == ((), (rule("a"),), 1)
    other = once_made(Made(), second)
    assert other == one
    gone = diff(Access(), target, one, other)
    assert (gone.delete, gone.quotas, once_made(one, gone)) == ((), (), Made())
    last = diff(Access(), target, other, Made())
    assert changed(target, last) == Access()
