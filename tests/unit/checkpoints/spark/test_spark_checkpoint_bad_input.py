"""Spark checkpoints truncated, altered, from the future or made to hurt: a clear error, and nothing written."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from spark_samples import FIXTURES, MemoryFiles, TestRoute, fixture, offsets, opened, reasons, tree

from anabranch.checkpoints.errors import (
    DamagedCheckpointError,
    FileTooLargeError,
    MissingFileError,
    UnknownVersionError,
)
from anabranch.checkpoints.plan import RewriteSpec, Uncommitted
from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset
from anabranch.checkpoints.spark import DStreamsCheckpointError, PipelineFlowError, SparkCheckpoint, open_checkpoint
from anabranch.checkpoints.spark.contents import MAX_LOG_BYTES, initial_path
from anabranch.checkpoints.spark.local_crc import crc_path
from anabranch.model.topics import TopicPartition
from tests.chance import examples

pytestmark = pytest.mark.unit
TREES = {name: fixture(name) for name in FIXTURES}
READ = {name: sorted(opened(files).contents.reads) for name, files in TREES.items()}
PARTS = (
    b"-1",
    b"-2",
    b"99999999999999999999",
    b"[" * 200,
    b'{"a":' * 200,
    b"\0",
    b"\n",
    b"\r\n",
    b"v9",
    b"\xff",
    b'"',
    b"{}",
)


def taken(files: MemoryFiles) -> bool:
    """Do all that the workflow does with a checkpoint; whether it was taken, which none without files is.

    What is read is given back byte for byte, and its positions are the numbers that stand in the files. Behind a
    rewrite each is where the route leads. What is refused names the file and what is wrong with it.
    """
    checkpoint = _opened(files)
    if checkpoint is None:
        return False
    contents = checkpoint.contents
    for batch in (contents.last, contents.previous):
        assert batch is None or batch.file.emit() == files.content[batch.path]
    for directory, initial in contents.initials.items():
        assert initial.emit() == files.content[initial_path(directory)]
    positions = checkpoint.positions()
    for one in positions:
        stored = (
            one.offset
            if isinstance(one.offset, int)
            else {SymbolicOffset.LATEST: -1, SymbolicOffset.EARLIEST: -2}[one.offset]
        )
        assert _stored(files, one) == stored
    assert [one for source in checkpoint.page().sources for one in source.positions] == list(positions)
    rewrite = checkpoint.rewrite(RewriteSpec(uncommitted=Uncommitted.TRANSLATE), TestRoute())
    if reasons(rewrite):
        assert all(one.what for one in rewrite.refusals)
        return False
    after = Counter((p.source, p.role, p.partition, p.offset) for p in opened(files.written(rewrite)).positions())
    assert after == Counter(map(_moved, positions))
    return True


def _opened(files: MemoryFiles) -> SparkCheckpoint | None:
    """The checkpoint; None where there is none, and where it was refused at one of its files."""
    refused: MissingFileError | DamagedCheckpointError | UnknownVersionError
    try:
        return open_checkpoint(files)
    except (MissingFileError, DamagedCheckpointError, UnknownVersionError) as error:
        refused = error
    assert refused.path == files.root and len(refused.message) < 1000
    assert (refused.name in files.content) is not isinstance(refused, MissingFileError)
    return None


def _stored(files: MemoryFiles, one: Position) -> object:
    """The number that stands in the position's file, in its source's line."""
    path = one.location.partition(",")[0]
    version, *lines = files.content[path].removeprefix(b"\0").decode().split("\n")
    if path.startswith("sources/"):
        text = (lines or [version])[0]
    elif version == "v1":
        text = lines[1 + int(one.source)]
    else:
        text = next(line for line in lines[1:] if line.startswith(f"{one.source}:")).removeprefix(f"{one.source}:")
    return json.loads(text)[one.partition.topic][str(one.partition.partition)]


def _moved(one: Position) -> tuple[str, OffsetRole, TopicPartition, int]:
    """What the route makes of a position; a marker would have been refused."""
    assert isinstance(one.offset, int)
    return one.source, one.role, TopicPartition(f"new.{one.partition.topic}", one.partition.partition), one.offset + 100


def test_what_spark_wrote_is_taken() -> None:
    """Every checkpoint that is altered below is sound before, and continuous processing's is refused as such."""
    assert len(FIXTURES) > 10
    assert [name for name in FIXTURES if not taken(TREES[name])] == ["4.1.3/continuous"]


