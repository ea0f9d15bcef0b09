"""Rewriting in place and taking it back, with a crash at any moment."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from itertools import count
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from anabranch.checkpoints.errors import DamagedCheckpointError
from anabranch.checkpoints.job import Checkpoint
from anabranch.checkpoints.plan import RewriteSpec, Split
from anabranch.checkpoints.position import OffsetRole
from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.checkpoints.reports import FileEffect, UndoRewritePlan
from anabranch.errors import AnabranchError
from anabranch.model.plans import PlanChangedError
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition
from anabranch.operations.checkpoints import rewriting, undoing
from anabranch.operations.checkpoints.copying import copy_to
from anabranch.operations.checkpoints.errors import (
    DamagedBackupError,
    NothingToUndoError,
    PlanRefusedError,
    UnfinishedRewriteError,
    WrittenOtherwiseError,
    WrittenSinceError,
)
from anabranch.operations.checkpoints.manifest import RewriteState, litter, manifests, unfinished
from anabranch.operations.checkpoints.planning import opened
from anabranch.operations.checkpoints.rewriting import in_place
from anabranch.storage.errors import InUseError, StorageError
from anabranch.storage.local import LocalFiles
from anabranch.storage.opening import open_files
from tests.chance import examples
from tests.unit.operations.checkpoints.crashing import Crash, Crashing
from tests.unit.operations.checkpoints.world import (
    SHIFT,
    TRANSLATE,
    copy,
    draw,
    route_for,
    snapshot,
    undo,
)

pytestmark = pytest.mark.unit


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A query that was stopped between batches."""
    return copy("rocksdb", tmp_path / "cp")


def starts(checkpoint: Checkpoint) -> dict[TopicPartition, object]:
    """Where it goes on."""
    return {one.partition: one.offset for one in checkpoint.positions() if one.role is OffsetRole.NEXT}


def test_only_positions_change_and_they_are_where_the_map_says(place: Path) -> None:
    """The files of the plan and no others are new, and the checkpoint opens at the translated offsets."""
    files = open_files(str(place))
    before, old = snapshot(place), starts(open_checkpoint(files))
    plan = draw(files)
    in_place(plan)
    after = snapshot(place)
    assert {path for path in after if after[path] != before[path]} == {one.path for one in plan.planned.files}
    assert all(one.effect is FileEffect.CHANGE for one in plan.planned.files)
    assert starts(open_checkpoint(files)) == {
        TopicPartition(f"new.{at.topic}", at.partition): offset + SHIFT for at, offset in old.items()
    }


def test_undo_is_byte_for_byte_and_leaves_nothing(place: Path) -> None:
    """Bytes, names and times are as they were; a second undo has nothing to do."""
    files = open_files(str(place))
    before = snapshot(place, hidden=True)
    times = {path: entry.modified_ms for path, entry in files.walk()}
    in_place(draw(files))
    shown = undoing.plan(files)
    assert not shown.refusals and snapshot(place, hidden=True) != before
    assert undoing.take_back(files, shown).plan == shown
    assert snapshot(place, hidden=True) == before
    assert {path: entry.modified_ms for path, entry in files.walk()} == times
    assert not (place / ".anabranch").exists()
    with pytest.raises(NothingToUndoError):
        undo(files)


