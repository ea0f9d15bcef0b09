"""A query's checkpoint as Spark wrote it, on a tree of a test's own, and a route for all of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from anabranch.checkpoints.plan import RewriteSpec, Uncommitted
from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.checkpoints.reports import UndoRewriteReport
from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.operations.checkpoints import undoing
from anabranch.operations.checkpoints.planning import PreparedRewrite, prepare
from anabranch.operations.checkpoints.plans import RewriteRequest
from anabranch.operations.checkpoints.routes import LiveRoute, MappedLane, MapRoute, TargetSnapshot
from anabranch.operations.checkpoints.translation_source import ByLinks, LinkAt, TranslationSource
from anabranch.operations.checkpoints.unmodified_restart import ReadableRange
from anabranch.storage.files import StoredFiles
from anabranch.storage.opening import open_files

GOLDEN = Path(__file__).parents[3] / "golden"
SPARK = GOLDEN / "spark" / "4.1.3"
SHIFT = 7
WISH = RewriteSpec()
TRANSLATE = RewriteSpec(uncommitted=Uncommitted.TRANSLATE)


def no_context(name: str) -> ClusterContext:
    """No cluster is asked in these tests."""
    raise AssertionError(name)


def by_link(name: str) -> TranslationSource:
    """By the maps of a link, which no test here asks a cluster for."""
    return TranslationSource(ByLinks((LinkAt(name, ClusterContext("nowhere", ("127.0.0.1:1",))),)))


ASKED = by_link("eu")


def copy(name: str, to: Path, state: bool = False) -> Path:
    """A golden checkpoint at a place as if stopped long ago; without its state unless that is wanted."""
    shutil.copytree(SPARK / name, to, ignore=None if state else shutil.ignore_patterns("state"))
    settle(to)
    return to


def settle(root: Path, at_s: int = 1_700_000_000) -> None:
    """Have every file be old."""
    for path in root.rglob("*"):
        os.utime(path, (at_s, at_s))


def snapshot(files: StoredFiles | Path, hidden: bool = False) -> Mapping[str, bytes]:
    """Every file's bytes by path; backups only if they are wanted."""
    tree = open_files(str(files)) if isinstance(files, Path) else files
    return {path: tree.read(path, 1 << 20) for path, _ in tree.walk() if hidden or not path.startswith(".anabranch/")}


def route_for(files: StoredFiles, shift: int = SHIFT, prefix: str = "new.") -> MapRoute:
    """All topics of a checkpoint go to others, where offsets are higher."""
    at = {one.partition for one in open_checkpoint(files).positions()}
    to = {one: TopicPartition(prefix + one.topic, one.partition) for one in at}
    lanes = {
        one: MappedLane("link eu", one, target, OffsetMap.of([MappedRange(0, shift, 500)], 0, shift))
        for one, target in to.items()
    }
    log = ReadableRange(0, 500 + shift, 500 + shift)
    topics = {one.topic: target.topic for one, target in to.items()}
    numbers = {
        target.topic: frozenset(one.partition for one in at if prefix + one.topic == target.topic)
        for target in to.values()
    }
    return MapRoute("link eu", topics, lanes, TargetSnapshot(dict.fromkeys(to.values(), log), numbers))


def draw(
    files: StoredFiles, rewrite_spec: RewriteSpec = WISH, route: LiveRoute | None = None, by: str = "link eu"
) -> PreparedRewrite:
    """A plan by that route."""
    request = RewriteRequest(files.root, rewrite_spec, by_link(by.removeprefix("link ")))
    return prepare(files, open_checkpoint(files), request, route or route_for(files))


def undo(files: StoredFiles) -> UndoRewriteReport:
    """Take the newest rewrite back; raises as planning and doing it do."""
    return undoing.take_back(files, undoing.plan(files))


def starts(place: str | Path) -> dict[str, object]:
    """Where a checkpoint goes on."""
    return {str(one.partition): one.offset for one in open_checkpoint(open_files(str(place))).positions()}
