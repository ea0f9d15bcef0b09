"""What is wrong with a migration in itself is told, all at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.migration.check import InvalidMigrationError, check, check_sound
from anabranch.migration.legs import TURNS, Leg, same_links
from anabranch.migration.rehearsal import rehearsal_of
from anabranch.migration.spec import (
    AccessCarryOver,
    FenceKind,
    Hooks,
    JobKind,
    Migration,
    Readers,
    StreamJob,
    Wave,
    WaveOrder,
)
from anabranch.model.reasons import errors

pytestmark = pytest.mark.unit

WAVE = Wave("orders", ("orders", "payments"), ("shop",), codes=("orders",))
GOOD = Migration("move", "old", "new", (WAVE, Wave("clicks", ("clicks",), ("counter",))))

NAMES = ("a", "a-1", "a-2", "a-2-back", "a-2-2", "a-back", "a-back-2", "a-10", "a_2", "b")


def told(migration: Migration) -> list[str]:
    """Its errors in words."""
    return [reason.what for reason in errors(check(migration))]


def with_wave(**changes: object) -> Migration:
    """The good one, its first wave changed."""
    return replace(GOOD, waves=(replace(WAVE, **changes), *GOOD.waves[1:]))  # type: ignore[arg-type]


def test_a_good_one_has_no_fault() -> None:
    """Nor anything worth a look."""
    assert check(GOOD) == ()


@pytest.mark.parametrize(
    ("migration", "words"),
    [
        (replace(GOOD, name="NextMove!"), ["the migration has no legal name: 'NextMove!'"]),
        (replace(GOOD, target="old"), ["old is source and target"]),
        (replace(GOOD, source_id="A", target_id="A"), ["source and target have one cluster id, A"]),
        (replace(GOOD, waves=()), ["it has no wave"]),
        (replace(GOOD, waves=(WAVE, replace(GOOD.waves[1], name="orders"))), ["wave 'orders' is there twice"]),
        (with_wave(topics=()), ["wave orders has no topic"]),
        (with_wave(topics=("__consumer_offsets",)), ["wave orders: topic __consumer_offsets is never copied"]),
        (with_wave(topics=("orders", "orders")), ["topic orders is named 2 times in wave orders"]),
        (
            with_wave(topics=("orders", "clicks")),
            ["topic clicks belongs to waves clicks, orders: applications that share it must be switched together"],
        ),
        (
            with_wave(groups=("shop", "counter")),
            ["group counter belongs to waves clicks, orders: applications that share it must be switched together"],
        ),
        (with_wave(fences=()), ["wave orders has no fence, so its producers could write on"]),
        (with_wave(fences=(FenceKind.HOOK,)), ["wave orders: fence hook needs hooks.fence"]),
        (with_wave(fences=(FenceKind.ROUTES,), codes=()), ["wave orders: fence routes needs codes"]),
        (with_wave(fences=(FenceKind.ACL, FenceKind.ACL)), ["wave orders: fence acl is named twice"]),
        (
            with_wave(principals=("User:shop",)),
            ["wave orders: principals are for fence acl, readers deny or access"],
        ),
        (with_wave(groups=(), readers=Readers.DENY), ["wave orders: readers deny needs groups"]),
        (
            with_wave(order=WaveOrder.PRODUCERS_FIRST, readers=Readers.DENY),
            ["wave orders: readers deny is not for order producers first"],
        ),
        (with_wave(fences=(FenceKind.ACL,), principals=("shop",)), ["wave orders: 'shop' is no principal"]),
        (
            replace(GOOD, access=AccessCarryOver(True, {"shop": "User:a", "User:b": "User:*"})),
            ["access: 'shop' is no principal", "access: everybody is mapped to somebody"],
        ),
        (
            with_wave(jobs=(StreamJob("sums", JobKind.FLINK, "/cp"),)),
            ["wave orders: job sums: a Flink snapshot is not rewritten in its place"],
        ),
        (
            with_wave(jobs=(StreamJob("sums", JobKind.SPARK, "/cp", "/cp/"),)),
            ["wave orders: job sums: moved is where the checkpoint is"],
        ),
    ],
)
def test_each_fault_is_told_in_words(migration: Migration, words: list[str]) -> None:
    """With what to do about it."""
    assert told(migration) == words
    assert all(reason.fix for reason in errors(check(migration)))


def test_all_faults_are_told_at_once() -> None:
    """Not the first alone."""
    bad = replace(GOOD, target="old", waves=(replace(WAVE, topics=(), fences=()),))
    assert len(told(bad)) == 3


def test_faults_of_a_file_name_it() -> None:
    """By as it was typed."""
    with pytest.raises(
        InvalidMigrationError, match=r"^a/move\.yaml: migration 'move' cannot be: it has no wave$"
    ) as error:
        check_sound(Migration("move", "old", "new", ()), "a/move.yaml")
    assert error.value.hint.startswith("name topics and groups below waves")


def test_a_hook_is_enough_for_its_fence() -> None:
    """As codes are for routes."""
    assert told(with_wave(fences=(FenceKind.HOOK,), hooks=Hooks("./stop"))) == []
    assert told(with_wave(fences=(FenceKind.ROUTES, FenceKind.OBSERVE))) == []


def test_principals_are_for_access_rules_too() -> None:
    """A source without an authorizer has no fence of rules, and they are what rules are proposed for."""
    assert told(replace(with_wave(principals=("User:shop",)), access=AccessCarryOver(True))) == []


def test_names_of_links_that_would_be_too_long_are_told() -> None:
    """A link's id has at most 63 characters."""
    long = replace(GOOD, name="m" * 40, waves=(replace(WAVE, name="w" * 40),))
    assert len(Leg(long, long.waves[0], 2 * TURNS - 1).link) == 89
    assert any("would have a name of 89 characters, and may have 63" in one for one in told(long))
    fits = replace(GOOD, name="m" * 40, waves=(replace(WAVE, name="w" * 14),))
    assert told(fits) == []
    assert all(len(Leg(fits, fits.waves[0], number).link) <= 63 for number in range(2 * TURNS))
    legs = [Leg(GOOD, WAVE, number) for number in range(4)]
    assert [leg.link for leg in legs] == ["move-orders", "move-orders-back", "move-orders-2", "move-orders-2-back"]
    assert [(leg.here, leg.there) for leg in legs] == [("old", "new"), ("new", "old")] * 2
    assert [leg.spec().back_of for leg in legs] == [None, "move-orders", "move-orders-back", "move-orders-2"]