@pytest.mark.parametrize("number", [100, 2**63 - 101])
def test_a_number_that_was_altered_is_the_one_that_is_read(number: int) -> None:
    """An offset above those of earlier batches is as good as the one before, where no checksum tells otherwise."""
    altered = 0
    for name in (one for one in FIXTURES if one != "4.1.3/continuous"):
        files, before = TREES[name], opened(TREES[name]).positions()
        for one in before:
            path, here = one.location.partition(",")[0], f'"{one.partition.partition}":{one.offset}'.encode()
            line = files.content[path]
            if one.role is not OffsetRole.NEXT or line.count(here) != 1:
                continue
            there = line.replace(here, f'"{one.partition.partition}":{number}'.encode())
            changed = MemoryFiles({**files.content, path: there})
            checked = crc_path(path) in files.content
            assert opened(changed).contents.stale == ((path,) if checked else ())
            assert not (checked and taken(changed))
            changed.content.pop(crc_path(path), None)
            assert list(opened(changed).positions()) == [replace(p, offset=number) if p == one else p for p in before]
            assert taken(changed)
            altered += 1
    assert altered > 20


@pytest.mark.parametrize(
    ("content", "at"),
    [
        (b"", "byte 0"),
        (b"v1", "line 2"),
        (b"v1\n{}", "line 3"),
        (b"v1\n{}\n\xff", "byte 6"),
        (b"v1\r\n{}\n17", "character 2"),
        (b"v1\n[]\n17", "line 2"),
        (b'v1\n{}\n{"t":{"0":-3}}', "line 3"),
        (b"v2\n{}\n17", "line 3"),
        (b"1\n{}\n17", "line 1"),
    ],
)
def test_damage_is_told_with_the_file_and_its_line(content: bytes, at: str) -> None:
    """Whichever query it was."""
    for name in FIXTURES:
        path = max((one for one in READ[name] if one.startswith("offsets/") and "." not in one), key=_batch)
        with pytest.raises(DamagedCheckpointError) as caught:
            opened(MemoryFiles({**TREES[name].content, path: content}))
        assert (caught.value.path, caught.value.name, caught.value.at) == ("memory", path, at)


def _batch(path: str) -> int:
    return int(path.rpartition("/")[2])


