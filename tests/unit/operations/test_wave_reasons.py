"""What of the steps that a plan looked at is a reason against it, or worth a look."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.migration.spec import FenceKind, Readers, Wave
from anabranch.migration.steps import StepKind
from anabranch.model.reasons import Reason, Severity
from anabranch.operations.migrations.dryrun import SeenStep, _told
from anabranch.operations.migrations.waves import reasons_of

pytestmark = pytest.mark.unit
OBSERVED = Wave("first", ("orders",), ("shop",))
FENCED = replace(OBSERVED, fences=(FenceKind.ACL, FenceKind.OBSERVE))
DENIED = replace(OBSERVED, readers=Readers.DENY)
WAITS = SeenStep(StepKind.QUIET, "first", "wait until nobody writes", "somebody writes", waits=True)


def told(wave: Wave, *seen: SeenStep) -> list[tuple[str, str, str]]:
    """Each reason in short."""
    return [(one.severity.value, one.what, one.fix) for one in reasons_of(seen, wave)]


def test_what_a_switch_brings_about_itself_is_no_reason_against_it() -> None:
    """Fences end writing and reading, denied readers end reading alone; anything else that waits is told."""
    would_wait = ("warning", "it would wait now: somebody writes", "")
    empty = replace(WAITS, kind=StepKind.GROUPS_EMPTY)
    looks = replace(WAITS, kind=StepKind.PIN)
    assert told(OBSERVED, WAITS, empty, looks) == [would_wait] * 3
    assert told(FENCED, WAITS, empty, looks) == [would_wait]
    assert told(DENIED, WAITS, empty, looks) == [would_wait] * 2
    assert told(replace(DENIED, groups=()), empty) == [would_wait]
    assert told(OBSERVED, replace(WAITS, waits=False)) == []


def test_what_is_forbidden_is_an_error_with_its_fix_and_only_once() -> None:
    """Where a step tells all reasons itself, its first is not repeated; doubts are told beside it."""
    forbidden = replace(WAITS, waits=False, forbidden=True, what="no right", fix="allow it")
    assert told(FENCED, forbidden) == [("error", "no right", "allow it")]
    every = Reason.found(Severity.ERROR, "no right at all", "allow all")
    hint = Reason.found(Severity.WARNING, "old", "look")
    assert told(FENCED, replace(forbidden, against=(every, hint))) == [
        ("error", "no right at all", "allow all"),
        ("warning", "old", "look"),
    ]
    assert told(FENCED, replace(forbidden, against=(hint,)))[1:] == [("error", "no right", "allow it")]
    doubted = replace(WAITS, waits=False, doubts=("6 records", "2 groups"))
    assert told(OBSERVED, doubted) == [("warning", "6 records", ""), ("warning", "2 groups", "")]
    assert [one for one, _, _ in told(OBSERVED, replace(forbidden, doubts=("6 records",)))] == ["error", "warning"]


@pytest.mark.parametrize(
    ("kind", "result", "words"),
    [
        (StepKind.LOOK, {"absent": ["a", "b"]}, "2 topics would be made"),
        (StepKind.LOOK, {"absent": ["a"]}, "1 topic would be made"),
        (StepKind.QUIET, {}, "nobody writes now"),
        (StepKind.PIN, {"ends": {"a-0": 1_000, "a-1": 234}}, "1,234 offsets in 2 partitions"),
        (StepKind.GROUPS_EMPTY, {}, "nobody reads now"),
        (
            StepKind.STAGE_GROUPS,
            {"groups": {"g": {"a-0": 1, "a-1": 2}, "h": {"a-0": 1}}},
            "3 positions of 2 groups are translated exactly",
        ),
        (StepKind.PROVE_LOST, {}, "nobody answers"),
        (StepKind.LOST_GROUPS, {"groups": {"g": {}}}, "1 group would be given positions"),
        (StepKind.PROVE_FOUND, {}, "it answers"),
        (StepKind.JOURNAL, {}, ""),
    ],
)
def test_what_a_step_found_is_said_in_words(kind: StepKind, result: dict[str, object], words: str) -> None:
    """With its numbers."""
    assert _told(kind, result) == words
