"""Checkpoints of a stream whose launcher keeps them elsewhere: brought once, never lost, never begun without a word."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from anabranch.spark.streams.bringing import (
    ARRIVING,
    MOVED,
    Bringing,
    CheckpointsGoneError,
    PlaceTakenError,
    PlaceUnreadableError,
)
from anabranch.spark.streams.fence import NewerStartError, StreamFence
from anabranch.storage.errors import StorageError
from anabranch.storage.files import StoredFiles
from anabranch.storage.local import LocalFiles
from anabranch.storage.opening import open_files
from anabranch.storage.stream_checkpoints import note_script

pytestmark = pytest.mark.unit


class BrokenPlace(LocalFiles):
    """A directory that takes so many copies, and is out of reach after."""

    def __init__(self, place: str, copies: int) -> None:
        super().__init__(place, place)
        self.left = copies

    def copy(self, path: str, source: StoredFiles) -> None:
        """Another file, or the end."""
        self.left -= 1
        if self.left < 0:
            raise StorageError(self.root, path, "write", "the network is gone")
        super().copy(path, source)


class Places:
    """Directories by letters, and starts of one stream."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.starts = 0
        self.history: list[str] = []
        self.ran = False

    def __getitem__(self, name: str) -> StoredFiles:
        return open_files(str(self.root / name))

    def start(
        self,
        name: str,
        *,
        begins: bool = False,
        has_run: bool | None = None,
        files: StoredFiles | None = None,
        runs: bool = True,
        former: Sequence[str] | None = None,
    ) -> int:
        """Start with checkpoints at a place; a run appends a batch. Returns how many files were copied."""
        self.starts += 1
        own = files or self[name]
        known = self.history if former is None else former
        places = [str(self.root / one) for one in dict.fromkeys(reversed(known))]
        self.history.append(name)
        has_run = self.ran if has_run is None else has_run
        bringing = Bringing.look("s", own, self.starts, places, open_files, has_run=has_run, begins=begins)
        fence = StreamFence(own, self.starts)
        fence.take()
        count = bringing.bring(fence)
        if runs:
            self.ran = True
            note_script(own, 1, "SELECT 1")
            own.put(f"out/offsets/{len(self.batches(name))}", f"of {name}".encode())
        return count

    def batches(self, name: str) -> list[str]:
        """Who wrote each batch at a place."""
        files = self[name]
        found = sorted(files.list("out/offsets"), key=lambda one: int(one.name))
        return [files.read(f"out/offsets/{one.name}", 1_000).decode() for one in found]

    def marks(self, name: str) -> set[str]:
        """The marks at a place."""
        return {entry.name for entry in self[name].list()} & {ARRIVING, MOVED}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """None with anything in it."""
    return Places(tmp_path)


def test_a_stream_that_never_moves_is_left_alone(places: Places) -> None:
    """Nothing is marked, and nothing is looked for."""
    assert [places.start("a", has_run=False), places.start("a")] == [0, 0]
    assert (places.batches("a"), places.marks("a")) == (["of a", "of a"], set())


def test_checkpoints_go_along_and_come_back_with_what_was_added(places: Places) -> None:
    """B1: whichever place is older, what ran last counts; the place that was left says so."""
    for name in "abbacab":
        places.start(name)
    assert places.batches("b") == [f"of {name}" for name in "abbacab"]
    assert [places.marks(name) for name in "abc"] == [{MOVED}, set(), {MOVED}]
    assert json.loads(places["a"].read(MOVED, 1_000)) == {"place": str(places.root / "b"), "start": 7}


@pytest.mark.parametrize("copies", [0, 1])
@pytest.mark.parametrize("then", ["b", "a", "c"])
def test_a_copy_that_was_not_ended_is_made_again(places: Places, copies: int, then: str) -> None:
    """B2: at the same place, at a third, or given up; what is there in part is never gone on with."""
    places.start("a")
    places.start("a")
    with pytest.raises(StorageError, match="the network is gone"):
        places.start("b", files=BrokenPlace(str(places.root / "b"), copies))
    places.start(then)
    assert places.batches(then) == ["of a", "of a", f"of {then}"]
    places.start("b")
    assert places.batches("b") == ["of a", "of a", f"of {then}", "of b"]


def test_a_copy_whose_end_was_not_noted_where_it_is_counts(places: Places) -> None:
    """The place that it was made from says that it is left: all of it is there."""
    places.start("a")
    places.start("b", runs=False)
    places["b"].put(ARRIVING, json.dumps({"place": str(places.root / "a"), "start": 2}).encode())
    places.start("c")
    assert places.batches("c") == ["of a", "of c"]


