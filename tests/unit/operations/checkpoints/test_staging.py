"""A rewrite in two halves: kept beside, put in place later; both may die at each write."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Event

import pytest

from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.operations.checkpoints import staged_copy, staging
from anabranch.operations.checkpoints.errors import (
    DamagedBackupError,
    PathTakenError,
    UnfinishedCopyError,
    UnfinishedRewriteError,
)
from anabranch.operations.checkpoints.planning import PreparedRewrite, opened
from anabranch.operations.checkpoints.rewriting import in_place
from anabranch.operations.checkpoints.staged_copy import publish_copy, refuse_taken, unstage_copy
from anabranch.operations.checkpoints.staging import (
    STAGED,
    ChangedSinceStagedError,
    NotStagedError,
    backups,
    names,
    publish,
    unstage,
)
from anabranch.storage.files import StoredFiles
from anabranch.storage.local import LocalFiles
from anabranch.storage.opening import open_files
from tests.unit.operations.checkpoints.crashing import Crash, Crashing
from tests.unit.operations.checkpoints.test_copying import DyingStore
from tests.unit.operations.checkpoints.world import TRANSLATE, copy, draw, route_for, snapshot, undo

pytestmark = pytest.mark.unit

OWNER, ROUTE = "run-1", "link eu"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A query with a batch that has begun, so that most kinds of files are written."""
    return copy("uncommitted", tmp_path / "cp")


def tree(root: Path) -> dict[str, bytes | None]:
    """All that is below a directory, None for directories."""
    return {str(one.relative_to(root)): None if one.is_dir() else one.read_bytes() for one in sorted(root.rglob("*"))}


def drawn(place: Path, files: StoredFiles | None = None) -> PreparedRewrite:
    """A plan of the query."""
    return draw(files or open_files(str(place)), TRANSLATE)


def stage(prepared: PreparedRewrite, owner: str) -> None:
    """Keep a plan that was made just now."""
    staging.stage(prepared, names(prepared.files), owner)


def stage_copy(prepared: PreparedRewrite, to: StoredFiles, owner: str) -> None:
    """Make a copy by a plan that was made just now."""
    staged_copy.stage_copy(prepared, names(prepared.files), to, owner, Event())


def expected(place: Path) -> Mapping[str, bytes]:
    """What a job reads once it was rewritten."""
    writes = drawn(place).rewrite.writes
    whole = {**snapshot(place), **{path: data for path, data in writes.items() if data is not None}}
    return {path: data for path, data in whole.items() if writes.get(path, data) is not None}


# -- in its place ------------------------------------------------------------------------------------------


def test_what_is_staged_is_read_by_nobody_and_put_in_place_as_a_rewrite_would(place: Path) -> None:
    """The backup is one that undo takes; without publishing nothing is left."""
    files, before, wanted = open_files(str(place)), tree(place), expected(place)
    stage(drawn(place), OWNER)
    assert {path: data for path, data in tree(place).items() if not path.startswith(".anabranch")} == before
    unstage(files, OWNER)
    assert tree(place) == before
    stage(drawn(place), OWNER)
    done = publish(files, OWNER, ROUTE, [])
    assert snapshot(place) == wanted
    assert backups(files) == [done]
    assert publish(files, OWNER, ROUTE, []) == done, "again, by an engine that did not know"
    undo(files)
    assert tree(place) == before


def dying(place: Path) -> Iterator[Crashing]:
    """Storages that die at the first step, the second, and so on."""
    return (Crashing(place, at) for at in itertools.count())


def test_staging_that_dies_at_any_write_is_put_back_or_done_again(place: Path) -> None:
    """Put back: the tree is as it was, byte for byte.  Done again: it is staged."""
    before, deaths = tree(place), 0
    for files in dying(place):
        try:
            stage(drawn(place, files), OWNER)
        except Crash:
            deaths += 1
            unstage(open_files(str(place)), OWNER)
            assert tree(place) == before
            continue
        break
    assert deaths == 3
    with pytest.raises(Crash):
        stage(drawn(place, Crashing(place, 1)), OWNER)
    stage(drawn(place), OWNER)
    publish(open_files(str(place)), OWNER, ROUTE, [])


@pytest.mark.test
def test_publishing_that_dies_at_any_write_is_finished_by_whoever_comes_next(place: Path, tmp_path: Path) -> None:
    """Whatever was written by then: the end is the same, and undo gives the old bytes back."""
    wanted, before, deaths = expected(place), tree(place), 0
    for at in itertools.count():
        root = copy("uncommitted", tmp_path / f"cp-{at}")
        stage(drawn(root), OWNER)
        try:
            publish(Crashing(root, at), OWNER, ROUTE, [])
        except Crash:
            deaths += 1
            publish(open_files(str(root)), OWNER, ROUTE, [])
        assert snapshot(root) == wanted, at
        assert open_files(str(root)).stat(STAGED) is None
        undo(open_files(str(root)))
        assert tree(root) == before, at
        if deaths == at:
            break
    assert deaths > 30


