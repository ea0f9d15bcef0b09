"""Carry a plan out to a new place, and leave the old one as it is.

Flink's ``_metadata`` goes there alone and names the files of its state where they are. Of a Spark checkpoint all is
copied; on one file system its state is hard-linked, as engines never change a file of it in place.

On this machine the new place appears whole, by a rename. In a store it says of itself that it is unfinished until it
is done. Both may be begun again after a crash, and come to the same end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Protocol, cast

from anabranch.checkpoints.job import Format
from anabranch.model.clock import now_ms
from anabranch.model.plans import PlanChangedError
from anabranch.operations.checkpoints.errors import PlaceTakenError, UnfinishedCopyError, WrittenOtherwiseError
from anabranch.operations.checkpoints.manifest import COPYING, HIDDEN, Manifest, Saved, State, new_id
from anabranch.operations.checkpoints.planning import LOOK_AGAIN, Drawn
from anabranch.operations.checkpoints.rewriting import moved_sources, sha256
from anabranch.operations.checkpoints.stillness import altered
from anabranch.storage import paths
from anabranch.storage.files import StoredFiles
from anabranch.storage.local import LocalFiles
from anabranch.storage.opening import open_files

_METADATA = "_metadata"
_LARGEST = 1 << 30
_AT_ONCE = 16


class Relocatable(Protocol):
    """What a checkpoint of Flink can do, beside what all can."""

    def relocated(self, data: bytes, root: str) -> bytes:
        """A ``_metadata`` for another place."""


def to_place(drawn: Drawn, place: StoredFiles, halt: Event | None = None) -> None:
    """Write the result there, until ``halt`` is set.

    Raises PlaceTakenError, InUseError, PlanChangedError, StorageError, and UnfinishedCopyError where it was halted.
    """
    drawn.allow()
    halt = Event() if halt is None else halt
    old = drawn.files
    _refuse_inside(old, place)
    writes = dict(drawn.rewrite.writes)
    copies: list[str] = []
    if drawn.checkpoint.format is Format.FLINK:
        data = writes.get(_METADATA)
        if data is None:
            data = old.read(_METADATA, _LARGEST)
        writes = {_METADATA: cast(Relocatable, drawn.checkpoint).relocated(data, old.absolute)}
    else:
        copies = [path for path, _ in old.walk() if path not in writes and not is_litter(path)]
    with old.alone():  # two copies to one place would empty the part of each other
        if place.is_local:
            _whole(drawn, place, writes, copies, halt)
        else:
            _marked(drawn, place, writes, copies, halt)


def _whole(drawn: Drawn, place: StoredFiles, writes: dict[str, bytes | None], copies: list[str], halt: Event) -> None:
    if place.list():
        raise PlaceTakenError(place.root, "something is there already")
    name = place.absolute.rpartition("/")[2]
    part = cast(LocalFiles, open_files(paths.beside(place.absolute, f".{name}.anabranch-part")))
    part.delete_tree("")
    _fill(drawn, part, writes, copies, halt)
    _refuse_moved(drawn, part)
    _sign(drawn, part, writes)
    part.become(place)


def _marked(drawn: Drawn, place: StoredFiles, writes: dict[str, bytes | None], copies: list[str], halt: Event) -> None:
    there = {path for path, _ in place.walk()}
    if there and COPYING not in there:
        raise PlaceTakenError(place.root, "something is there already")
    strays = sorted(path for path in there - {*writes, *copies} if not path.startswith(f"{HIDDEN}/"))
    if strays:
        raise PlaceTakenError(place.root, f"beside an unfinished copy there is {strays[0]}, which is not of it")
    mark = {"version": 1, "plan": drawn.planned.hash, "from": drawn.files.root}
    place.put(COPYING, (json.dumps(mark) + "\n").encode("utf-8"))
    _fill(drawn, place, writes, copies, halt)
    _refuse_moved(drawn, None)
    _sign(drawn, place, writes)
    place.delete(COPYING)


def _sign(drawn: Drawn, place: StoredFiles, writes: Mapping[str, bytes | None]) -> None:
    """Leave word of what was moved by which route: nothing in the bytes would tell that from what was not."""
    at = now_ms()
    saved = tuple(Saved(path, drawn.files.digest(path), sha256(data), None) for path, data in writes.items())
    of, plan = drawn.files.root, drawn.planned
    done = Manifest(new_id(at), State.COPIED, plan.hash, plan.route, at, saved, {}, (), moved_sources(drawn), {}, of)
    done.store(place)


def _fill(drawn: Drawn, place: StoredFiles, writes: dict[str, bytes | None], copies: list[str], halt: Event) -> None:
    """State first and the log of offsets last: a part of a copy that is started all the same has no log to go by."""
    ordered = sorted(copies, key=lambda path: (path.startswith("offsets/"), path))
    state = [path for path in ordered if path.startswith("state/")]
    rest = [path for path in ordered if not path.startswith("state/")]

    def copy(path: str) -> None:
        if halt.is_set():
            raise UnfinishedCopyError(place.root)
        if not (path.startswith("state/") and place.link(path, drawn.files)):
            place.copy(path, drawn.files)

    if place.is_local:
        for path in state:
            copy(path)
    else:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(copy, state):
                pass
    for path in rest:
        copy(path)
    for path, data in writes.items():
        if data is None:
            continue
        place.put(path, data)
        if place.digest(path) != sha256(data):
            raise WrittenOtherwiseError(place.root, path)


def _refuse_moved(drawn: Drawn, part: StoredFiles | None) -> None:
    """What was copied is what the plan was made from."""
    moved = altered(drawn.files, drawn.rewrite.reads)
    if moved:
        if part is not None:
            part.delete_tree("")
        raise PlanChangedError(f"{drawn.files.root}: {moved[0]}", drawn.planned.hash, "", LOOK_AGAIN)


def _refuse_inside(old: StoredFiles, place: StoredFiles) -> None:
    here, there = f"{old.absolute.rstrip('/')}/", f"{place.absolute.rstrip('/')}/"
    if here == there:
        raise PlaceTakenError(place.root, "it is the checkpoint itself; leave --to away to rewrite it in place")
    if there.startswith(here) or here.startswith(there):
        raise PlaceTakenError(place.root, f"it and {old.root} are one inside of the other")


def is_litter(path: str) -> bool:
    """What no copy needs: backups of ours, and files that an engine had not finished."""
    name = path.rpartition("/")[2]
    return path.startswith(f"{HIDDEN}/") or (name.startswith(".") and name.endswith(".tmp"))