def test_a_start_that_fails_before_it_has_brought_anything_changes_nothing(places: Places) -> None:
    """The next one finds the checkpoints where they were, though the newest run was to have them elsewhere."""
    places.start("a")
    places.start("b")
    places.start("a")
    places.history.append("b")  # a run that has failed as its script was looked at
    places.start("b")
    assert places.batches("b") == ["of a", "of b", "of a", "of b"]


def test_what_nobody_has_marked_is_not_overwritten(places: Places) -> None:
    """B3: checkpoints that a person has put there, beside those that ran."""
    places.start("a")
    note_script(places["b"], 1, "another")
    with pytest.raises(PlaceTakenError, match="there are others already"):
        places.start("b")
    assert places.marks("a") == set()


def test_checkpoints_that_a_person_has_moved_are_gone_on_with(places: Places) -> None:
    """They are nowhere else."""
    places.start("a")
    (places.root / "a").rename(places.root / "b")
    assert places.start("b") == 0
    assert places.batches("b") == ["of a", "of b"]


def test_a_stream_whose_checkpoints_are_gone_begins_without_only_where_a_person_says_so(places: Places) -> None:
    """B4: and never with those of an earlier stay, which are older."""
    places.start("a")
    places.start("b")
    (places.root / "b").rename(places.root / "lost")
    for name in "ac":
        with pytest.raises(
            CheckpointsGoneError, match=r"has run, and its checkpoints are gone: there are none at .*b and at"
        ) as raised:
            places.start(name)
        assert "anabranch stream start s --from POSITION" in raised.value.hint
    places.start("a", begins=True)
    assert (places.batches("a"), places.marks("a")) == (["of a"], set())


def test_a_stream_that_never_moved_does_not_begin_from_nothing_either(places: Places) -> None:
    """B4: its directory was taken away, or is another machine's."""
    places.start("a", has_run=False)
    (places.root / "a").rename(places.root / "lost")
    with pytest.raises(CheckpointsGoneError, match="there are none at"):
        places.start("a")
    assert places.start("a", begins=True) == 0


def test_a_stream_that_never_came_to_its_queries_begins_elsewhere(places: Places) -> None:
    """There is nothing to bring."""
    places.start("a", has_run=False, runs=False)
    assert places.start("b", has_run=False) == 0
    assert places.batches("b") == ["of b"]


def test_a_person_who_begins_anew_elsewhere_leaves_what_there_was(places: Places) -> None:
    """It stays, and is not taken for what counts later."""
    places.start("a")
    places.start("b", begins=True)
    assert (places.batches("a"), places.batches("b"), places.marks("a")) == (["of a"], ["of b"], {MOVED})
    places.start("a")
    assert places.batches("a") == ["of b", "of a"]


def test_a_place_that_does_not_answer_is_told(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has may be what counts; a person may say that it does not."""
    places.start("a")

    def unreachable(self: LocalFiles, path: str) -> None:
        if self.place.endswith("/a"):
            raise StorageError(self.root, path, "look at", "no route to host")

    with monkeypatch.context() as patch:
        patch.setattr(LocalFiles, "_stat", unreachable)
        with pytest.raises(PlaceUnreadableError, match="no route to host") as raised:
            places.start("b")
        assert "publish a version with the launcher that ran before" in raised.value.hint
    with monkeypatch.context() as patch:
        patch.setattr(LocalFiles, "_stat", unreachable)
        places.start("b", begins=True)
    places.start("a")
    assert places.batches("a") == ["of b", "of a"]


def test_an_old_driver_that_comes_back_is_over_at_either_place(places: Places) -> None:
    """B5: the fence of the start that brings is at both."""
    places.start("a")
    places.start("b")
    for name in "ab":
        with pytest.raises(NewerStartError):
            StreamFence(places[name], 1).check()


def test_a_later_start_at_the_old_place_keeps_it(places: Places) -> None:
    """The one that copies finds the higher fence, and marks nothing."""
    places.start("a")

    class Overtaken(LocalFiles):
        def copy(self, path: str, source: StoredFiles) -> None:
            StreamFence(source, 9).take()
            super().copy(path, source)

    with pytest.raises(NewerStartError):
        places.start("b", files=Overtaken(str(places.root / "b"), str(places.root / "b")))
    assert places.marks("a") == set()
