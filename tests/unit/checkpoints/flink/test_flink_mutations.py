"""Real files that were torn or altered, and small ones that lie: a clear refusal or a sound reading."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from flink_samples import FIXTURES, GOLDEN, Arithmetic, GoldenFiles, reopened
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.chance import examples

from anabranch.checkpoints.errors import DamagedCheckpointError, NoCheckpointError, UnknownVersionError
from anabranch.checkpoints.flink import open_checkpoint
from anabranch.checkpoints.flink.metadata import read_metadata
from anabranch.checkpoints.plan import Transactions, Wish
from anabranch.errors import AnabranchError

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


def survive(path: Path, data: bytes) -> bool:
    """Open and rewrite altered bytes; whether they were sound. Nothing is written on a refusal."""
    try:
        checkpoint = open_checkpoint(GoldenFiles(path, data))
        assert checkpoint is not None
        checkpoint.page()
        clusters = {"east": ("north", "n:9092")}
        wish = Wish(transactions=Transactions.DISCARD, renamed_clusters=clusters if "dynamic" in str(path) else {})
        result = checkpoint.rewrite(wish, Arithmetic(by=3, rename=lambda topic: f"b.{topic}", marker=0))
        if result.refusals:
            assert result.writes == {}
            return False
        checkpoint.relocated(result.writes["_metadata"] or b"", "/somewhere")
        return True
    except AnabranchError:
        return False


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[] if NEWEST in path.parts else [pytest.mark.test]) for path in SMALL],
    ids=lambda path: "-".join(path.relative_to(GOLDEN).parts[:2]),
)
def test_a_file_that_ends_too_early_is_refused_at_every_place(path: Path) -> None:
    """Cut before the properties, it is never read; behind them nothing tells how long they are."""
    data = path.read_bytes()
    properties = len(data) - len(read_metadata(data, "").properties)
    for size in range(properties + 4 if properties < len(data) else len(data)):
        with pytest.raises((DamagedCheckpointError, UnknownVersionError)):
            read_metadata(data[:size], "torn")
    assert survive(path, data)


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
    survive(path, bytes(altered))


@examples(200, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_pieces_that_were_cut_out_or_repeated_never_crash_it(data: st.DataObject) -> None:
    """A half-written or doubled range, and a file of another job in the middle."""
    path = data.draw(st.sampled_from(CHOSEN))
    whole = path.read_bytes()
    start, end = sorted((data.draw(st.integers(0, len(whole))), data.draw(st.integers(0, len(whole)))))
    other = data.draw(st.sampled_from(CHOSEN)).read_bytes()
    kinds = (whole[:start] + whole[end:], whole[:end] + whole[start:], whole[:start] + other[start:])
    survive(path, data.draw(st.sampled_from(kinds)))


@examples(150, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_state_files_that_were_altered_never_crash_it(data: st.DataObject) -> None:
    """Plain and compressed operator state beside the file: opened with its problem, and refused."""
    path = data.draw(st.sampled_from(FILED))
    files = GoldenFiles(path)
    name = data.draw(st.sampled_from(sorted(set(files.contents) - {"_metadata"})))
    altered = bytearray(files.contents[name])
    at = data.draw(st.integers(0, len(altered) - 5))
    piece = data.draw(st.one_of(st.binary(min_size=1, max_size=5), st.sampled_from(LENGTHS)))
    altered[at : at + len(piece)] = piece
    files.contents = {**files.contents, name: bytes(altered[: data.draw(st.integers(0, len(altered) + 50))])}
    checkpoint = open_checkpoint(files)
    assert checkpoint is not None and checkpoint.page().operators
    result = checkpoint.rewrite(Wish(), Arithmetic(by=3, marker=0))
    assert not (result.refusals and result.writes)


@examples(300)
@given(st.binary(max_size=200))
def test_any_bytes_behind_a_good_beginning_are_refused_or_read(tail: bytes) -> None:
    """No other exception, whatever follows."""
    try:
        reopened(HEAD + tail).page()
    except AnabranchError:
        return


def test_a_length_is_never_believed() -> None:
    """Any place in a real file may claim 2 GiB or less than nothing: memory stays within a few times of the file."""
    path = next(one for one in FIXTURES if one.relative_to(GOLDEN).parts[:2] == ("2.2.0", "exactly-once"))
    data = path.read_bytes()
    tracemalloc.start()
    try:
        for number, at in enumerate(range(8, len(data) - 4, 97)):
            survive(path, data[:at] + LENGTHS[number % 3] + data[at + 4 :])
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
    from flink_samples import MemoryFiles

    from anabranch.checkpoints.ports import Entry

    class Job(MemoryFiles):
        def list(self, path: str = "") -> list[Entry]:
            return [Entry(f"chk-{number}", 0, 0, True) for number in (9, 10)]

    assert open_checkpoint(MemoryFiles({})) is None
    with pytest.raises(NoCheckpointError, match="chk-9, chk-10"):
        open_checkpoint(Job({}))
    with pytest.raises(DamagedCheckpointError, match="does not begin"):
        reopened(b"PAR1 and whatever follows")
