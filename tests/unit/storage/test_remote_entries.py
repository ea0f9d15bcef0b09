"""What a store tells of its files, in the words of its driver: when one was written, and which directory it is."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from anabranch.checkpoints.errors import FileTooLargeError, MissingFileError
from anabranch.storage.errors import StorageError
from anabranch.storage.local import LocalFiles
from anabranch.storage.opening import open_files
from anabranch.storage.overlay import Overlay
from anabranch.storage.remote import RemoteFiles

pytestmark = pytest.mark.unit

AT = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)
AT_MS = 1_767_323_045_678
LIMIT = 100


@pytest.fixture
def _far_east() -> Iterator[None]:
    """A machine whose own time is not UTC."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "FAR-9")
        time.tzset()
        yield
    time.tzset()


class Driver:
    """A store's driver that lists one file with these words, and says nothing else of it unless it is asked."""

    def __init__(self, info: Mapping[str, Any], asked: Any = None) -> None:
        self.info_of, self.asked = dict(info), asked

    def invalidate_cache(self) -> None:
        """There is none."""

    def info(self, path: str) -> dict[str, Any]:
        """Of the one."""
        return {"name": path, "type": "file", "size": 5, **self.info_of}

    def modified(self, path: str) -> Any:
        """When it was written."""
        if self.asked is None:
            raise NotImplementedError
        return self.asked


def store(driver: Any) -> RemoteFiles:
    """A store of that driver."""
    found = open_files(f"memory://{uuid.uuid4().hex}")
    assert isinstance(found, RemoteFiles)
    found._fs = driver
    return found


@pytest.mark.usefixtures("_far_east")
@pytest.mark.parametrize(
    ("info", "asked"),
    [
        ({"LastModified": AT}, None),
        ({"LastModified": AT.astimezone(timezone(timedelta(hours=5)))}, None),
        ({"LastModified": AT.replace(tzinfo=None)}, None),
        ({"LastModified": None, "mtime": AT_MS / 1000}, None),
        ({"mtime": AT_MS / 1000}, None),
        ({"updated": "2026-01-02T03:04:05.678+00:00"}, None),
        ({"modificationTime": AT_MS}, AT.replace(year=2001)),
        ({}, AT),
        ({}, "2026-01-02T03:04:05.678"),
    ],
)
def test_when_a_file_was_written_is_read_in_each_drivers_words(info: Mapping[str, Any], asked: Any) -> None:
    """A time without a zone is one of UTC; a store that does not list it is asked."""
    found = store(Driver(info, asked)).stat("a/b")
    assert found is not None
    assert (found.name, found.size, found.modified_ms, found.is_directory) == ("b", 5, AT_MS, False)


def test_a_store_that_knows_no_times_has_none() -> None:
    """It is not an error."""
    found = store(Driver({})).stat("a/b")
    assert found is not None and found.modified_ms == 0


def test_a_directory_has_neither_a_size_nor_a_time() -> None:
    """Whatever its driver says."""
    found = store(Driver({"type": "directory", "size": 4_096, "mtime": 5})).stat("a/b")
    assert found is not None
    assert (found.size, found.modified_ms, found.is_directory) == (0, 0, True)


def test_what_a_driver_raises_is_an_error_of_the_storage() -> None:
    """It names the place and what was done, and no bug of a driver ends a worker without a word."""

    class Broken(Driver):
        def info(self, path: str) -> dict[str, Any]:
            raise RuntimeError

    files = store(Broken({}))
    with pytest.raises(StorageError) as raised:
        files.stat("a/b")
    assert (raised.value.path, raised.value.reason) == ("a/b", "RuntimeError")


def test_a_place_elsewhere_is_opened_as_what_it_is(tmp_path: Path) -> None:
    """A checkpoint may keep its state in a store, or in another directory."""
    here = LocalFiles(str(tmp_path), str(tmp_path))
    there = here.elsewhere("memory://elsewhere/x")
    assert isinstance(there, RemoteFiles)
    assert there.place == "memory://elsewhere/x"
    again = there.elsewhere("memory://another/y")
    assert isinstance(again, RemoteFiles)
    assert again.place == "memory://another/y"
    local = here.elsewhere(str(tmp_path / "z"))
    assert isinstance(local, LocalFiles)
    assert local.absolute == str(tmp_path / "z")


# -- a tree as it once was -----------------------------------------------------------------------------


@pytest.fixture
def former(tmp_path: Path) -> Overlay:
    """A tree of which one file was changed, one taken away and one put in since."""
    files = LocalFiles(str(tmp_path), str(tmp_path))
    for path in ("d/changed", "d/new", "d/same", "top"):
        files.put(path, path.encode())
    return Overlay(files, {"d/changed": b"as it was", "d/gone": b"was there", "d/new": None})


def test_a_former_tree_has_the_files_of_then(former: Overlay) -> None:
    """With their sizes; what did not change is as it is, and a directory's own children are listed alone."""
    assert [(one.name, one.size) for one in former.list("d")] == [("changed", 9), ("gone", 9), ("same", 6)]
    assert [one.name for one in former.list()] == ["d", "top"]
    assert former.read("d/changed", LIMIT) == b"as it was"
    assert former.read("d/gone", LIMIT) == b"was there"
    assert former.read("d/same", LIMIT) == b"d/same"
    found = {name: former.stat(f"d/{name}") for name in ("changed", "gone", "same", "new")}
    assert {name: one.size for name, one in found.items() if one is not None} == {"changed": 9, "gone": 9, "same": 6}
    changed, gone = found["changed"], found["gone"]
    assert changed is not None and changed.modified_ms > 0
    assert gone is not None and gone.modified_ms == 0


def test_a_file_that_was_not_there_is_missing(former: Overlay) -> None:
    """And one of then is as large as it was, at the limit and above it."""
    with pytest.raises(MissingFileError):
        former.read("d/new", LIMIT)
    assert former.read("d/gone", 9) == b"was there"
    with pytest.raises(FileTooLargeError):
        former.read("d/gone", 8)
    with pytest.raises(FileTooLargeError):
        former.read("d/same", 5)


def test_what_lies_beside_a_former_tree_is_what_lies_there_now(former: Overlay, tmp_path: Path) -> None:
    """And files elsewhere are as they are."""
    (tmp_path.parent / "beside").mkdir(exist_ok=True)
    assert "beside" in [one.name for one in former.beside()]
    assert former.read_foreign(str(tmp_path / "top"), LIMIT) == b"top"
