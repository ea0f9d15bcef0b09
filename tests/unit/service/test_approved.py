"""What of a migration with approvers is approved by one of them who has not asked for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from anabranch.config.migration_file import migration_fields
from anabranch.migration.legs import Leg
from anabranch.migration.lost_steps import reconcile_steps
from anabranch.migration.options import TailChoice
from anabranch.migration.run import WaveRun
from anabranch.migration.spec import Limits, Migration, Wave
from anabranch.migration.steps import MigrationStep, Part, cancel_steps, complete_steps, start_steps, switch_steps
from anabranch.operations.migrations.change import SetPlan
from anabranch.service.verbs import migration_changes
from anabranch.service.verbs.migration_approval import check_approved, needs_approval
from anabranch.service.verbs.migration_shapes import NotApprovedError

pytestmark = pytest.mark.unit

PLAIN = Migration("move", "old", "new", (Wave("orders", ("orders",)),))
STRICT = replace(PLAIN, approvers=("mei", "lou"))
LEG = Leg(STRICT, STRICT.waves[0])


def asks(account: str, planned_by: str) -> Any:
    """Who applies what somebody has planned."""
    return SimpleNamespace(account=account, planned_by=planned_by)


def test_an_approver_who_is_the_author_is_refused_and_so_is_who_is_none() -> None:
    """With who may; without approvers nobody else is needed."""
    check_approved(asks("mei", "mei"), PLAIN)
    check_approved(asks("lou", "mei"), STRICT)
    with pytest.raises(NotApprovedError, match="mei asked for this, and somebody else of mei, lou") as error:
        check_approved(asks("mei", "mei"), STRICT)
    assert "anabranch migrate approve" in error.value.hint
    with pytest.raises(NotApprovedError, match="tom is no approver of migration move: mei, lou are"):
        check_approved(asks("tom", "mei"), STRICT)


def test_what_leads_applications_or_cannot_be_taken_back_is_approved() -> None:
    """Not what only begins to copy, compares, or keeps what there is."""

    def needs(what: str, steps: tuple[MigrationStep, ...]) -> bool:
        return needs_approval(WaveRun("r", "move", "orders", what, steps, 0))

    assert needs("switch", switch_steps(LEG, Part.ALL)) and needs("reverse", switch_steps(LEG.next, Part.ALL))
    assert needs("complete", complete_steps(LEG.next))
    assert needs("cancel", cancel_steps(LEG, purge=True)) and not needs("cancel", cancel_steps(LEG, purge=False))
    assert needs("reconcile", reconcile_steps(LEG, TailChoice.APPEND))
    assert not needs("reconcile", reconcile_steps(LEG, TailChoice.KEEP)) and not needs("start", start_steps(LEG))


class Asked:
    """Who sets a file, with a store that keeps it."""

    def __init__(self, account: str, planned_by: str) -> None:
        self.account, self.planned_by = account, planned_by
        self.kept: list[Any] = []
        stored = SimpleNamespace(migrations=SimpleNamespace(change=self._change))
        self.migrating = SimpleNamespace(stored=stored)

    def _change(self, changed: Any, _: int) -> None:
        self.kept.append(changed.document)


async def set_by(who: Asked, after: Migration, before: Migration = STRICT) -> list[Any]:
    """What is kept once somebody has set another file."""
    kept: Any = SimpleKept(migration_fields(before))
    planned = SetPlan("move", {}, migration_fields(after), "h", kept, 0)
    request: Any = SimpleNamespace(wanted=lambda: after)
    reach: Any = who
    await migration_changes._set(reach, request, planned)
    return who.kept


@dataclass(frozen=True)
class SimpleKept:
    """A migration of the store."""

    document: Any


async def test_one_person_alone_does_not_change_who_approves() -> None:
    """Nobody empties the list and switches then: who approves now lets others do so, or nobody."""
    for others in ((), ("mei",), ("mei", "lou", "tom")):
        alone, changed = Asked("mei", "mei"), replace(STRICT, approvers=others)
        with pytest.raises(NotApprovedError, match="mei asked for this, and somebody else of mei, lou"):
            await set_by(alone, changed)
        assert alone.kept == []
        assert len(await set_by(Asked("lou", "mei"), changed)) == 1
    slower = replace(STRICT, approvers=("lou", "mei"), limits=Limits(1_000))
    assert len(await set_by(Asked("mei", "mei"), slower)) == 1
    assert len(await set_by(Asked("tom", "tom"), STRICT, PLAIN)) == 1, "where nobody was named"
