"""Real files that were torn or altered, and small ones that lie: a clear refusal or a sound reading."""

from __future__ import annotations

import re
import tracemalloc
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from flink_samples import FIXTURES, GOLDEN, PROPERTIES, Arithmetic, GoldenFiles, MemoryFiles, reopened
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from anabranch.checkpoints.errors import DamagedCheckpointError, NoCheckpointError, UnknownVersionError
from anabranch.checkpoints.flink import FlinkCheckpoint, open_checkpoint, writer
from anabranch.checkpoints.flink.metadata import read_metadata
from anabranch.checkpoints.flink.source import SourceKind
from anabranch.checkpoints.flink.split import KafkaSplit
from anabranch.checkpoints.plan import PendingTransactions, RewriteSpec
from anabranch.checkpoints.position import OffsetRole, Position, SymbolicOffset
from anabranch.model.topics import TopicPartition
from tests.chance import examples

pytestmark = pytest.mark.unit

KINDS = (
    "canonical",
    "compressed",
    "dynamic",
    "exactly-once",
    "merged-unaligned",
    "files",
    "incremental",
    "old-consumer",
)
CHOSEN = [path for path in FIXTURES if path.relative_to(GOLDEN).parts[1] in KINDS]
NEWEST = "2.2.0"
SMALL = [path for path in FIXTURES if path.relative_to(GOLDEN).parts[1] in ("canonical", "dynamic", "exactly-once")]
FILED = [path for path in FIXTURES if path.relative_to(GOLDEN).parts[1] in ("files", "compressed-files")]
LENGTHS = [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00\x00\x00\x00"]
HEAD = bytes.fromhex("4960672d00000006") + bytes(8)
MASTER_MAGIC = 0xC96B1696 - (1 << 32)
OPERATORS = [
    operator
    for path in SMALL
    if NEWEST in path.parts
    for operator in read_metadata(path.read_bytes(), str(path)).operators
]


def taken(path: Path, data: bytes, state: Mapping[str, bytes] | None = None) -> bool:
    """Open and rewrite altered bytes, beside altered files of ``state``; whether they were taken.

    What is opened is emitted as it was read. What is rewritten has every position where the route leads, nothing else
    has changed, and the way back gives the bytes of a move to nowhere. What is refused says where and why.
    """
    checkpoint = _opened(_files(path, data, state))
    if checkpoint is None:
        return False
    assert len(checkpoint.page().operators) == len(checkpoint.metadata.operators)
    there = _rewrite(checkpoint, 3, lambda name: f"b.{name}")
    if there is None:
        return False
    moved = open_checkpoint(_files(path, there, state))
    assert moved is not None
    positions = Counter((one.source, one.partition, one.role, one.offset) for one in moved.positions())
    assert positions == Counter(map(_three_on, checkpoint.positions()))
    others = {one.id for one in checkpoint.metadata.operators}
    others -= {one.operator.id for one in checkpoint.sources} | {one.operator.id for one in checkpoint.sinks}
    old, new = ([one for one in each.metadata.operators if one.id in others] for each in (checkpoint, moved))
    assert old == new
    if not any(isinstance(one.offset, SymbolicOffset) for one in checkpoint.positions()):
        back = _rewrite(moved, -3, lambda name: name.removeprefix("b."))
        assert back is not None and back == _rewrite(checkpoint, 0, lambda name: name)
    return True


def _opened(files: MemoryFiles) -> FlinkCheckpoint | None:
    """The checkpoint, which is emitted as it was read; None where it was refused at one of its bytes."""
    data = files.contents["_metadata"]
    refused = None
    try:
        checkpoint = open_checkpoint(files)
    except (DamagedCheckpointError, UnknownVersionError) as error:
        refused = error
    if refused is None:
        assert checkpoint is not None and checkpoint.metadata.emit() == data
        return checkpoint
    assert (refused.path, refused.name) == (files.root, "_metadata")
    place = re.search(r"byte ([\d,]+)$", refused.at if isinstance(refused, DamagedCheckpointError) else refused.what)
    assert place is not None and int(place[1].replace(",", "")) <= len(data)
    return None


def _positions(path: Path, data: bytes) -> Counter[tuple[str, TopicPartition, OffsetRole, int | SymbolicOffset | None]]:
    checkpoint = open_checkpoint(GoldenFiles(path, data))
    assert checkpoint is not None
    return Counter((one.source, one.partition, one.role, one.offset) for one in checkpoint.positions())


def _files(path: Path, data: bytes, state: Mapping[str, bytes] | None) -> GoldenFiles:
    files = GoldenFiles(path, data)
    files.contents = {**files.contents, **(state or {})}
    return files


def _rewrite(checkpoint: FlinkCheckpoint, by: int, rename: Callable[[str], str]) -> bytes | None:
    """The file behind a move of topics and named clusters, None where it was refused."""
    dynamic = (one for one in checkpoint.sources if one.kind is SourceKind.DYNAMIC)
    clusters = {name: (rename(name), "new:9092") for one in dynamic for name in one.enumerators}
    rewrite_spec = RewriteSpec(transactions=PendingTransactions.DISCARD, renamed_clusters=clusters)
    result = checkpoint.rewrite(rewrite_spec, Arithmetic(by, rename, marker=0))
    if result.refusals:
        assert result.writes == {} and all(one.what for one in result.refusals)
        return None
    return result.writes["_metadata"] if result.writes else checkpoint.metadata.emit()


def _three_on(one: Position) -> tuple[str, TopicPartition, OffsetRole, int | SymbolicOffset | None]:
    """What the route of ``taken`` makes of a position."""
    offset = None if one.offset is None else 0 if isinstance(one.offset, SymbolicOffset) else one.offset + 3
    return one.source, TopicPartition(f"b.{one.partition.topic}", one.partition.partition), one.role, offset


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[] if NEWEST in path.parts else [pytest.mark.test]) for path in SMALL],
    ids=lambda path: "-".join(path.relative_to(GOLDEN).parts[:2]),
)
def test_a_file_that_ends_too_early_is_refused_at_every_place(path: Path, request: pytest.FixtureRequest) -> None:
    """However little is missing, of the properties at its end too; in the unit tier at one place in five."""
    data = path.read_bytes()
    step = 1 if request.node.get_closest_marker("test") else 5
    for size in {*range(0, len(data), step), *range(max(0, len(data) - 200), len(data))}:
        with pytest.raises((DamagedCheckpointError, UnknownVersionError)):
            read_metadata(data[:size], "torn")
    assert taken(path, data)