def test_taking_back_what_broke_off_may_die_too(place: Path) -> None:
    """Three engines in a row die, each a little later than the one before; the last one finishes."""
    wanted = expected(place)
    stage(drawn(place), OWNER)
    for at in (25, 3, 9, 28):
        with pytest.raises(Crash):
            publish(Crashing(place, at), OWNER, ROUTE, [])
    publish(open_files(str(place)), OWNER, ROUTE, [])
    assert snapshot(place) == wanted


def test_a_checkpoint_that_changed_since_is_not_written(place: Path) -> None:
    """It says which file; once it was rewritten by hand by the same route there is nothing left to do."""
    files = open_files(str(place))
    stage(drawn(place), OWNER)
    (place / "commits" / "2").write_bytes((place / "commits" / "1").read_bytes())
    before = snapshot(place)
    with pytest.raises(ChangedSinceStagedError, match="commits/2"):
        publish(files, OWNER, ROUTE, [])
    assert snapshot(place) == before
    by_hand = in_place(drawn(place))
    assert publish(files, OWNER, ROUTE, []) == by_hand
    assert files.stat(STAGED) is None


def test_a_rewrite_of_before_by_the_same_route_is_not_taken_for_this_one(place: Path) -> None:
    """Its id was there as it was staged."""
    files = open_files(str(place))
    first = in_place(drawn(place))
    stage(draw(files, TRANSLATE, route_for(files, 3), "link back"), OWNER)
    second = publish(files, OWNER, "link back", backups(files))
    assert second not in (None, first)


def test_where_nothing_is_to_be_written_nothing_is(place: Path) -> None:
    """Each position is the same there; but it is looked at whether it still is."""
    files, before = open_files(str(place)), tree(place)
    same = draw(files, TRANSLATE, route_for(files, 0, ""))
    assert not same.rewrite.writes
    stage(same, OWNER)
    assert publish(files, OWNER, ROUTE, []) is None
    assert tree(place) == before
    stage(same, OWNER)
    (place / "offsets" / "3").write_bytes((place / "offsets" / "2").read_bytes())
    (place / "commits" / "2").write_bytes((place / "commits" / "1").read_bytes())
    with pytest.raises(ChangedSinceStagedError):
        publish(files, OWNER, ROUTE, [])


def test_what_another_owner_has_staged_is_neither_used_nor_deleted(place: Path) -> None:
    """Two migrations with one checkpoint: the second one is refused."""
    files = open_files(str(place))
    stage(drawn(place), OWNER)
    unstage(files, "run-2")
    with pytest.raises(NotStagedError, match="is of run-1, which has not ended"):
        stage(drawn(place), "run-2")
    with pytest.raises(NotStagedError, match="no longer there"):
        publish(files, "run-2", ROUTE, [])
    assert files.stat(STAGED) is not None


def test_what_is_unfinished_or_damaged_and_not_ours_is_left_alone(place: Path) -> None:
    """A rewrite by another route that broke off, and a file that is none of ours."""
    stage(drawn(place), OWNER)
    with pytest.raises(Crash):
        in_place(draw(Crashing(place, 24), TRANSLATE, by="link other"))
    before = tree(place)
    with pytest.raises(UnfinishedRewriteError):
        publish(open_files(str(place)), OWNER, ROUTE, [])
    assert tree(place) == before
    undo(open_files(str(place)))
    for text in ("{", '{"version": 2}', "[]"):
        (place / STAGED).write_text(text)
        with pytest.raises(DamagedBackupError):
            publish(open_files(str(place)), OWNER, ROUTE, [])


# -- to a new path -----------------------------------------------------------------------------------------


@pytest.fixture(params=["local", "memory"])
def to(request: pytest.FixtureRequest, tmp_path: Path) -> StoredFiles:
    """A path where nothing is."""
    return open_files(str(tmp_path / "new") if request.param == "local" else f"memory://{uuid.uuid4().hex}/cp")


def test_a_copy_is_at_its_path_when_it_is_published_and_not_before(place: Path, to: StoredFiles) -> None:
    """Until then nothing there can be opened; put back, nothing is left of it."""
    above, wanted = tree(place.parent), expected(place)
    stage_copy(drawn(place), to, OWNER)
    if to.is_local:
        assert not to.list()
    else:
        with pytest.raises(UnfinishedCopyError):
            opened(to)
    unstage_copy(to, OWNER)
    assert tree(place.parent) == above and not list(to.walk())
    stage_copy(drawn(place), to, OWNER)
    for _ in range(2):
        publish_copy(open_files(str(place)), to, OWNER, ROUTE)
        assert snapshot(to) == wanted
        assert open_checkpoint(to).positions() == opened(to).positions()
    with pytest.raises(PathTakenError):
        stage_copy(drawn(place), to, OWNER)


