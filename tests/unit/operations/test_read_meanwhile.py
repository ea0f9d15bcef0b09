"""Groups of a wave around its point of no return: who reads on is seen before it, and not led back after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from anabranch.migration.steps import StepKind
from anabranch.model.groups import Commit
from anabranch.operations.migrations import positions
from anabranch.operations.migrations.positions import ReadMeanwhileError
from tests.unit.link_lab import OTHER, TO_A, TO_B, A, B, Lab, lab
from tests.unit.migration_lab import scene_done

pytestmark = pytest.mark.unit
STAGED = {
    StepKind.STAGE_GROUPS: {
        "groups": {"shop": {str(TO_A): [2, "noted"]}},
        "undo": "20260101-000000-abcd",
        "read": {"shop": {str(A): 12}},
    }
}


@pytest.fixture(scope="module")
def both() -> Iterator[Lab]:
    """The clusters, for all tests of this file: each looks at commits of one side alone."""
    with lab() as made:
        yield made


@pytest.mark.parametrize("later", [{A: Commit(13)}, {A: Commit(11)}, {A: Commit(12), B: Commit(10)}])
def test_another_commit_than_what_was_translated_is_refused(both: Lab, later: dict[object, Commit]) -> None:
    """Further, behind, or of one partition more; what is committed of other topics is nobody's business here."""
    both.commit(both.source, "shop", {A: Commit(12), OTHER: Commit(3)})
    assert scene_done(both, positions.refuse_read, STAGED) is None
    both.commit(both.source, "shop", later)  # type: ignore[arg-type]
    with pytest.raises(ReadMeanwhileError, match="after what it had committed was translated"):
        scene_done(both, positions.refuse_read, STAGED)


def test_whoever_publishes_again_leaves_a_group_where_it_has_read_on(both: Lab) -> None:
    """It was killed before it could write down that it had: its record says what was there before, and stays."""
    both.commit(both.target, "shop", {TO_B: Commit(1)})
    done = scene_done(both, positions.publish_groups, STAGED)
    assert done == {"undo": "20260101-000000-abcd"}
    assert both.committed(both.target, "shop") == {TO_A: Commit(2, "noted"), TO_B: Commit(1)}
    first = both.stored().undo["20260101-000000-abcd"]["shop"]
    assert first.former == {TO_A: None}
    both.commit(both.target, "shop", {TO_A: Commit(5)})
    assert scene_done(both, positions.publish_groups, STAGED) == done
    assert both.committed(both.target, "shop") == {TO_A: Commit(5), TO_B: Commit(1)}
    assert both.stored().undo["20260101-000000-abcd"]["shop"] == first
