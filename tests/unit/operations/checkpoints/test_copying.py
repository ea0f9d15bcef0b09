"""A rewrite to a new place: the old one is never touched, and a crash is gone on from."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from threading import Event

import pytest

from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.model.plans import PlanChangedError
from anabranch.model.reasons import ReasonKind
from anabranch.operations.checkpoints.copying import copy_to
from anabranch.operations.checkpoints.errors import (
    NothingToUndoError,
    PathTakenError,
    UnfinishedCopyError,
    WrittenOtherwiseError,
)
from anabranch.operations.checkpoints.inspect import inspect
from anabranch.operations.checkpoints.manifest import COPYING
from anabranch.operations.checkpoints.planning import opened
from anabranch.operations.checkpoints.rewriting import in_place
from anabranch.operations.checkpoints.routes import ExplicitRoute
from anabranch.storage import paths
from anabranch.storage.files import StoredFiles
from anabranch.storage.opening import open_files
from anabranch.storage.remote import RemoteFiles
from tests.unit.operations.checkpoints.crashing import Crash, Crashing
from tests.unit.operations.checkpoints.world import (
    GOLDEN,
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
    """A query with state."""
    return copy("rocksdb", tmp_path / "cp", state=True)


def expected(place: Path) -> dict[str, bytes]:
    """What the new place must hold."""
    plan = draw(open_files(str(place)))
    whole = {**snapshot(place), **{path: data for path, data in plan.rewrite.writes.items() if data is not None}}
    return {path: whole[path] for path in sorted(whole)}


@pytest.mark.parametrize("kind", ["local", "memory"])
def test_a_query_s_copy_is_whole_and_the_original_is_as_it_was(place: Path, tmp_path: Path, kind: str) -> None:
    """All files are there, those of the plan are new, and nothing else is."""
    to = open_files(str(tmp_path / "new" / "cp") if kind == "local" else f"memory://{uuid.uuid4().hex}/cp")
    before, wanted = snapshot(place, hidden=True), expected(place)
    copy_to(draw(open_files(str(place))), to)
    assert snapshot(to) == wanted
    assert snapshot(place, hidden=True) == before
    assert all(one.partition.topic.startswith("new.") for one in open_checkpoint(to).positions())


def test_state_is_linked_and_logs_are_copies(place: Path, tmp_path: Path) -> None:
    """What the job appends to the copy's logs never shows in the original."""
    copy_to(draw(open_files(str(place))), open_files(str(tmp_path / "new")))
    paths = snapshot(place)
    assert {path.partition("/")[0] for path in paths} >= {"state", "offsets", "commits"}
    for path in paths:
        same = (place / path).samefile(tmp_path / "new" / path)
        assert same is path.startswith("state/"), path


@pytest.mark.parametrize("where", ["taken", "same", "inside", "above"])
def test_a_place_that_is_not_free_is_refused(place: Path, tmp_path: Path, where: str) -> None:
    """Nothing is overwritten, and nothing is copied into itself."""
    to = {"taken": tmp_path / "taken", "same": place, "inside": place / "new", "above": tmp_path}[where]
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "x").write_bytes(b"mine")
    before = snapshot(tmp_path, hidden=True)
    with pytest.raises(PathTakenError):
        copy_to(draw(open_files(str(place))), open_files(str(to)))
    assert snapshot(tmp_path, hidden=True) == before


def test_what_moved_while_it_was_copied_is_refused(place: Path, tmp_path: Path) -> None:
    """Nothing appears at the new place."""
    plan = draw(open_files(str(place)))
    (place / "commits" / "4").write_bytes(b"v1\n{}")
    with pytest.raises(PlanChangedError):
        copy_to(plan, open_files(str(tmp_path / "new")))
    assert not (tmp_path / "new").exists()


