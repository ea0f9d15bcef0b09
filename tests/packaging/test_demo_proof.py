"""The demo's proof finds what it is there to find."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from examples.demo.ledger import Reading, value_of
from examples.demo.migration import link
from examples.demo.proof import Log, TopicProof, of_ledger, of_reading, of_totals
from examples.demo.timeline import lines

pytestmark = pytest.mark.unit

WRITTEN = {"a": 3, "b": 2}
RECORDS = [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2)]


def reading(records: Iterable[tuple[str, int]]) -> Reading:
    """Somebody who has met these."""
    found = Reading()
    for key, number in records:
        found.note(key.encode(), value_of(key, number).encode())
    return found


def holds(found: Reading) -> bool:
    """Whether the proof takes it for all that was written."""
    return of_reading("group", "read", found.records, found.next, found.samples, WRITTEN).holds


def test_all_records_in_the_order_of_their_keys_hold() -> None:
    """However the keys are mixed."""
    assert holds(reading(RECORDS)) and holds(reading(sorted(RECORDS)))


@pytest.mark.parametrize(
    ("records", "kind"),
    [
        ([*RECORDS[:2], *RECORDS[3:]], "lost"),
        ([*RECORDS, ("a", 2)], "repeated or reordered"),
        ([("a", 0), ("b", 0), ("a", 2), ("b", 1), ("a", 1)], "lost"),
        (RECORDS[:-1], ""),
        ([], ""),
    ],
    ids=["lost", "repeated", "reordered", "lost at the end", "nothing"],
)
def test_what_is_lost_repeated_or_reordered_is_found(records: list[tuple[str, int]], kind: str) -> None:
    """With a sample, but at the end, where only the count says it."""
    found = reading(records)
    assert not holds(found)
    assert set(found.problems) >= ({kind} if kind else set())


@pytest.mark.parametrize(
    "value", [value_of("a", 0).encode()[:-1], value_of("a", 0).encode().replace(b"a", b"b", 1), b"", None, b"a:x:1"]
)
def test_what_is_altered_is_found(value: bytes | None) -> None:
    """In the number, the key or the checksum."""
    found = Reading()
    found.note(b"a", value)
    assert found.problems == {"altered": 1}


def test_an_application_is_held_against_the_log() -> None:
    """What it had acknowledged must be there, no more and no less."""
    told = {"written": WRITTEN, "refused": [], "records_read": 5, "read": WRITTEN, "samples": []}
    good = of_ledger("shop", "written", "read", told, reading(RECORDS))
    assert [one.holds for one in good] == [True, True]
    less = of_ledger("shop", "written", "read", told, reading(RECORDS[:-1]))
    assert [one.holds for one in less] == [False, True]
    assert not of_ledger("shop", "written", "read", {**told, "refused": ["timed out"]}, reading(RECORDS))[0].holds


def test_a_total_that_counted_twice_or_left_out_is_found() -> None:
    """By count, sum and last number."""
    assert of_totals({"a": [3, 3, 2], "b": [2, 1, 1]}, WRITTEN).holds
    for wrong in ({"a": [3, 3, 2]}, {"a": [4, 5, 2], "b": [2, 1, 1]}, {"a": [3, 4, 3], "b": [2, 1, 1]}):
        assert not of_totals(wrong, WRITTEN).holds


def test_topics_are_equal_by_digest_and_count() -> None:
    """Both."""
    log = Log(2, "x", Reading())
    assert TopicProof("t", log, Log(2, "x", Reading())).equal
    assert not TopicProof("t", log, Log(2, "y", Reading())).equal
    assert not TopicProof("t", log, Log(1, "x", Reading())).equal


def test_a_switch_is_told_in_four_lines() -> None:
    """Steps of one kind that follow each other are one."""
    kinds = ["preflight", "fence producers", "fence producers", "drain", "point of no return", "run reverse link"]
    steps = [{"kind": kind, "ended_ms": 1_000 + 10 * number} for number, kind in enumerate(kinds, 1)]
    assert lines({"run": {"began_ms": 1_000}, "steps": steps}) == [
        "before: preflight 10 ms",
        "held up: fence producers 20 ms, drain 10 ms",
        "no return: point of no return 10 ms",
        "then: run reverse link 10 ms",
    ]
    assert [link(leg) for leg in range(4)] == ["move-shop", "move-shop-back", "move-shop-2", "move-shop-2-back"]
