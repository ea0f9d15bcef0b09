"""Directories beside the checkpoints of queries, and where saved checkpoints can be gone back to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from anabranch.storage.files import StoredFiles
from anabranch.storage.local import LocalFiles
from anabranch.storage.saved_checkpoints import (
    SavedCheckpoint,
    SavedNotThereError,
    first_batch_of,
    queries_of,
    save,
    saved,
    stage,
    take,
)
from anabranch.storage.stream_checkpoints import is_reserved
from anabranch.streams.state.results import OpenBatchError

pytestmark = pytest.mark.unit


class FarFiles:
    """Storage that is no directory of this machine."""

    root = "s3://bucket/pv"


@pytest.mark.parametrize("name", ["fence", "Fence", "script.json", "arriving.json", "moved.json"])
def test_no_query_has_the_directory_of_something_else(name: str) -> None:
    """The fence and the marks of checkpoints are beside those of queries."""
    assert is_reserved(name)
    assert not is_reserved(f"{name}-2")


def test_a_saved_checkpoint_is_not_there_once_its_stream_has_moved_to_other_storage() -> None:
    """Typed, with where the checkpoints are now: it is not said that it never was."""
    with pytest.raises(SavedNotThereError) as raised:
        stage(cast(StoredFiles, FarFiles()), "pv", "friday", "q", "q@3")
    assert "not there: a start has its checkpoints at s3://bucket/pv" in raised.value.message
    assert "they come along" in raised.value.hint


def one_query(root: Path, batches: int) -> LocalFiles:
    """The checkpoints of a stream whose one query has done so many micro-batches."""
    files = LocalFiles(str(root), str(root))
    files.put("q/metadata", b'{"id":"before"}')
    files.put("q/.metadata.crc", b"sum of the id before")
    for batch in range(batches):
        files.put(f"q/offsets/{batch}", b'v1\n{}\n{"t":{"0":%d}}' % batch)
        files.put(f"q/commits/{batch}", b"v1\n{}")
    return files


def told_of(files: LocalFiles) -> SavedCheckpoint:
    """What is saved of it now."""
    return SavedCheckpoint("friday", 7, "mei", 3, "SELECT 1", queries_of(files, "pv"))


def test_a_query_that_begins_from_a_saved_checkpoint_is_another_one_to_its_sink(tmp_path: Path) -> None:
    """It has another id, and the first batch that it writes is the one after the last that was saved (D2)."""
    files = one_query(tmp_path, 3)
    save(files, "pv", told_of(files), lambda: None)
    take(files, stage(files, "pv", "friday", "q", "q@1").removeprefix("."))
    assert first_batch_of(files, "q") is None
    assert first_batch_of(files, "q@1") == 3
    assert json.loads(files.read("q@1/metadata", 1_000))["id"] != "before"
    assert files.stat("q@1/.metadata.crc") is None
    assert files.read("q@1/offsets/2", 1_000) == files.read("q/offsets/2", 1_000)


def test_what_changed_while_it_was_copied_is_not_saved(tmp_path: Path) -> None:
    """The query has gone on: its files are of more than one moment."""

    def changed() -> None:
        raise OpenBatchError("pv", "q", 2)

    files = one_query(tmp_path, 2)
    with pytest.raises(OpenBatchError):
        save(files, "pv", told_of(files), changed)
    assert not saved(files)
    save(files, "pv", told_of(files), lambda: None)
    assert [one.name for one in saved(files)] == ["friday"]