@given(st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True), st.data())
def test_links_of_two_waves_never_have_one_name_where_nothing_is_told(names: list[str], data: st.DataObject) -> None:
    """Wave ``a`` goes there a second time by link ``a-2``, which wave ``a-2`` has for its first way."""
    waves = tuple(Wave(name, (f"topic-{name}",), (f"group-{name}",)) for name in names)
    migration = replace(GOOD, waves=waves)
    links = [{Leg(migration, wave, number).link for number in range(2 * TURNS)} for wave in waves]
    is_shared = any(one & other for at, one in enumerate(links) for other in links[at + 1 :])
    assert is_shared == bool(same_links(names)) == any("have names of links of wave" in one for one in told(migration))


@given(st.sampled_from([1, 9, 20, 31, 40]), st.sampled_from([1, 9, 14, 40]))
def test_a_rehearsal_of_a_migration_that_fits_has_links_that_fit(length: int, wave: int) -> None:
    """Its name is longer than that of the migration, and no other migration's rehearsal has it."""
    made = [replace(GOOD, name=letter * length, waves=(replace(WAVE, name="w" * wave),)) for letter in "mn"]
    found = [rehearsal_of(one, one.waves[0]).migration for one in made]
    assert all(len(Leg(one, one.waves[0], number).link) <= 63 for one in found for number in (0, 1))
    assert found[0].name != found[1].name


def test_topics_of_a_rehearsal_have_names_that_are_legal_and_never_one() -> None:
    """Also where those of the wave are as long as a topic's may be, and begin alike."""
    topics = tuple("t" * 248 + end for end in "ab")
    found = rehearsal_of(replace(GOOD, waves=(replace(WAVE, topics=topics),)), replace(WAVE, topics=topics)).topics
    assert len(set(found.values())) == 2 and {len(one) for one in found.values()} == {249}