def test_what_flink_wrote_is_taken() -> None:
    """Every file that is altered below is sound before."""
    assert len(CHOSEN) > 20 and len(FILED) > 4
    for path in dict.fromkeys([*CHOSEN, *FILED]):
        assert taken(path, path.read_bytes())


@pytest.mark.parametrize("offset", [0, 1, 8_192, (1 << 63) - 4])
def test_an_offset_that_was_altered_is_the_one_that_is_read(offset: int) -> None:
    """Any other number in the place of a position is as good as the one before; only compressed state has checksums."""
    altered = 0
    for path in (one for one in CHOSEN if NEWEST in one.parts):
        data = path.read_bytes()
        before = _positions(path, data)
        for source, partition, role, old in before:
            stored = KafkaSplit(partition, old).emit() if isinstance(old, int) else b""
            if role is not OffsetRole.NEXT or data.count(stored) != 1:
                continue
            changed = data.replace(stored, KafkaSplit(partition, offset).emit())
            after = Counter({**before, (source, partition, role, old): 0, (source, partition, role, offset): 1})
            compressed = path.relative_to(GOLDEN).parts[1] == "compressed"
            assert taken(path, changed) is not compressed
            assert compressed or _positions(path, changed) == +after
            altered += not compressed
    assert altered > 10


def test_what_a_position_may_not_be_is_refused() -> None:
    """An offset below the markers, a partition below 0, a name that Kafka could have no topic of."""
    path = next(one for one in CHOSEN if one.relative_to(GOLDEN).parts[:2] == (NEWEST, "canonical"))
    data = path.read_bytes()
    [(_, partition, _, offset), *_] = (one for one in _positions(path, data) if one[2] is OffsetRole.NEXT)
    assert isinstance(offset, int)
    stored = KafkaSplit(partition, offset).emit()
    assert data.count(stored) == 1
    for other, why in (
        (KafkaSplit(partition, -4), "-4 is no offset"),
        (KafkaSplit(TopicPartition(partition.topic, -1), offset), "-1 is no partition"),
        (KafkaSplit(TopicPartition("?" * len(partition.topic), 0), offset), "there is no topic's name"),
    ):
        changed = data.replace(stored, other.emit())
        assert not taken(path, changed)
        checkpoint = open_checkpoint(GoldenFiles(path, changed))
        assert checkpoint is not None
        assert [why in one.what for source in checkpoint.sources for one in source.problems] == [True]


