"""Proofs of rewritten savepoints: what is right is said to be, and a changed byte beside the positions is found."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from anabranch.checkpoints.flink import open_checkpoint
from anabranch.checkpoints.flink.comparing import relatives
from anabranch.checkpoints.flink.metadata import read_metadata
from anabranch.checkpoints.plan import PendingTransactions, RewriteSpec
from anabranch.checkpoints.reports import VerificationReport
from anabranch.errors import AnabranchError
from anabranch.operations.checkpoints import checking
from anabranch.operations.checkpoints.copying import copy_to
from anabranch.operations.checkpoints.planning import prepare
from anabranch.operations.checkpoints.plans import RewriteRequest
from anabranch.operations.checkpoints.rewriting import in_place
from anabranch.operations.checkpoints.routes import LiveRoute, MapRoute
from anabranch.storage.opening import open_files
from anabranch.storage.overlay import Overlay
from tests.chance import examples
from tests.unit.operations.checkpoints.world import ASKED, GOLDEN, route_for, settle

pytestmark = pytest.mark.unit
WISH = RewriteSpec(transactions=PendingTransactions.DISCARD)
CHOSEN = ("1.15.4/canonical", "1.20.3/native-rocksdb", "2.2.0/canonical", "2.2.0/exactly-once", "2.2.0/files")


def golden(name: str, to: Path) -> Path:
    """A savepoint as Flink wrote it, and as if the job were stopped long ago; keyed state is zeros."""
    shutil.copytree(next((GOLDEN / "flink" / name).rglob("_metadata")).parent, to)
    for handle in relatives(read_metadata((to / "_metadata").read_bytes(), name)):
        if not (to / handle.path).exists():
            (to / handle.path).write_bytes(bytes(handle.size))
    settle(to)
    return to


def rewritten(old: Path, new: Path) -> LiveRoute:
    """Write the result at the new place; the route of it."""
    files = open_files(str(old))
    checkpoint = open_checkpoint(files)
    assert checkpoint is not None
    route = route_for(files)
    plan = prepare(files, checkpoint, RewriteRequest(files.root, WISH, ASKED), route)
    assert plan.planned.refusals == ()
    copy_to(plan, open_files(str(new)))
    return route


def verify(old: Path, new: Path, route: LiveRoute, rewrite_spec: RewriteSpec = WISH) -> VerificationReport:
    """The new place against the old one."""
    files, former = open_files(str(new)), open_files(str(old))
    result, original = open_checkpoint(files), open_checkpoint(former)
    assert result is not None and original is not None
    return checking.against(files, result, original, "old", rewrite_spec, ASKED, route, former.absolute)


@pytest.mark.parametrize("name", CHOSEN)
def test_a_right_result_is_sound(name: str, tmp_path: Path) -> None:
    """Made elsewhere, in place, and at a copy of the whole directory."""
    old, new = golden(name, tmp_path / "old"), tmp_path / "new"
    route = rewritten(old, new)
    assert verify(old, new, route).problems == ()
    assert verify(old, new, route).sound

    place = golden(name, tmp_path / "place")
    files = open_files(str(place))
    before = (place / "_metadata").read_bytes()
    checkpoint = open_checkpoint(files)
    assert checkpoint is not None
    in_place(prepare(files, checkpoint, RewriteRequest(files.root, WISH, ASKED), route))
    former, result = open_checkpoint(Overlay(files, {"_metadata": before})), open_checkpoint(files)
    assert former is not None and result is not None
    assert checking.against(files, result, former, "backup", WISH, ASKED, route).sound
    assert verify(old, place, route).sound


def test_eight_bytes_of_another_operator_s_state_are_found(tmp_path: Path) -> None:
    """It is named with its part; the positions are right all the while."""
    old, new = golden("2.2.0/canonical", tmp_path / "old"), tmp_path / "new"
    route = rewritten(old, new)
    data = (new / "_metadata").read_bytes()
    found = read_metadata(data, "new")
    sources = {one.source for one in open_checkpoint(open_files(str(old))).positions()}  # type: ignore[union-attr]
    operator = next(
        one
        for one in found.operators
        if one.hex not in sources and any(subtask.keyed[0].size for subtask in one.subtasks or ())
    )
    span = max((subtask.keyed[0] for subtask in operator.subtasks or ()), key=lambda one: one.size).data
    at = data.index(span) + len(span) - 40
    flipped = bytes(byte ^ 0xFF for byte in data[at : at + 8])
    (new / "_metadata").write_bytes(data[:at] + flipped + data[at + 8 :])
    told = verify(old, new, route)
    assert not told.sound and not any(one.problem for one in told.proofs)
    assert "the keyed state of subtask" in told.problems[0]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path, LiveRoute]]:
    """Originals with their results and routes."""
    made = {}
    for name in CHOSEN:
        top = tmp_path_factory.mktemp("pair")
        old = golden(name, top / "old")
        made[name] = (old, top / "new", rewritten(old, top / "new"))
    return made


@examples(60, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_eight_bytes_changed_anywhere_are_found(
    pairs: dict[str, tuple[Path, Path, LiveRoute]], data: st.DataObject
) -> None:
    """The result does not open, or it is not sound."""
    old, new, route = pairs[data.draw(st.sampled_from(CHOSEN))]
    path = new / "_metadata"
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 8))
    changed = data.draw(st.binary(min_size=8, max_size=8).filter(lambda one: one != whole[at : at + 8]))
    path.write_bytes(whole[:at] + changed + whole[at + 8 :])
    try:
        assert not verify(old, new, route).sound
    except AnabranchError:
        pass
    finally:
        path.write_bytes(whole)


def test_files_of_state_are_looked_at_where_they_lie_beside(tmp_path: Path) -> None:
    """In a copy of the whole directory: other bytes, another size, and none."""
    old, place = golden("2.2.0/files", tmp_path / "old"), tmp_path / "place"
    route = rewritten(old, tmp_path / "new")
    shutil.copytree(old, place)
    files = open_files(str(place))
    checkpoint = open_checkpoint(files)
    assert checkpoint is not None
    in_place(prepare(files, checkpoint, RewriteRequest(files.root, WISH, ASKED), route))
    named = next(relatives(read_metadata((place / "_metadata").read_bytes(), "place")))
    path = place / named.path
    whole = path.read_bytes()
    path.write_bytes(whole[:-8] + bytes(byte ^ 0xFF for byte in whole[-8:]))
    assert checking.differing(open_files(str(old)), files, checkpoint.format)[1] == [f"{path.name} is not as it was"]
    path.write_bytes(whole[:-8])
    assert any(f"has {len(whole) - 8:,} bytes" in one for one in verify(old, place, route).problems)
    path.unlink()
    assert any(f"{path.name}, a file of its state, is not there" in one for one in verify(old, place, route).problems)


def test_a_rewrite_that_is_refused_by_now_compares_nothing_and_says_so(tmp_path: Path) -> None:
    """A partition that came on the target since: the job would read it from its beginning."""
    old, new = golden("2.2.0/canonical", tmp_path / "old"), tmp_path / "new"
    route = rewritten(old, new)
    assert isinstance(route, MapRoute)
    more = {topic: there | {9} for topic, there in route.target.topics.items() if isinstance(there, frozenset)}
    problems = verify(old, new, replace(route, target=replace(route.target, topics=more))).problems
    assert len(problems) == 1 and "could not be compared" in problems[0] and "9" in problems[0]


def test_a_plan_that_is_refused_says_nothing_of_the_start(tmp_path: Path) -> None:
    """Tips for the start below reasons against it would be taken for a way around them."""
    files = open_files(str(golden("2.2.0/exactly-once", tmp_path / "old")))
    checkpoint = open_checkpoint(files)
    assert checkpoint is not None
    refused = prepare(files, checkpoint, RewriteRequest(files.root, RewriteSpec(), ASKED), route_for(files)).planned
    assert refused.refusals and not refused.notes
    assert any(
        "NO_CLAIM" in note
        for note in prepare(files, checkpoint, RewriteRequest(files.root, WISH, ASKED), route_for(files)).planned.notes
    )
