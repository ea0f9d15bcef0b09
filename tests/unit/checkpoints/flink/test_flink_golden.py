"""Every savepoint and checkpoint that real Flink wrote for us: read, not changed, and changed and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from flink_samples import FIXTURES, GOLDEN, NAMES, Arithmetic, GoldenFiles, fixture

from anabranch.checkpoints.flink import FlinkCheckpoint, open_checkpoint, versions
from anabranch.checkpoints.flink.enumerator import EnumeratorState
from anabranch.checkpoints.flink.handles import Inline, RelativeFile
from anabranch.checkpoints.flink.metadata import SavepointMetadata, read_metadata
from anabranch.checkpoints.flink.source import SourceKind
from anabranch.checkpoints.flink.uid import operator_id
from anabranch.checkpoints.plan import PendingTransactions, Rewrite, RewriteSpec
from anabranch.checkpoints.position import OffsetRole, SymbolicOffset
from anabranch.model.reasons import ReasonKind
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit

KAFKA = {"kafka", "legacy", "dynamic", "hybrid"}
KNOWN_PROBLEMS = {"hybrid", "old-consumer-stopped"}
"""A source that cannot be moved, and one that has stored nothing: stopped with a savepoint, as it must not be."""

_ALL = tuple(zip(FIXTURES, NAMES, strict=True))
_MOVABLE = tuple(one for one in _ALL if one[1].split("/")[1] not in KNOWN_PROBLEMS)


def _each(fixtures: Sequence[tuple[Path, str]]) -> Callable[[Callable[[Path], None]], Callable[[str], None]]:
    """A test of each fixture, a version of Flink at a time: eight hundred tests would take longer than what they do."""

    def made(test: Callable[[Path], None]) -> Callable[[str], None]:
        @pytest.mark.parametrize("version", sorted({name.split("/")[0] for _, name in fixtures}))
        def run(version: str) -> None:
            for path, name in fixtures:
                if name.split("/")[0] == version:
                    try:
                        test(path)
                    except BaseException as error:
                        error.add_note(f"of the fixture {name}")
                        raise

        run.__doc__ = test.__doc__
        return run

    return made


golden, movable = _each(_ALL), _each(_MOVABLE)


def test_there_are_fixtures_of_the_promised_versions() -> None:
    """Fixtures are made by at least the four lines of Flink that are promised."""
    assert {name.split("/")[0].rsplit(".", 1)[0] for name in NAMES} >= {"1.20", "2.2"}


@golden
def test_a_file_is_emitted_as_it_was_read(path: Path) -> None:
    """Reading and emitting gives the same bytes for everything that Flink wrote."""
    data = path.read_bytes()
    assert read_metadata(data, str(path)).emit() == data


@golden
def test_positions_are_those_that_the_job_had(path: Path) -> None:
    """Each source's next offsets are what the job that wrote the fixture had read."""
    by_id = {source.operator.id: source for source in _open(path).sources}
    for uid, told in fixture(path)[1]["sources"].items():
        source = by_id.get(operator_id(uid))
        if source is None or source.problems or not told["next"]:
            continue
        found = {
            f"{one.partition.topic}:{one.partition.partition}": one.offset
            for one in source.positions()
            if one.role is OffsetRole.NEXT and one.offset != 0
        }
        markers = {name for name, offset in found.items() if isinstance(offset, SymbolicOffset)}
        assert {name: found.get(name) for name in told["next"]} == told["next"]
        assert set(found) <= set(told["next"]) | markers


@golden
def test_sources_are_all_found_and_understood(path: Path) -> None:
    """No fixture has a source that is passed over; only what cannot be moved has a problem."""
    sources = {source.operator.id: source for source in _open(path).sources}
    stopped = path.relative_to(GOLDEN).parts[1] in KNOWN_PROBLEMS
    for uid, told in fixture(path)[1]["sources"].items():
        source = sources.pop(operator_id(uid), None)
        if source is None:
            assert told["kind"] not in KAFKA or path.relative_to(GOLDEN).parts[1] == "finished"
        else:
            assert bool(source.problems) is stopped
    assert not sources