def test_two_rewrites_of_one_second_keep_a_backup_each(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should the later draw the former's id, it draws again: else it would write over the bytes to go back to."""
    files, drawn_ids, clock = open_files(str(place)), iter(["0000", "0000", "0001"]), count(1_700_000_000_000)
    monkeypatch.setattr(secrets, "token_hex", lambda _: next(drawn_ids))
    monkeypatch.setattr(rewriting, "now_ms", lambda: next(clock))
    before = snapshot(place)
    ids = [in_place(draw(files, route=route_for(files, shift), by=f"link {shift}")) for shift in (3, 5)]
    assert [one.rpartition("-")[2] for one in ids] == ["0000", "0001"]
    for _ in ids:
        undo(files)
    assert snapshot(place) == before


def test_rewrites_on_top_of_each_other_are_undone_one_by_one(place: Path) -> None:
    """The newest goes first."""
    files = open_files(str(place))
    states = [snapshot(place)]
    for shift in (3, 5):
        in_place(draw(files, route=route_for(files, shift), by=f"link {shift}"))
        states.append(snapshot(place))
    undo(files)
    assert snapshot(place) == states[1]
    undo(files)
    assert snapshot(place, hidden=True) == states[0]


def test_a_write_that_the_storage_refuses_leaves_nothing_half_written(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written before it is given back, and the backup goes: it can simply be run again."""
    files, replace = open_files(str(place)), os.replace

    def refuse(temporary: Path, target: Path) -> None:
        if target.parent.resolve() == (place / "offsets").resolve():
            raise PermissionError(13, "Permission denied")
        replace(temporary, target)

    monkeypatch.setattr(os, "replace", refuse)
    before = snapshot(place, hidden=True)
    plan = draw(files)
    assert next(iter(plan.rewrite.writes)).startswith("sources/")
    with pytest.raises(StorageError, match=r"cannot write offsets/\d+: Permission denied"):
        in_place(plan)
    assert snapshot(place, hidden=True) == before
    monkeypatch.undo()
    in_place(draw(open_files(str(place))))


class Lying(LocalFiles):
    """A tree that keeps other bytes of one file than it was given, and says nothing."""

    def __init__(self, place: Path, backup: bool, path: str) -> None:
        super().__init__(str(place), str(place))
        self._is_it = (lambda one: one.endswith(f"/old/{path}")) if backup else (lambda one: one == path)

    def put(self, path: str, data: bytes, via: str = "", modified_ms: int | None = None) -> None:
        super().put(path, data[:-1] if self._is_it(path) else data, via, modified_ms)


def test_old_bytes_that_were_not_kept_stop_a_rewrite_before_it_begins(place: Path) -> None:
    """What could not be given back is not written over."""
    before = snapshot(place, hidden=True)
    with pytest.raises(PlanChangedError):
        in_place(draw(Lying(place, backup=True, path="offsets/4")))
    assert snapshot(place, hidden=True) == before


def test_a_result_that_the_storage_did_not_keep_is_no_result(place: Path) -> None:
    """Every file is read again; the rewrite counts as broken off, and nothing else goes on from it."""
    with pytest.raises(WrittenOtherwiseError, match="offsets/3"):
        in_place(draw(Lying(place, backup=False, path="offsets/3")))
    assert unfinished(open_files(str(place))) is not None


def test_old_bytes_that_the_storage_did_not_give_back_keep_their_backup(place: Path) -> None:
    """An undo reads each file again before it takes the only other copy away."""
    files = open_files(str(place))
    id_ = in_place(draw(files))
    with pytest.raises(WrittenOtherwiseError, match="offsets/3"):
        undo(Lying(place, backup=False, path="offsets/3"))
    assert files.digest(f".anabranch/{id_}/old/offsets/3") is not None


def test_directories_that_a_rewrite_made_are_gone_after_its_undo(tmp_path: Path) -> None:
    """A query with one more source than it has would not start."""
    place = tmp_path / "cp"
    for path, text in (
        ("metadata", '{"id":"9c622e09-a5ca-440c-aa7c-9397f25e9a38"}'),
        ("offsets/0", 'v1\n{"conf":{}}\n{"a":{"0":1},"b":{"0":2}}'),
        ("commits/0", "v1\n{}"),
        ("sources/0/0", '\0v1\n{"a":{"0":0},"b":{"0":0}}'),
    ):
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)
    files = open_files(str(place))
    before = sorted(str(path) for path in place.rglob("*"))
    rewrite_spec = RewriteSpec(split=(Split("0", (frozenset({"a"}), frozenset({"b"}))),))
    in_place(draw(files, rewrite_spec))
    assert (place / "sources" / "1" / "0").is_file()
    undo(files)
    assert sorted(str(path) for path in place.rglob("*")) == before


def test_two_at_once_are_one(place: Path) -> None:
    """While another one writes nothing is begun, not even a backup; afterwards it goes on."""
    files = open_files(str(place))
    plan, before = draw(files), snapshot(place, hidden=True)
    with open_files(str(place)).alone():
        for act in (
            lambda: in_place(plan),
            lambda: copy_to(plan, open_files(f"{place}-2")),
            lambda: undoing.take_back(files, UndoRewritePlan("cp", "id", 0, True, (), (), "hash")),
        ):
            with pytest.raises(InUseError):
                act()
        with pytest.raises(NothingToUndoError):
            undoing.plan(files)
    assert snapshot(place, hidden=True) == before
    assert not Path(f"{place}-2").exists()
    in_place(plan)


def test_a_route_moves_a_source_once(place: Path) -> None:
    """Where topics keep their names nothing in the bytes tells the target's offsets from the source's."""
    files = open_files(str(place))
    before = snapshot(place)
    in_place(draw(files, route=route_for(files, prefix="")))
    again = draw(files, route=route_for(files, prefix=""))
    assert [one.why for one in again.planned.refusals] == [ReasonKind.MOVED]
    assert not again.planned.files
    (place / "offsets" / "5").write_bytes((place / "offsets" / "4").read_bytes())  # the job has gone on
    (place / "commits" / "5").write_bytes((place / "commits" / "4").read_bytes())
    (refusal,) = draw(files, route=route_for(files, prefix="")).planned.refusals
    assert refusal.why is ReasonKind.MOVED and "has gone on" in refusal.fix
    assert not draw(files, route=route_for(files, prefix=""), by="link back").planned.refusals
    for number in ("offsets/5", "commits/5"):
        (place / number).unlink()
    for path, data in before.items():
        (place / path).write_bytes(data)
    assert not draw(files, route=route_for(files, prefix="")).planned.refusals


def test_sources_may_move_one_after_the_other(tmp_path: Path) -> None:
    """Each has positions of its own, by the same route."""
    files = open_files(str(copy("mixed", tmp_path / "cp")))
    for source in ("0", "2"):
        rewrite_spec = RewriteSpec(sources=frozenset({source}))
        plan = draw(files, rewrite_spec, route_for(files, prefix=""))
        assert not plan.planned.refusals
        in_place(plan)
        assert [one.why for one in draw(files, rewrite_spec, route_for(files, prefix="")).planned.refusals] == [
            ReasonKind.MOVED
        ]


def test_the_same_is_so_in_an_object_store(place: Path) -> None:
    """One PUT a file, a backup, and back."""
    store = open_files(f"memory://{place}")
    for path, data in snapshot(place).items():
        store.put(path, data)
    before = snapshot(store)
    in_place(draw(store))
    assert snapshot(store) != before
    undo(store)
    assert snapshot(store, hidden=True) == before


def test_what_the_engine_wrote_since_is_not_taken_back(place: Path) -> None:
    """A new batch rests on the new positions: undo names it, and changes nothing."""
    files = open_files(str(place))
    in_place(draw(files))
    (place / "offsets" / "5").write_bytes((place / "offsets" / "4").read_bytes())
    after = snapshot(place, hidden=True)
    found = undoing.plan(files)
    assert [one.why for one in found.refusals] == [ReasonKind.RUNNING]
    assert "offsets/5" in found.refusals[0].what
    with pytest.raises(PlanRefusedError, match="offsets/5"):
        undoing.take_back(files, found)
    assert snapshot(place, hidden=True) == after


def test_a_copy_of_the_whole_directory_is_undone_there(place: Path, tmp_path: Path) -> None:
    """`cp -r` gives every file another time and no other bytes; a file that a restart reads must hold the same ones."""
    before = snapshot(place, hidden=True)
    in_place(draw(open_files(str(place))))
    copied = tmp_path / "copied"
    shutil.copytree(place, copied, copy_function=shutil.copyfile)
    assert (copied / "commits" / "4").stat().st_mtime > (place / "commits" / "4").stat().st_mtime
    commit = (copied / "commits" / "4").read_bytes()
    (copied / "commits" / "4").write_bytes(commit.replace(b"1760000210000", b"1760000210001"))
    assert (copied / "commits" / "4").read_bytes() != commit
    assert "commits/4" in undoing.plan(open_files(str(copied))).refusals[0].what
    (copied / "commits" / "4").write_bytes(commit)
    undo(open_files(str(copied)))
    assert snapshot(copied, hidden=True) == before


def test_what_somebody_changed_by_hand_is_not_overwritten(place: Path) -> None:
    """A file with neither the old nor the new bytes is refused, and named."""
    files = open_files(str(place))
    in_place(draw(files))
    (place / "offsets" / "4").write_bytes(b"mine")
    found = undoing.plan(files)
    assert [(one.why, one.location) for one in found.refusals] == [(ReasonKind.UNKNOWN, "offsets/4")]
    with pytest.raises(PlanRefusedError):
        undoing.take_back(files, found)
    assert (place / "offsets" / "4").read_bytes() == b"mine"


@pytest.mark.parametrize("damage", ["manifest", "deep", "later", "another", "truncated", "bytes", "gone"])
def test_a_damaged_backup_is_refused_before_anything_changes(place: Path, damage: str) -> None:
    """Bytes that are not those that were saved are never written back."""
    files = open_files(str(place))
    id_ = in_place(draw(files))
    manifest, old = place / ".anabranch" / id_ / "manifest.json", place / ".anabranch" / id_ / "old/offsets/4"
    if damage == "manifest":
        manifest.write_bytes(b'{"version": 2}')
    elif damage == "deep":
        manifest.write_bytes(b"[" * 100_000)
    elif damage == "later":
        manifest.write_bytes(manifest.read_bytes().replace(b'"version": 1', b'"version": 2'))
    elif damage == "another":
        manifest.write_bytes(manifest.read_bytes().replace(id_.encode(), b"20000101-000000-0000"))
    elif damage == "truncated":
        manifest.write_bytes(manifest.read_bytes()[:50])
    elif damage == "bytes":
        old.write_bytes(b"x")
    else:
        old.unlink()
    after = snapshot(place)
    with pytest.raises(DamagedBackupError):
        undo(files)
    assert snapshot(place) == after


def test_a_checkpoint_that_moved_since_its_plan_is_not_written(place: Path) -> None:
    """The last look finds what changed between plan and first write; not even a backup is left."""
    files = open_files(str(place))
    plan = draw(files)
    (place / "commits" / "4").write_bytes(b'v1\n{"nextBatchWatermarkMs":1}')
    after = snapshot(place, hidden=True)
    with pytest.raises(PlanChangedError, match="commits/4"):
        in_place(plan)
    assert snapshot(place, hidden=True) == after


def test_the_hash_is_of_what_is_read_and_written(place: Path) -> None:
    """The same look gives the same hash; another wish, another map, or another byte gives another."""
    files = open_files(str(place))
    first = draw(files).planned.hash
    assert draw(files).planned.hash == first
    assert draw(files, route=route_for(files, 8)).planned.hash != first
    assert draw(files, TRANSLATE).planned.hash != first
    (place / "commits" / "4").write_bytes((place / "commits" / "4").read_bytes().replace(b":17", b":18"))
    (place / "commits" / ".4.crc").unlink(missing_ok=True)
    assert draw(files).planned.hash != first


def test_an_unfinished_rewrite_is_refused_until_it_is_undone(place: Path) -> None:
    """Whatever can be opened has the refusal; what cannot is told so, with the way out."""
    total = _steps(place)
    refused = 0
    for at in range(total):
        _crash(place, at)
        files = open_files(str(place))
        if unfinished(files) is not None:
            refused += 1
            try:
                opened(files)
            except UnfinishedRewriteError:
                pass
            else:
                assert ReasonKind.UNFINISHED in [one.why for one in draw(files).planned.refusals]
        if manifests(files):
            undo(files)
    assert refused > 5


@pytest.mark.test
@pytest.mark.parametrize("name", ["rocksdb", "uncommitted"])
def test_a_crash_at_any_step_is_undone_and_a_second_rewrite_comes_to_the_same_end(tmp_path: Path, name: str) -> None:
    """Before the manifest nothing has changed; after it undo restores every byte, and crashes itself without harm."""
    place = copy(name, tmp_path / "cp")
    before = snapshot(place)
    wanted = tmp_path / "wanted"
    shutil.copytree(place, wanted)
    in_place(draw(open_files(str(wanted)), TRANSLATE))
    seen = set()
    for at in range(_steps(place)):
        _crash(place, at)
        files = open_files(str(place))
        state = [one.state for one in manifests(files)]
        seen.add(tuple(state))
        if state:
            _undo_with_crashes(place, at)
        assert snapshot(place) == before
        in_place(draw(files, TRANSLATE))
        assert snapshot(place) == snapshot(wanted)
        assert not litter(files)
        undo(files)
        assert snapshot(place, hidden=True) == before
    assert seen == {(), (RewriteState.BEGUN,), (RewriteState.DONE,)}


def _steps(place: Path) -> int:
    """How many steps a rewrite has."""
    mine = place.parent / "counted"
    shutil.copytree(place, mine)
    files = Crashing(mine)
    in_place(draw(files, TRANSLATE))
    return files.steps


def _crash(place: Path, at: int) -> None:
    with pytest.raises(Crash):
        in_place(draw(Crashing(place, at), TRANSLATE))


def _undo_with_crashes(place: Path, at: int) -> None:
    """Undo, which dies once on its way."""
    try:
        undo(Crashing(place, at % 11))
    except Crash:
        if manifests(open_files(str(place))):
            undo(open_files(str(place)))


class Workflow(RuleBasedStateMachine):
    """Rewrites and undos in any order, each of which may die at any step."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.place = copy("uncommitted", self.directory / "cp")
        self.stack = [snapshot(self.place)]
        """What undo leads back to; the last is the present."""
        self.broken = False

    def teardown(self) -> None:
        """Nothing is left."""
        shutil.rmtree(self.directory)

    @rule(shift=st.integers(1, 5), at=st.none() | st.integers(0, 60))
    def rewrite(self, shift: int, at: int | None) -> None:
        """Plan and carry out; a plan on what broke off is refused."""
        files = Crashing(self.place, at)
        if self.broken:
            try:
                plan = draw(files, TRANSLATE, route_for(files, shift, "n"), by=f"link {len(manifests(files))}")
            except DamagedCheckpointError:
                return
            assert ReasonKind.UNFINISHED in [one.why for one in plan.planned.refusals]
            return
        plan = draw(files, TRANSLATE, route_for(files, shift, "n"), by=f"link {len(manifests(files))}")
        assert not plan.planned.refusals
        try:
            in_place(plan)
        except Crash:
            states = [one.state for one in manifests(files)]
            if len(states) < len(self.stack):
                return  # it died before it began
            self.broken = states[-1] is RewriteState.BEGUN
            self.stack.append(snapshot(self.place))
            return
        self.stack.append(snapshot(self.place))

    @rule(at=st.none() | st.integers(0, 40))
    def undo(self, at: int | None) -> None:
        """Take the newest back, once more if it died."""
        if not manifests(open_files(str(self.place))):
            assert len(self.stack) == 1
            return
        try:
            undo(Crashing(self.place, at))
        except Crash:
            left = manifests(open_files(str(self.place)))
            if len(left) == len(self.stack) - 1:
                undo(open_files(str(self.place)))
        self.stack.pop()
        self.broken = False
        assert snapshot(self.place) == self.stack[-1]

    @invariant()
    def it_is_what_it_should_be(self) -> None:
        """Between verbs the present is known, and it opens unless a rewrite broke off."""
        assert snapshot(self.place) == self.stack[-1]
        if not self.broken:
            assert open_checkpoint(open_files(str(self.place))).positions()
            assert unfinished(open_files(str(self.place))) is None


TestWorkflow = Workflow.TestCase
TestWorkflow.settings = examples(12, stateful_step_count=10)


def test_errors_pickle_and_say_what_to_do() -> None:
    """Each names the place and the next step."""
    import pickle

    reason = Reason(ReasonKind.RUNNING, "it was written since", "stop the job")
    refused = UndoRewritePlan("cp", "id", 0, True, (), (reason,), "hash")
    for error in (
        PlanRefusedError("cp", refused.refusals, refused),
        UnfinishedRewriteError("cp", "id"),
        NothingToUndoError("cp"),
        DamagedBackupError("cp", "x", "y"),
        WrittenSinceError("cp", 5, "rewrite x", "offsets/5", "see"),
    ):
        assert isinstance(error, AnabranchError)
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
        assert "cp" in error.message and error.hint
