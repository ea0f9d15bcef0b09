"""Directories beside the checkpoints of queries, and where saved checkpoints can be gone back to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from anabranch.storage.files import StoredFiles
from anabranch.storage.local import LocalFiles
from anabranch.storage.saved_checkpoints import (
    NoQuerySavedError,
    NoSavedError,
    SavedCheckpoint,
    SavedExistsError,
    SavedNotThereError,
    SavedQuery,
    check_goes_back,
    delete,
    first_batch_of,
    goes_back,
    queries_of,
    save,
    saved,
    saved_as,
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


def test_a_saved_checkpoint_is_told_as_it_was_saved(tmp_path: Path) -> None:
    """With every word of it; the newest first, and by its name."""
    files = one_query(tmp_path, 3)
    older = told_of(files)
    newer = replace(older, name="monday", at_ms=9, queries=(SavedQuery("q", 2, None),))
    for one in (older, newer):
        save(files, "pv", one, lambda: None)
    assert list(saved(files)) == [newer, older]
    assert [saved_as(files, "pv", one.name) for one in (older, newer)] == [older, newer]
    assert older.queries == (SavedQuery("q", 2, {"t": {"0": 2}}),)


def test_a_name_is_saved_once(tmp_path: Path) -> None:
    """What it stands for never changes."""
    files = one_query(tmp_path, 1)
    save(files, "pv", told_of(files), lambda: None)
    with pytest.raises(SavedExistsError) as refused:
        save(files, "pv", replace(told_of(files), at_ms=8), lambda: None)
    assert (refused.value.stream, refused.value.name) == ("pv", "friday")
    assert [one.at_ms for one in saved(files)] == [7]


def test_what_a_killed_save_has_left_is_neither_told_nor_kept(tmp_path: Path) -> None:
    """It may be of a half; the next one is written anew."""
    files = one_query(tmp_path, 1)
    files.put("saved@/.friday/q/commits/77", b"half")
    files.put("saved@/.monday/q/commits/77", b"half")
    assert not saved(files)
    save(files, "pv", told_of(files), lambda: None)
    assert [entry.name for entry in files.list("saved@")] == ["friday"]
    assert [entry.name for entry in files.list("saved@/friday/q/commits")] == ["0"]


def test_the_checkpoint_that_is_a_querys_own_is_saved(tmp_path: Path) -> None:
    """As its first one, without the mark of what it began from."""
    files = one_query(tmp_path, 3)
    save(files, "pv", told_of(files), lambda: None)
    take(files, stage(files, "pv", "friday", "q", "q@1").removeprefix("."))
    files.put("q@1/offsets/3", b'v1\n{}\n{"t":{"0":30}}')
    files.put("q@1/commits/3", b"v1\n{}")
    save(files, "pv", replace(told_of(files), name="monday"), lambda: None)
    assert saved_as(files, "pv", "monday").queries == (SavedQuery("q", 3, {"t": {"0": 30}}),)
    assert first_batch_of(files, "saved@/monday/q") is None
    assert files.read("saved@/monday/q/offsets/3", 100) == files.read("q@1/offsets/3", 100)


def test_only_queries_that_have_done_a_micro_batch_are_saved(tmp_path: Path) -> None:
    """Each once, however many checkpoints it has had, by its name; one without a position of its own as well."""
    files = one_query(tmp_path, 2)
    files.put("q@3/offsets/0", b'v1\n{}\n{"t":{"0":9}}')
    files.put("q@3/commits/0", b"v1\n{}")
    files.put("new/metadata", b"{}")
    files.put(".q@4/commits/0", b"staged by one that was killed")
    files.put("a%2Fb/offsets/4", b"v1\n{}\n7")
    files.put("a%2Fb/commits/4", b"v1\n{}")
    files.put("script.json", b"{}")
    assert queries_of(files, "pv") == (SavedQuery("a/b", 4, None), SavedQuery("q", 0, {"t": {"0": 9}}))


def test_a_query_whose_batch_has_not_ended_is_not_saved(tmp_path: Path) -> None:
    """Nobody knows whether its sink has that batch."""
    files = one_query(tmp_path, 2)
    files.put("q/offsets/2", b'v1\n{}\n{"t":{"0":9}}')
    with pytest.raises(OpenBatchError):
        queries_of(files, "pv")


def test_a_query_that_was_not_saved_cannot_go_back(tmp_path: Path) -> None:
    """Nor can one to a name that is not there; neither leaves anything."""
    files = one_query(tmp_path, 1)
    save(files, "pv", told_of(files), lambda: None)
    with pytest.raises(NoQuerySavedError) as query:
        stage(files, "pv", "friday", "other", "other@1")
    assert (query.value.name, query.value.query) == ("friday", "other")
    with pytest.raises(NoSavedError) as name:
        stage(files, "pv", "monday", "q", "q@1")
    assert (name.value.stream, name.value.name) == ("pv", "monday")
    assert [entry.name for entry in files.list()] == ["q", "saved@"]


def test_what_a_killed_start_has_staged_is_staged_anew(tmp_path: Path) -> None:
    """None of its files is left among those of the copy."""
    files = one_query(tmp_path, 1)
    save(files, "pv", told_of(files), lambda: None)
    files.put(".q@1/commits/77", b"half")
    stage(files, "pv", "friday", "q", "q@1")
    assert [entry.name for entry in files.list(".q@1/commits")] == ["0"]
    assert files.stat("q@1") is None


def test_a_saved_checkpoint_that_was_taken_away_is_gone(tmp_path: Path) -> None:
    """The others stay; a second time there is none, also where one that was killed has left its files."""
    files = one_query(tmp_path, 1)
    for name in ("friday", "monday"):
        save(files, "pv", replace(told_of(files), name=name), lambda: None)
    files.put("saved@/.friday/q/commits/0", b"left by one that was killed")
    delete(files, "pv", "friday")
    assert [entry.name for entry in files.list("saved@")] == ["monday"]
    with pytest.raises(NoSavedError):
        delete(files, "pv", "friday")
    with pytest.raises(NoSavedError):
        saved_as(files, "pv", "friday")


def test_how_many_records_a_query_goes_back() -> None:
    """Over all partitions; one that is read from later on takes none of it away, and one that was not there counts
    whole.
    """
    now = SavedQuery("q", 9, {"t": {"0": 70, "1": 10}, "u": {"0": 5}})
    then = SavedQuery("q", 3, {"t": {"0": 50, "1": 40}})
    assert goes_back(now, then) == 25
    assert goes_back(now, now) == 0
    assert goes_back(replace(now, offsets=None), then) is None
    assert goes_back(now, replace(then, offsets=None)) is None


@pytest.mark.parametrize("place", ["s3://bucket/pv", "memory://x", "hdfs://h/pv"])
def test_a_start_in_other_storage_goes_back_to_no_saved_checkpoint(place: str) -> None:
    """They are copies on this machine."""
    with pytest.raises(SavedNotThereError):
        check_goes_back("pv", "friday", place)


@pytest.mark.parametrize("place", ["/srv/pv", "pv", "file:///srv/pv"])
def test_a_start_in_a_directory_may_go_back(place: str) -> None:
    """By whatever way the directory is written."""
    check_goes_back("pv", "friday", place)