@pytest.mark.parametrize(
    ("at", "piece", "error", "place"),
    [
        (0, b"\x4a", DamagedCheckpointError, 0),
        (4, LENGTHS[0], UnknownVersionError, 4),
        (8, LENGTHS[1], DamagedCheckpointError, 8),
        (16, LENGTHS[0], DamagedCheckpointError, 16),
        (20, LENGTHS[0], DamagedCheckpointError, 20),
        (20, LENGTHS[3], DamagedCheckpointError, 24),
    ],
)
def test_a_head_that_was_altered_is_refused_at_its_byte(
    at: int, piece: bytes, error: type[DamagedCheckpointError | UnknownVersionError], place: int
) -> None:
    """Magic, version, number, counts of masters and of operators."""
    assert CHOSEN
    for path in CHOSEN:
        data = path.read_bytes()
        if data[7] == 3 and piece == LENGTHS[3]:
            continue  # without properties whatever is left is too much, at the same byte
        with pytest.raises(error, match=rf"byte {place}\b") as caught:
            read_metadata(data[:at] + piece + data[at + len(piece) :], "altered")
        assert tuple(getattr(caught.value, name) for name in ("path", "name")) == ("altered", "_metadata")


@pytest.mark.parametrize("path", [one for one in SMALL if NEWEST in one.parts], ids=lambda path: path.parts[-3])
def test_bytes_behind_the_properties_are_refused(path: Path) -> None:
    """The properties are an object with an end of its own: what follows it is nobody's."""
    data = path.read_bytes()
    for more in (b"\x00", b"\x70", b"12345678", data[-8:], b"\xac\xed\x00\x05\x70"):
        with pytest.raises(DamagedCheckpointError, match="left over"):
            read_metadata(data + more, "longer")


@examples(400, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_bytes_that_were_altered_never_crash_it(data: st.DataObject) -> None:
    """Single bytes, several bytes, and lengths of every evil kind, anywhere in any file."""
    path = data.draw(st.sampled_from(CHOSEN))
    altered = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(altered) - 5))
        piece = data.draw(st.one_of(st.binary(min_size=1, max_size=1), st.sampled_from(LENGTHS)))
        altered[at : at + len(piece)] = piece
    taken(path, bytes(altered))