def test_a_crash_on_this_machine_leaves_nothing_at_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It appears whole or not at all, and the next attempt comes to the same end."""
    place = copy("uncommitted", tmp_path / "cp")
    wanted = dict(snapshot(place)) | {
        path: data for path, data in draw(open_files(str(place)), TRANSLATE).rewrite.writes.items() if data is not None
    }
    died = 0
    for at in range(0, 200, 7):
        part = Crashing(tmp_path / ".new.anabranch-part", at)
        with monkeypatch.context() as patched:
            patched.setattr("anabranch.operations.checkpoints.copying.open_files", lambda _, part=part: part)
            try:
                copy_to(draw(open_files(str(place)), TRANSLATE), open_files(str(tmp_path / "new")))
            except Crash:
                died += 1
                assert not (tmp_path / "new").exists()
                continue
        break
    assert died > 5
    assert snapshot(tmp_path / "new") == wanted


class DyingStore(RemoteFiles):
    """An object store whose client dies before its n-th PUT or DELETE."""

    def __init__(self, place: str, left: int) -> None:
        super().__init__(place, *paths.split(place))
        self.left = left

    def _spend(self) -> None:
        if self.left == 0:
            raise Crash
        self.left -= 1

    def put(self, path: str, data: bytes, via: str = "", modified_ms: int | None = None) -> None:
        self._spend()
        super().put(path, data, via, modified_ms)

    def copy(self, path: str, source: StoredFiles) -> None:
        self._spend()
        super().copy(path, source)

    def delete(self, path: str) -> None:
        self._spend()
        super().delete(path)


def test_a_crash_in_a_store_says_that_it_is_unfinished_and_is_gone_on_from(tmp_path: Path) -> None:
    """Until it is whole it cannot be opened; the same command ends it."""
    place = copy("uncommitted", tmp_path / "cp")
    plan = draw(open_files(str(place)), TRANSLATE)
    wanted = dict(snapshot(place)) | {path: data for path, data in plan.rewrite.writes.items() if data is not None}
    to = f"memory://{uuid.uuid4().hex}/cp"
    for left in range(1, len(wanted) + 3):
        with pytest.raises(Crash):
            copy_to(plan, DyingStore(to, left))
        with pytest.raises(UnfinishedCopyError):
            opened(open_files(to))
    copy_to(plan, open_files(to))
    assert snapshot(open_files(to)) == wanted
    assert open_files(to).stat(COPYING) is None


def test_what_moved_while_it_was_copied_to_a_store_is_refused(place: Path) -> None:
    """The copy stays one that cannot be opened."""
    plan = draw(open_files(str(place)))
    (place / "commits" / "4").write_bytes(b"v1\n{}")
    to = open_files(f"memory://{uuid.uuid4().hex}/cp")
    with pytest.raises(PlanChangedError):
        copy_to(plan, to)
    with pytest.raises(UnfinishedCopyError):
        opened(to)


class LyingStore(RemoteFiles):
    """An object store that keeps other bytes of the last offsets than it was given."""

    def put(self, path: str, data: bytes, via: str = "", modified_ms: int | None = None) -> None:
        super().put(path, data[:-1] if path == "offsets/4" else data, via, modified_ms)


def test_a_copy_that_the_storage_did_not_keep_is_no_result(place: Path) -> None:
    """Each new file is read again, and the copy stays unfinished."""
    to = f"memory://{uuid.uuid4().hex}/cp"
    with pytest.raises(WrittenOtherwiseError, match="offsets/4"):
        copy_to(draw(open_files(str(place))), LyingStore(to, *paths.split(to)))
    with pytest.raises(UnfinishedCopyError):
        opened(open_files(to))


@pytest.mark.parametrize("kind", ["local", "memory"])
def test_a_moved_copy_is_not_moved_again(place: Path, tmp_path: Path, kind: str) -> None:
    """Topics keep their names: only a word beside them tells that these offsets are the target's."""
    route = route_for(open_files(str(place)), prefix="")
    to = open_files(str(tmp_path / "new") if kind == "local" else f"memory://{uuid.uuid4().hex}/cp")
    copy_to(draw(open_files(str(place)), route=route), to)
    (refusal,) = draw(to, route=route).planned.refusals
    assert refusal.why is ReasonKind.MOVED and f"make it again rewrite {place}" in refusal.fix
    assert not draw(to, route=route, by="link back").planned.refusals
    with pytest.raises(NothingToUndoError):
        undo(to)
    assert [str(place) in one for one in asyncio.run(inspect(to.place)).copied] == [True]
    for path in draw(open_files(str(place)), route=route).rewrite.writes:
        to.put(path, (place / path).read_bytes())
    assert not draw(to, route=route).planned.refusals, "the old bytes were brought back by hand"


@pytest.mark.parametrize("kind", ["local", "store"])
def test_a_copy_that_is_halted_stops_between_two_files_and_is_made_again(
    place: Path, tmp_path: Path, kind: str
) -> None:
    """Nothing is at the place that a job could be started from."""
    to = str(tmp_path / "new") if kind == "local" else f"memory://{uuid.uuid4().hex}/cp"
    plan, halt = draw(open_files(str(place))), Event()
    halt.set()
    with pytest.raises(UnfinishedCopyError):
        copy_to(plan, open_files(to), halt)
    assert not open_files(to).list("offsets")
    copy_to(plan, open_files(to))
    assert open_checkpoint(open_files(to)).positions()


def test_strays_beside_an_unfinished_copy_are_refused(place: Path) -> None:
    """What somebody else has put there is not ours to keep or delete."""
    to = f"memory://{uuid.uuid4().hex}/cp"
    plan = draw(open_files(str(place)))
    with pytest.raises(Crash):
        copy_to(plan, DyingStore(to, 3))
    open_files(to).put("state/mine", b"x")
    with pytest.raises(PathTakenError, match="state/mine"):
        copy_to(plan, open_files(to))


def test_of_a_savepoint_only_its_metadata_goes_to_the_new_place(tmp_path: Path) -> None:
    """Its files stay where they are and are named by whole paths; the original is as it was."""
    source = next((GOLDEN / "flink" / "1.20.3" / "files").rglob("_metadata")).parent
    old = open_files(str(source))
    before = snapshot(source, hidden=True)
    target = route_for(old).target
    route = ExplicitRoute("a file", dict.fromkeys(target.logs, 5), {"orders": "new.orders"}, target)
    copy_to(draw(old, route=route), open_files(str(tmp_path / "new")))
    new = open_files(str(tmp_path / "new"))
    assert list(snapshot(new)) == ["_metadata"]
    assert {(one.partition.topic, one.offset) for one in open_checkpoint(new).positions()} == {("new.orders", 5)}
    assert str(source).encode() in new.read("_metadata", 1 << 20)
    assert snapshot(source, hidden=True) == before


def test_a_plan_with_refusals_is_never_carried_out(place: Path, tmp_path: Path) -> None:
    """Whoever asks: neither in place nor elsewhere is anything written."""
    copy("uncommitted", tmp_path / "open")
    plan = draw(open_files(str(tmp_path / "open")))
    assert plan.planned.refusals
    before = snapshot(tmp_path, hidden=True)
    with pytest.raises(ValueError, match="refusals"):
        in_place(plan)
    with pytest.raises(ValueError, match="refusals"):
        copy_to(plan, open_files(str(tmp_path / "new")))
    assert snapshot(tmp_path, hidden=True) == before


def test_copies_come_from_one_opener() -> None:
    """The seam that the crash tests use is the one that the code uses."""
    from anabranch.operations.checkpoints import copying

    assert copying.open_files is open_files