@examples(250, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_mutated_files_of_real_spark_give_clear_errors(data: st.DataObject) -> None:
    """Cut, flipped, overwritten or with something put in; with and without the checksum that would tell."""
    name = data.draw(st.sampled_from(FIXTURES))
    files = MemoryFiles(dict(TREES[name].content))
    path = data.draw(st.sampled_from(READ[name]))
    content = files.content[path]
    at = data.draw(st.integers(0, len(content)))
    match data.draw(st.integers(0, 4)):
        case 0:
            content = content[:at]
        case 1:
            at = min(at, len(content) - 1)
            content = content[:at] + bytes([content[at] ^ 1 << data.draw(st.integers(0, 7))]) + content[at + 1 :]
        case 2:
            content = content[:at] + data.draw(st.sampled_from(PARTS)) + content[at:]
        case 3:
            content = content[:at] + content[at + data.draw(st.integers(1, 40)) :]
        case _:
            content = data.draw(st.sampled_from((b"", b"v1", b"v1\n", b"v3\n{}\n{}", b"\0", content + content)))
    files.content[path] = content
    if data.draw(st.booleans()):
        files.content = {path: content for path, content in files.content.items() if not path.endswith(".crc")}
    taken(files)


@examples(60)
@given(st.sets(st.integers(0, 30)), st.integers(0, len(FIXTURES) - 1))
def test_missing_files_give_clear_errors(gone: set[int], which: int) -> None:
    """Any part of a checkpoint may have been lost."""
    files = TREES[FIXTURES[which]]
    paths = sorted(files.content)
    taken(MemoryFiles({path: files.content[path] for number, path in enumerate(paths) if number not in gone}))


@pytest.mark.parametrize(
    "line",
    [
        '{"t":' * 100_000,
        '{"t":{"0":' + "9" * 5000 + "}}",
        '{"t":{"0":9223372036854775808}}',
        '{"t":{"0":1.5}}',
        '{"t":{"0":-3}}',
        '{"t":{"0":true,"1":4}}',
        '{"t":{"0":1,"0":2}}',
        '{"t":{"0":1},"t":{"0":2}}',
        '{"t":{"00":1,"0":2}}',
        '{"t":{"2147483648":1}}',
        '{"t":{"0":1},"u":{}}',
        '{"t":{"0":1},"u":5}',
        '{"t u":{"0":1}}',
        '{"t":{"0":NaN}}',
        '{"t":{"0":1}',
        "",
    ],
)
def test_lines_that_look_like_kafkas_and_are_not_are_damage(line: str) -> None:
    """Taken for another source's they would be left alone, and the query would go on at wrong records."""
    with pytest.raises(DamagedCheckpointError) as caught:
        opened(tree({0: offsets(line, "7")}, 0))
    assert caught.value.name == "offsets/0"
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    "line", ["17", "-", '{"logOffset":3}', '{"0":{"value":1,"runTimeMs":5}}', '{"a":["x"]}', "text", "[" * 1_000_000]
)
def test_other_sources_may_write_what_they_like(line: str) -> None:
    """Their lines are only kept."""
    checkpoint = opened(tree({0: offsets('{"t":{"0":1}}', line)}, 0))
    assert checkpoint.page().sources[1].positions == ()
    assert {position.source for position in checkpoint.positions()} == {"0"}


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("offsets/0", offsets('{"t":{"0":1}}', version=3)),
        ("commits/0", b"v4\n{}"),
        ("sources/0/0", b'\0v2\n{"t":{"0":1}}'),
    ],
)
def test_versions_from_the_future_are_not_guessed(path: str, content: bytes) -> None:
    """The error names the file and what is known."""
    files = tree({0: offsets('{"t":{"0":1}}')}, 0, {"0": '{"t":{"0":0}}'})
    files.content[path] = content
    with pytest.raises(UnknownVersionError) as caught:
        opened(files)
    assert caught.value.name == path


def test_files_larger_than_any_of_their_kind_are_not_read() -> None:
    """The limit is a million partitions or so."""
    files = tree({0: offsets('{"t":{"0":1}}')}, 0)
    files.content["offsets/0"] += b" " * MAX_LOG_BYTES
    with pytest.raises(FileTooLargeError):
        opened(files)


@pytest.mark.parametrize("part", ["[],", '{"a":1},', '"\\u0041",', "1,"])
def test_the_largest_file_of_the_worst_kind_needs_bounded_memory(part: str) -> None:
    """A small part of the limit is measured here; what is needed grows with the bytes read."""
    size = MAX_LOG_BYTES // 128
    line = '{"t":[' + part * (size // len(part)) + "0]}"
    files = tree({0: offsets(line)}, 0)
    tracemalloc.start()
    try:
        taken(files)
        assert tracemalloc.get_traced_memory()[1] < 100 * size
    finally:
        tracemalloc.stop()


def test_names_that_are_no_batch_are_passed_over() -> None:
    """Torn writes, checksums and directories are none."""
    files = tree({0: offsets('{"t":{"0":1}}')}, 0)
    for name in (".1.0a.tmp", ".1.crc", "x", "01", "+1", "-1", "9" * 30, "2/x"):
        files.content[f"offsets/{name}"] = b"torn"
    assert opened(files).contents.layout.offsets == (0,)


def test_checkpoints_of_dstreams_are_told_apart_with_advice() -> None:
    """They are Java objects; their jobs are moved by committed offsets."""
    with pytest.raises(DStreamsCheckpointError) as caught:
        open_checkpoint(MemoryFiles({f"checkpoint-1700000000000{end}": b"\xac\xed" for end in ("", ".bk")}))
    assert "groups" in caught.value.hint


def test_a_pipelines_flow_names_the_checkpoint_that_lives() -> None:
    """Each full refresh has made one more."""
    with pytest.raises(PipelineFlowError) as caught:
        open_checkpoint(MemoryFiles({"2/offsets/0": b"", "10/offsets/0": b"", "10/commits/0": b""}))
    assert caught.value.newest == 10


def test_other_directories_are_none() -> None:
    """They may be another engine's."""
    assert open_checkpoint(MemoryFiles({"_metadata": b"", "3/x": b""})) is None
    assert open_checkpoint(MemoryFiles({})) is None