@examples(200, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_pieces_that_were_cut_out_or_repeated_never_crash_it(data: st.DataObject) -> None:
    """A half-written or doubled range, and a file of another job in the middle."""
    path = data.draw(st.sampled_from(CHOSEN))
    whole = path.read_bytes()
    start, end = sorted((data.draw(st.integers(0, len(whole))), data.draw(st.integers(0, len(whole)))))
    other = data.draw(st.sampled_from(CHOSEN)).read_bytes()
    kinds = (whole[:start] + whole[end:], whole[:end] + whole[start:], whole[:start] + other[start:])
    taken(path, data.draw(st.sampled_from(kinds)))


@examples(150, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_state_files_that_were_altered_never_crash_it(data: st.DataObject) -> None:
    """Plain and compressed operator state beside the file: opened with its problem, and refused."""
    path = data.draw(st.sampled_from(FILED))
    contents = GoldenFiles(path).contents
    name = data.draw(st.sampled_from(sorted(set(contents) - {"_metadata"})))
    altered = bytearray(contents[name])
    at = data.draw(st.integers(0, len(altered) - 5))
    piece = data.draw(st.one_of(st.binary(min_size=1, max_size=5), st.sampled_from(LENGTHS)))
    altered[at : at + len(piece)] = piece
    cut = bytes(altered[: data.draw(st.integers(0, len(altered) + 50))])
    taken(path, contents["_metadata"], {name: cut})


@st.composite
def tails(draw: st.DrawFn) -> tuple[bytes, bool | None]:
    """What follows a head, of sound pieces; and whether it is sound: None where it holds bytes that may be anything."""
    masters = [writer.i32(MASTER_MAGIC) + writer.blob(one) for one in draw(st.lists(st.binary(min_size=1), max_size=2))]
    operators = draw(st.lists(st.sampled_from(OPERATORS), max_size=4))
    pieces = [writer.i32(len(masters)), *masters, writer.i32(len(operators)), *(one.emit(6) for one in operators)]
    pieces.append(PROPERTIES)
    match draw(st.sampled_from(("sound", "sound", "counted", "cut", "left out", "anything"))):
        case "counted":
            pieces[1 + len(masters)] = writer.i32(len(operators) + draw(st.sampled_from((-1, 1, 2, 1 << 30))))
            return b"".join(pieces), False
        case "cut":
            whole = b"".join(pieces)
            return whole[: draw(st.integers(0, len(whole) - 1))], False
        case "left out":
            pieces.pop(draw(st.integers(0, len(pieces) - 1)))
            return b"".join(pieces), None if pieces else False
        case "anything":
            pieces.insert(draw(st.integers(0, len(pieces))), draw(st.binary(max_size=200)))
            return b"".join(pieces), None
    return b"".join(pieces), len({one.id for one in operators}) == len(operators)


def test_whatever_follows_a_good_beginning_is_refused_or_read() -> None:
    """Never something else than what is there; of sound pieces it is read, and many of both come about."""
    came = Counter[bool]()

    @examples(300)
    @given(tails())
    def law(drawn: tuple[bytes, bool | None]) -> None:
        tail, is_sound = drawn
        checkpoint = _opened(MemoryFiles({"_metadata": HEAD + tail}))
        assert checkpoint is None or checkpoint.page()
        assert is_sound is None or is_sound == (checkpoint is not None)
        came[checkpoint is not None] += 1

    law()
    assert min(came[True], came[False]) >= came.total() // 10, came


@examples(300)
@given(st.binary(max_size=200))
def test_nothing_follows_the_properties_of_a_checkpoint(properties: bytes) -> None:
    """They are one object of Java's, and nothing of theirs moves; what does not begin as one is refused at its byte."""
    empty = HEAD + bytes(8)
    if properties:
        with pytest.raises(DamagedCheckpointError, match=f"byte {len(empty + PROPERTIES)}: "):
            reopened(empty + PROPERTIES + properties)
    else:
        assert reopened(empty + PROPERTIES).metadata.emit() == empty + PROPERTIES
    with pytest.raises(DamagedCheckpointError, match=f"byte {len(empty)}: a Java object does not begin as one"):
        reopened(empty + b"\0" + properties)


def test_a_length_is_never_believed() -> None:
    """Any place in a real file may claim 2 GiB or less than nothing: memory stays within a few times of the file."""
    path = next(one for one in FIXTURES if one.relative_to(GOLDEN).parts[:2] == ("2.2.0", "exactly-once"))
    data = path.read_bytes()
    tracemalloc.start()
    try:
        for number, at in enumerate(range(8, len(data) - 4, 193)):
            taken(path, data[:at] + LENGTHS[number % 3] + data[at + 4 :])
        assert tracemalloc.get_traced_memory()[1] < 40 * len(data) + (8 << 20)
    finally:
        tracemalloc.stop()


def test_handles_that_hold_handles_without_end_are_refused() -> None:
    """Deep nesting of streams and of changelogs ends with words, not with the stack."""
    operator = bytes(4) + b"\x00\x00\x00\x01" + bytes(4) + bytes(16) + bytes(8)
    streams = b"\x03\x00\x00\x00\x00\x00\x00\x00\x00" * 5000 + b"\x00"
    for deep in (
        streams,
        b"\x00" + b"\x00\x00\x00\x01" + bytes(12) + (b"\x0e" + bytes(16) + b"\x00\x00\x00\x01") * 5000,
    ):
        with pytest.raises(DamagedCheckpointError, match="too deep"):
            read_metadata(HEAD + operator + deep, "deep")


@pytest.mark.parametrize("version", [0, 1, 2, 7, 8, -1])
def test_other_versions_are_refused(version: int) -> None:
    """Those before 1.11 and those that no release writes."""
    with pytest.raises(UnknownVersionError, match="metadata version"):
        read_metadata(HEAD[:4] + version.to_bytes(4, "big", signed=True) + bytes(100), "other")


def test_what_is_no_savepoint_is_told_apart() -> None:
    """No file is none, another file is damaged, and a job's directory names the checkpoints in it."""
    from anabranch.checkpoints.ports import FileEntry

    class Job(MemoryFiles):
        def list(self, path: str = "") -> list[FileEntry]:
            return [FileEntry(f"chk-{number}", 0, 0, True) for number in (9, 10)]

    assert open_checkpoint(MemoryFiles({})) is None
    with pytest.raises(NoCheckpointError, match="chk-9, chk-10"):
        open_checkpoint(Job({}))
    with pytest.raises(DamagedCheckpointError, match="does not begin"):
        reopened(b"PAR1 and whatever follows")
