"""What ``migrate show`` says of access rules and quotas that are carried over."""

from __future__ import annotations

from typing import Any

import pytest

from anabranch.cli.migrations.render_runs import migration
from tests.unit.cli.printing import lines_of

pytestmark = pytest.mark.unit
NOW = 10_000_000
LOOK = {"at_ms": NOW, "good_ms": NOW - 40_000, "why": "", "changed_ms": None, "created": 0, "deleted": 0, "quotas": 0}


def shown(access: dict[str, Any]) -> list[str]:
    """The lines below the table of waves."""
    told = {"name": "move", "source": "old", "target": "new", "author": "mei", "approvers": [], "waves": []}
    answer = {"migration": {**told, "throttle": {}, "access": access}, "runs": []}
    return lines_of(migration(answer, None, NOW))[2:]


def test_it_says_when_they_were_carried_over_what_that_changed_last_and_why_it_fails() -> None:
    """The oldest of the good ones, the newest change, and each wave for which it fails."""
    assert shown({}) == []
    assert shown({"orders": LOOK}) == ["access rules and quotas carried over 40 s ago"]
    changed = {**LOOK, "good_ms": NOW - 50_000, "changed_ms": NOW - 7_200_000, "created": 2, "deleted": 1, "quotas": 1}
    lines = shown({"orders": {**changed, "changed_ms": 1}, "clicks": changed, "bills": {**LOOK, "why": "away"}})
    assert lines == [
        "access rules and quotas carried over 50 s ago; last change 2 h ago: 2 rules made, 1 deleted, 1 quota changed",
        "access of wave bills is not carried over (last 40 s ago): away",
    ]
    assert shown({"orders": {**LOOK, "good_ms": None, "why": "away"}}) == [
        "access of wave orders is not carried over (never): away"
    ]