@movable
def test_a_move_to_nowhere_changes_nothing_and_a_move_there_and_back_neither(path: Path) -> None:
    """With state inline and markers resolved: same bytes behind an identity, and behind a move and its inverse."""
    first = _moved(path, path.read_bytes(), Arithmetic(marker=0))
    assert first.refusals == ()
    data = first.writes["_metadata"]
    assert data is not None
    assert _moved(path, data, Arithmetic(marker=0)).writes["_metadata"] == data
    there = _moved(path, data, Arithmetic(by=37, rename=lambda topic: f"a-much-longer.{topic}")).writes["_metadata"]
    assert there is not None and there != data
    back = _moved(path, there, Arithmetic(by=-37, rename=lambda topic: topic.removeprefix("a-much-longer.")))
    assert back.writes["_metadata"] == data


@movable
def test_an_identity_keeps_every_byte_where_state_was_inline_and_plain(path: Path) -> None:
    """Without markers, files and compression nothing at all changes."""
    checkpoint = _open(path)
    plain = not any(state.compressed for one in checkpoint.sources for state in one.states.values())
    numbers = all(one.offset is None or isinstance(one.offset, int) for one in checkpoint.positions())
    result = _moved(path, path.read_bytes(), Arithmetic())
    if numbers:
        kept = result.writes["_metadata"] == path.read_bytes()
        # An exactly-once sink's committer is emptied, which is a change beside the sources.
        assert kept is (plain and _inline(checkpoint.metadata) and not checkpoint.sinks)
    else:
        assert {refusal.why for refusal in result.refusals} == {ReasonKind.MARKER}


@movable
def test_only_the_sources_change(path: Path) -> None:
    """Every other operator has the same bytes behind the move."""
    checkpoint = _open(path)
    result = _moved(path, path.read_bytes(), Arithmetic(by=5, rename=lambda topic: f"b.{topic}", marker=3))
    data = result.writes["_metadata"]
    assert data is not None
    new = read_metadata(data, "new")
    moved = {source.id for source in checkpoint.sources if not source.problems}
    moved |= {sink.operator.hex for sink in checkpoint.sinks}
    version = new.version
    for old, one in zip(checkpoint.metadata.operators, new.operators, strict=True):
        assert old.hex in moved or one.emit(version) == old.emit(version)
    assert (new.properties, new.masters, new.checkpoint_id) == (
        checkpoint.metadata.properties,
        checkpoint.metadata.masters,
        checkpoint.metadata.checkpoint_id,
    )


@movable
def test_positions_behind_a_move_are_those_of_the_plan(path: Path) -> None:
    """Opened again the result has every partition under its new name and at its new offset."""
    checkpoint = _open(path)
    result = _moved(path, path.read_bytes(), Arithmetic(by=5, rename=lambda topic: f"b.{topic}", marker=3))
    data = result.writes["_metadata"]
    assert data is not None
    again = open_checkpoint(GoldenFiles(path, data))
    assert again is not None
    wanted = sorted(
        (
            one.source,
            TopicPartition(f"b.{one.partition.topic}", one.partition.partition),
            one.role,
            None if one.offset is None else one.offset + 5 if isinstance(one.offset, int) else 3,
        )
        for one in checkpoint.positions()
    )
    assert sorted((one.source, one.partition, one.role, one.offset) for one in again.positions()) == wanted


@golden
def test_a_file_for_another_directory_has_no_relative_file_left(path: Path) -> None:
    """Whatever was beside the file is named by its whole path; the rest stays, and it reads again."""
    data = path.read_bytes()
    checkpoint = _open(path)
    moved = checkpoint.relocated(data, "/srv/old/chk-1/")
    before, after = _relative(checkpoint.metadata), _relative(read_metadata(moved, "new"))
    assert after == []
    assert all(f"file:/srv/old/chk-1/{name}".encode() in moved for name in before)
    assert (moved == data) is (not before)
    assert all(one.name in before for one in path.parent.iterdir() if one.name != "_metadata")


