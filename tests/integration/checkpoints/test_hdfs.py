"""Checkpoints in HDFS, where a write is seen while it goes on, and a rename replaces nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anabranch.operations.checkpoints.copying import copy_to
from anabranch.operations.checkpoints.manifest import manifests
from anabranch.operations.checkpoints.rewriting import in_place
from anabranch.storage.errors import StorageError
from anabranch.storage.files import StoredFiles
from anabranch.storage.opening import open_files
from anabranch.storage.remote import RemoteFiles
from tests.integration.checkpoints.hdfs import running_hdfs
from tests.integration.links.topics import fresh
from tests.unit.operations.checkpoints.world import SPARK, TRANSLATE, draw, snapshot, undo
from tests.unit.storage import test_storage_files as suite

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The root of a file system."""
    with running_hdfs(tmp_path_factory.mktemp("hdfs")) as place:
        yield place


def upload(root: Path, place: str) -> StoredFiles:
    """Bring a directory there, without its state."""
    files = open_files(place)
    for path in root.rglob("*"):
        if path.is_file() and "state" not in path.relative_to(root).parts:
            files.put(str(path.relative_to(root)), path.read_bytes())
    return files


@pytest.mark.parametrize("promise", suite.PROMISES, ids=suite.named)
def test_hdfs_keeps_what_every_storage_promises(hdfs: str, promise: Callable[[StoredFiles], None]) -> None:
    """The suite of all kinds of storage."""
    promise(open_files(f"{hdfs}/{fresh('suite')}/cp"))


def test_a_query_is_rewritten_copied_and_taken_back(hdfs: str) -> None:
    """In place and to another directory, with the same result; undo is byte for byte, and nothing is left lying."""
    files, there = upload(SPARK / "uncommitted", f"{hdfs}/query"), open_files(f"{hdfs}/moved")
    before = snapshot(files, hidden=True)
    assert before.items() < snapshot(SPARK / "uncommitted").items()
    copy_to(draw(files, TRANSLATE), there)
    assert snapshot(files, hidden=True) == before
    in_place(draw(files, TRANSLATE))
    assert snapshot(files) == snapshot(there) != before
    undo(files)
    assert snapshot(files, hidden=True) == before
    assert files.stat(".anabranch") is None


class Stopping(RemoteFiles):
    """Ends at the rename of this number: the old file is gone, and the new one not yet there."""

    def __init__(self, place: str, at: int) -> None:
        super().__init__(place, "webhdfs", place.removeprefix("webhdfs://"))
        self.left = at

    def _rename(self, temporary: str, target: str) -> None:
        self.left -= 1
        if self.left < 0:
            raise StorageError(self.root, target, "write", "the network is gone")
        super()._rename(temporary, target)


def test_a_rewrite_that_ends_between_a_deletion_and_a_rename_is_undone(hdfs: str) -> None:
    """The file that is missing then comes back from the backup."""
    place = f"{hdfs}/ended"
    files = upload(SPARK / "uncommitted", place)
    before = snapshot(files)
    saved = len(draw(files, TRANSLATE).rewrite.writes)
    missing = set()
    for at in (saved + 2, 2 * saved + 1):  # one of the files, and the manifest at the end
        with pytest.raises(StorageError, match="the network is gone"):
            in_place(draw(Stopping(place, at), TRANSLATE))
        left = snapshot(files)
        missing |= before.keys() - left.keys()
        if manifests(files):
            undo(files)
        assert snapshot(files) == before
    assert missing


def test_when_a_file_was_written_does_not_depend_on_the_time_zone(hdfs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a job that runs would look as if it had stopped hours ago."""
    files = open_files(f"{hdfs}/time")
    before = time.time()
    files.put("offsets/0", b"x")
    try:
        for zone in ("America/Los_Angeles", "Asia/Tokyo", "UTC"):
            monkeypatch.setenv("TZ", zone)
            time.tzset()
            (entry,) = files.list("offsets")
            assert entry == files.stat("offsets/0")
            assert abs(entry.modified_ms / 1000 - before) < 600
    finally:
        monkeypatch.undo()
        time.tzset()
