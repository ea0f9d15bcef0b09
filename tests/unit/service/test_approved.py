"""A switch of a migration with approvers is approved by one of them who has not asked for it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from anabranch.migration.spec import Migration, Wave
from anabranch.service.verbs.migration_shapes import NotApprovedError
from anabranch.service.verbs.migration_waves import _check_approved

pytestmark = pytest.mark.unit


def asks(account: str, planned_by: str) -> Any:
    """Who applies what somebody has planned."""
    return SimpleNamespace(account=account, planned_by=planned_by)


def test_an_approver_who_is_the_author_is_refused_and_so_is_who_is_none() -> None:
    """With who may; without approvers nobody else is needed."""
    wave = Wave("orders", ("orders",))
    plain = Migration("move", "old", "new", (wave,))
    strict = Migration("move", "old", "new", (wave,), approvers=("mei", "lou"))
    _check_approved(asks("mei", "mei"), plain)
    _check_approved(asks("lou", "mei"), strict)
    with pytest.raises(NotApprovedError, match="mei asked for this, and somebody else of mei, lou") as error:
        _check_approved(asks("mei", "mei"), strict)
    assert "anabranch migrate approve" in error.value.hint
    with pytest.raises(NotApprovedError, match="tom is no approver of migration move: mei, lou are"):
        _check_approved(asks("tom", "mei"), strict)