@golden
def test_opening_reads_no_keyed_state(path: Path) -> None:
    """Only files of the operator state of sources and sinks are read, besides ``_metadata``."""
    files = GoldenFiles(path)
    checkpoint = open_checkpoint(files)
    assert checkpoint is not None
    assert files.asked.count("_metadata") == 1
    assert len(files.asked) <= 1 + sum(
        subtask.managed is not None and not isinstance(subtask.managed.delegate, Inline)
        for operator in checkpoint.metadata.operators
        for subtask in operator.subtasks or ()
    )


@golden
def test_a_page_tells_version_kind_and_job(path: Path) -> None:
    """The page has what the generator knows of the fixture."""
    expected = fixture(path)[1]
    page = _open(path).page()
    assert page.number == expected["checkpoint"]
    assert page.format == "flink" and page.engine.startswith("Flink ")
    assert _within(expected["flink"], page.engine)
    if expected["kind"] != "checkpoint" and page.versions["_metadata"] != "3":
        kind = " ".join(reversed(expected["kind"].split()))
        assert page.notes[0] == f"a {kind}"
    assert page.job and page.timeline[-1].number == page.number


def test_metadata_of_version_3_is_named_as_narrowly_as_a_source_tells() -> None:
    """It is that of 1.11 to 1.15; a KafkaSource tells 1.12, and 1.13 and later, from those before."""
    path = next(path for path, name in zip(FIXTURES, NAMES, strict=True) if name.startswith("1.15.4/canonical"))
    checkpoint = _open(path)
    assert versions.engine(checkpoint.metadata, checkpoint.sources) == "Flink 1.13 to 1.15"
    assert versions.engine(checkpoint.metadata, ()) == "Flink 1.11 to 1.15"
    first = replace(checkpoint.sources[0], enumerator=EnumeratorState(0, ()))
    assert versions.engine(checkpoint.metadata, (first,)) == "Flink 1.12"


def _within(version: str, engine: str) -> bool:
    numbers = [tuple(map(int, word.split("."))) for word in engine.removeprefix("Flink ").split(" to ")]
    return numbers[0] <= tuple(map(int, version.split(".")[:2])) <= numbers[-1]


def _open(path: Path, data: bytes | None = None) -> FlinkCheckpoint:
    checkpoint = open_checkpoint(GoldenFiles(path, data))
    assert checkpoint is not None
    return checkpoint


def _moved(path: Path, data: bytes, route: Arithmetic) -> Rewrite:
    checkpoint = _open(path, data)
    good = frozenset(source.id for source in checkpoint.sources if not source.problems)
    assert good
    clusters = {
        name: (name, "new:9092")
        for source in checkpoint.sources
        if source.kind is SourceKind.DYNAMIC
        for name in source.enumerators
    }
    return checkpoint.rewrite(
        RewriteSpec(sources=good, transactions=PendingTransactions.DISCARD, renamed_clusters=clusters), route
    )


def _inline(metadata: SavepointMetadata) -> bool:
    return all(
        subtask.managed is None or isinstance(subtask.managed.delegate, Inline)
        for operator in metadata.operators
        for subtask in operator.subtasks or ()
    )


def _relative(metadata: SavepointMetadata) -> list[str]:
    names = []
    for operator in metadata.operators:
        for subtask in operator.subtasks or ():
            names += [one.path for span in (*subtask.keyed, *subtask.channels) for _, _, one in span.relatives]
            if subtask.managed is not None and isinstance(subtask.managed.delegate, RelativeFile):
                names.append(subtask.managed.delegate.path)
    return names