def test_a_copy_that_dies_at_any_write_is_put_back_or_finished(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this machine: while it is made, and while it is had at its path."""
    above, wanted, deaths = tree(tmp_path), expected(place), 0
    to, real = open_files(str(tmp_path / "new")), open_files

    def dies_at(at: int | None) -> None:
        def opens(path: str) -> StoredFiles:
            return Crashing(path, at) if path.endswith(f".anabranch-{OWNER}") and at is not None else real(path)

        monkeypatch.setattr(staged_copy, "open_files", opens)

    for at in itertools.count():
        dies_at(at)
        try:
            stage_copy(drawn(place), to, OWNER)
        except Crash:
            deaths += 1
            dies_at(None)
            unstage_copy(to, OWNER)
            assert tree(tmp_path) == above, at
            continue
        break
    assert deaths > 40
    for at in itertools.count():
        dies_at(None)
        stage_copy(drawn(place), to, OWNER)
        dies_at(at)
        try:
            publish_copy(open_files(str(place)), to, OWNER, ROUTE)
        except Crash:
            dies_at(None)
            publish_copy(open_files(str(place)), to, OWNER, ROUTE)
        else:
            break
        assert snapshot(to) == wanted
        to.delete_tree("")
    assert at > 0
    assert snapshot(to) == wanted
    assert [one.name for one in sorted(tmp_path.iterdir())] == ["cp", "new"]


def test_a_copy_in_a_store_that_dies_is_put_back_or_finished(place: Path) -> None:
    """Before each PUT and DELETE, putting back too: its marker is what goes last."""
    wanted = expected(place)
    for left in itertools.count():
        where = f"memory://{uuid.uuid4().hex}/cp"
        try:
            stage_copy(drawn(place), DyingStore(where, left), OWNER)
        except Crash:
            if left:
                with pytest.raises(Crash):
                    unstage_copy(DyingStore(where, left - 1), OWNER)
            unstage_copy(open_files(where), OWNER)
            assert not list(open_files(where).walk()), left
            continue
        break
    assert left > len(wanted)
    with pytest.raises(Crash):
        publish_copy(open_files(str(place)), DyingStore(where, 0), OWNER, ROUTE)
    publish_copy(open_files(str(place)), open_files(where), OWNER, ROUTE)
    assert snapshot(open_files(where)) == wanted


def test_a_copy_of_what_changed_since_is_not_had_at_its_path(place: Path, to: StoredFiles) -> None:
    """A copy that was made by hand instead is what there is to be."""
    stage_copy(drawn(place), to, OWNER)
    (place / "commits" / "2").write_bytes((place / "commits" / "1").read_bytes())
    with pytest.raises(ChangedSinceStagedError, match="commits/2"):
        publish_copy(open_files(str(place)), to, OWNER, ROUTE)
    unstage_copy(to, OWNER)
    with pytest.raises(NotStagedError):
        publish_copy(open_files(str(place)), to, OWNER, ROUTE)
    stage_copy(drawn(place), to, "by hand")
    publish_copy(open_files(str(place)), to, "by hand", ROUTE)
    publish_copy(open_files(str(place)), to, OWNER, ROUTE)
    assert snapshot(to) == expected(place)


def test_a_path_that_is_taken_is_refused_and_left_as_it_is(place: Path, to: StoredFiles, tmp_path: Path) -> None:
    """By files, by a copy of somebody else's that is under way, and where there is no directory to put it into."""
    refuse_taken(to)
    stage_copy(drawn(place), to, "run-2")
    if not to.is_local:
        with pytest.raises(PathTakenError):
            stage_copy(drawn(place), to, OWNER)
        unstage_copy(to, OWNER)
        with pytest.raises(NotStagedError):
            publish_copy(open_files(str(place)), to, OWNER, ROUTE)
    publish_copy(open_files(str(place)), to, "run-2", ROUTE)
    before = snapshot(to, hidden=True)
    with pytest.raises(PathTakenError):
        refuse_taken(to, OWNER)
    unstage_copy(to, OWNER)
    assert snapshot(to, hidden=True) == before
    with pytest.raises(PathTakenError, match="is not there"):
        refuse_taken(LocalFiles("x", str(tmp_path / "no" / "such")))
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(PathTakenError, match="already"):
        refuse_taken(LocalFiles("x", str(tmp_path / "file")))


def test_what_appears_at_the_path_after_staging_is_not_written_over(place: Path, tmp_path: Path) -> None:
    """A person put it there meanwhile; once it is gone publishing goes on."""
    to = open_files(str(tmp_path / "new"))
    stage_copy(drawn(place), to, OWNER)
    to.put("mine", b"x")
    with pytest.raises(PathTakenError):
        publish_copy(open_files(str(place)), to, OWNER, ROUTE)
    assert snapshot(to) == {"mine": b"x"}
    to.delete("mine")
    publish_copy(open_files(str(place)), to, OWNER, ROUTE)
    assert snapshot(to) == expected(place)
