"""Proofs of results: what is right is said to be, and every way to be wrong is found."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anabranch.checkpoints.errors import DamagedCheckpointError
from anabranch.checkpoints.plan import RewriteSpec
from anabranch.checkpoints.ports import FileEntry
from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.checkpoints.reports import VerificationReport
from anabranch.kafka.clusters import Clusters
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.reasons import ReasonKind
from anabranch.model.start import StartPosition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.operations.checkpoints import activity, checking
from anabranch.operations.checkpoints.copying import copy_to
from anabranch.operations.checkpoints.errors import JobStillWritingError, WrittenSinceError
from anabranch.operations.checkpoints.rewriting import in_place
from anabranch.operations.checkpoints.routes import ExplicitRoute, MappedLane, MapRoute, TargetSnapshot
from anabranch.operations.checkpoints.translation_source import ByStart, TranslationSource
from anabranch.operations.checkpoints.unmodified_restart import ReadableRange
from anabranch.operations.checkpoints.verify import verify as verify_place
from anabranch.storage.local import LocalFiles
from anabranch.storage.opening import open_files
from anabranch.storage.overlay import Overlay
from tests.unit.operations.checkpoints.world import (
    ASKED,
    SHIFT,
    TRANSLATE,
    WISH,
    copy,
    draw,
    no_context,
    route_for,
    snapshot,
)

pytestmark = pytest.mark.unit


def verify(old: Path, new: Path, route: MapRoute, rewrite_spec: RewriteSpec = WISH) -> VerificationReport:
    """The new place against the old one."""
    files, former = open_files(str(new)), open_files(str(old))
    return checking.against(files, open_checkpoint(files), open_checkpoint(former), "old", rewrite_spec, ASKED, route)


@pytest.fixture
def moved(tmp_path: Path) -> tuple[Path, Path, MapRoute]:
    """An old place, its result, and the route between them."""
    old = copy("rocksdb", tmp_path / "old")
    route = route_for(open_files(str(old)))
    copy_to(draw(open_files(str(old)), route=route), open_files(str(tmp_path / "new")))
    return old, tmp_path / "new", route


def edit(place: Path, change: Callable[[bytes], bytes]) -> None:
    """Change the last file of offsets, without a checksum that would tell."""
    path = place / "offsets" / "4"
    path.write_bytes(change(path.read_bytes()))
    (place / "offsets" / ".4.crc").unlink()


def test_a_right_result_is_sound(moved: tuple[Path, Path, MapRoute]) -> None:
    """Each position is held against the one that it comes from, and only offsets and sources differ."""
    old, new, route = moved
    found = verify(old, new, route)
    assert found.sound
    assert len(found.proofs) == 3
    assert all(one.old is not None and one.end == 507 for one in found.proofs)
    changed, wrong = checking.differing(open_files(str(old)), open_files(str(new)), found.format)
    assert not wrong
    assert "offsets/4" in changed and all(path.startswith(("offsets/", "sources/")) for path in changed)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda data: data.replace(b'"0":15', b'"0":16'), "leads to 15"),
        (lambda data: data.replace(b'"0":15', b'"0":14'), "leads to 15"),
        (lambda data: data.replace(b'"0":15', b'"0":900'), "outside of the target's log"),
        (lambda data: data.replace(b'"0":15,', b""), "has no position here"),
        (lambda data: data.replace(b'"0":15', b'"0":15,"7":3'), "comes from no former position"),
        (lambda data: data.replace(b"new.flights", b"flights"), "has no position here"),
    ],
)
def test_a_wrong_position_is_found(
    moved: tuple[Path, Path, MapRoute], change: Callable[[bytes], bytes], text: str
) -> None:
    """One record too many or too few, out of the log, missing, left over, or on the old topic."""
    old, new, route = moved
    before = snapshot(new)["offsets/4"]
    edit(new, change)
    assert snapshot(new)["offsets/4"] != before
    found = verify(old, new, route)
    assert not found.sound
    assert text in " ".join([*found.problems, *(one.problem for one in found.proofs)])


@pytest.mark.parametrize(
    ("name", "find", "put", "text"),
    [
        ("windowed", '"batchWatermarkMs":1', '"batchWatermarkMs":2', "watermark and settings"),
        ("windowed", '"spark.sql.shuffle.partitions":"', '"spark.sql.shuffle.partitions":"1', "watermark and settings"),
        ("mixed", '{"logOffset":0', '{"logOffset":1', "which is not Kafka's"),
    ],
)
def test_a_line_that_is_not_of_positions_must_be_as_it_was(
    tmp_path: Path, name: str, find: str, put: str, text: str
) -> None:
    """The watermark, a setting, and the offset of another source, in the file that decides."""
    old, new = copy(name, tmp_path / "old"), tmp_path / "new"
    route = route_for(open_files(str(old)))
    copy_to(draw(open_files(str(old)), route=route), open_files(str(new)))
    assert verify(old, new, route).sound
    path = max((new / "offsets").glob("[0-9]*"), key=lambda one: int(one.name))
    before = path.read_text()
    assert find in before
    path.write_text(before.replace(find, put))
    (path.parent / f".{path.name}.crc").unlink()
    assert [text in one for one in verify(old, new, route).problems] == [True]


def test_an_offset_with_no_copy_between_is_the_same_place(moved: tuple[Path, Path, MapRoute]) -> None:
    """A map's end may have been a later offset since: readers at both see the same records."""
    old, new, route = moved
    ranges = OffsetMap.of([MappedRange(0, SHIFT, 8), MappedRange(8, 20, 400)], 0, SHIFT)
    lanes = {at: MappedLane("link eu", at, lane.target, ranges) for at, lane in route.lanes.items()}
    found = verify(old, new, MapRoute(route.what, route.topics, lanes, route.target))
    by_partition = {one.new.partition.partition: one for one in found.proofs}
    assert not by_partition[0].problem and "no copied record lies between" in by_partition[0].note
    assert by_partition[1].problem == "9 leads to 21"


def test_what_is_not_a_position_must_be_as_it_was(moved: tuple[Path, Path, MapRoute]) -> None:
    """The query's id, commits, state, and files that came or went."""
    old, new, route = moved
    fmt = verify(old, new, route).format
    for path, data in (("metadata", b"{}"), ("commits/9", b"x"), ("state/0/0/1.delta", b"12345")):
        (new / path).parent.mkdir(parents=True, exist_ok=True)
        (new / path).write_bytes(data)
    (new / "commits" / "2").unlink()
    _, wrong = checking.differing(open_files(str(old)), open_files(str(new)), fmt)
    assert {line.split()[0] for line in wrong} == {"metadata", "commits/9", "state/0/0/1.delta", "commits/2"}


def test_without_its_former_place_each_position_is_translated_back(moved: tuple[Path, Path, MapRoute]) -> None:
    """It tells where that is on the old cluster, and that nobody has told where the job was."""
    old, new, route = moved
    files = open_files(str(new))
    found = checking.alone(files, open_checkpoint(files), WISH, route)
    assert found.sound and found.was is None and found.notes
    assert {one.note for one in found.proofs} == {"flights-0 at 8", "flights-1 at 9", "flights-2 at 10"}
    assert "see --was" in found.notes[0]
    known = checking.alone(files, open_checkpoint(files), WISH, route, str(old))
    assert f"--was {old}" in known.notes[0]
    files = open_files(str(old))
    assert not checking.alone(files, open_checkpoint(files), WISH, route).sound


def test_a_job_that_has_gone_on_is_named_and_nothing_else_is_said(moved: tuple[Path, Path, MapRoute]) -> None:
    """At the new place, or at the old one: batches that the other does not have, by file and number."""
    old, new, _ = moved

    def look() -> None:
        here, there = open_files(str(new)), open_files(str(old))
        checking.refuse_gone_on(there, open_checkpoint(there), here, open_checkpoint(here))

    look()
    shutil.copyfile(new / "offsets" / "4", new / "offsets" / "5")
    with pytest.raises(WrittenSinceError, match=r"new: the job has written since .*offsets/5; it is at number 5 now"):
        look()
    (new / "offsets" / "5").unlink()
    shutil.copyfile(old / "offsets" / "4", old / "offsets" / "5")
    shutil.copyfile(old / "commits" / "4", old / "commits" / "5")
    with pytest.raises(WrittenSinceError, match=r"old: the job has written since .*commits/5, offsets/5") as caught:
        look()
    assert "make the copy again" in caught.value.hint


def test_a_job_that_has_gone_on_in_place_is_named(tmp_path: Path) -> None:
    """What the rewrite did not see is the job's; no cluster is asked then."""
    place = copy("rocksdb", tmp_path / "cp")
    id_ = in_place(draw(open_files(str(place))))
    shutil.copyfile(place / "offsets" / "4", place / "offsets" / "5")
    with pytest.raises(WrittenSinceError, match=rf"since rewrite {id_}: offsets/5; it is at number 5 now"):
        asyncio.run(verify_place(Clusters(no_context), str(place), WISH, ASKED))


def test_a_plan_lists_no_state(tmp_path: Path) -> None:
    """Its size does not matter: of the state's directories only those of operators are looked at, for their times."""
    place = copy("rocksdb", tmp_path / "cp", state=True)

    class Listing(LocalFiles):
        """Keeps what was listed."""

        def _list(self, path: str) -> Iterator[FileEntry]:
            listed.append(path)
            return super()._list(path)

    listed: list[str] = []
    assert not draw(Listing(str(place), str(place))).planned.refusals
    assert "offsets" in listed
    assert not [path for path in listed if path.startswith("state/0/")]


def test_a_start_position_is_proved_as_far_as_the_log_goes(moved: tuple[Path, Path, MapRoute]) -> None:
    """Where it leads moves on, so any offset of the log will do, its end too, and none behind that."""
    old, new, route = moved
    offsets = dict.fromkeys(route.target.logs, 507)
    given = ExplicitRoute("start latest", offsets, {"flights": "new.flights"}, route.target)
    translation = TranslationSource(ByStart(StartPosition.parse("latest"), ClusterContext("new", ("a:1",))))
    files, former = open_files(str(new)), open_files(str(old))

    def found() -> VerificationReport:
        return checking.against(files, open_checkpoint(files), open_checkpoint(former), "old", WISH, translation, given)

    edit(new, lambda data: data.replace(b'"0":15', b'"0":507'))
    assert found().sound
    (new / "offsets" / "4").write_bytes((new / "offsets" / "4").read_bytes().replace(b'"0":507', b'"0":508'))
    assert [one.problem for one in found().proofs if one.problem] == ["it lies outside of the target's log"]


def test_a_position_that_was_to_stay_must_be_where_it_was(tmp_path: Path) -> None:
    """A source that was not moved and has another offset is no right result."""
    old, rewrite_spec = copy("mixed", tmp_path / "old"), RewriteSpec(sources=frozenset({"0"}))
    route = route_for(open_files(str(old)))
    copy_to(draw(open_files(str(old)), rewrite_spec, route), open_files(str(tmp_path / "new")))
    new = tmp_path / "new"
    assert verify(old, new, route, rewrite_spec).sound
    stays = next(one for one in open_checkpoint(open_files(str(new))).positions() if one.source == "2")
    path = max((new / "offsets").glob("[0-9]*"), key=lambda one: int(one.name))
    text = path.read_text()
    line = text.split("\n")[4]
    number = f'"{stays.partition.partition}":{stays.offset}'
    assert number in line
    path.write_text(
        text.replace(line, line.replace(number, f'"{stays.partition.partition}":{int(str(stays.offset)) + 1}'))
    )
    (path.parent / f".{path.name}.crc").unlink()
    problems = [one.problem for one in verify(old, new, route, rewrite_spec).proofs if one.problem]
    assert problems == [f"it stays on the old cluster, where it was at {stays.offset}"]


def test_a_result_of_another_batch_or_without_an_operator_is_found(moved: tuple[Path, Path, MapRoute]) -> None:
    """Right positions are not enough: a later number, or state that is not there."""
    old, new, route = moved
    for directory in ("offsets", "commits"):
        shutil.copyfile(new / directory / "4", new / directory / "5")
    assert "it is number 5, and was 4" in verify(old, new, route).problems
    for directory in ("offsets", "commits"):
        (new / directory / "5").unlink()
    (old / "state" / "0" / "0").mkdir(parents=True)
    assert verify(old, new, route).problems == ("operators are missing: 0",)


def test_without_its_former_place_a_given_offset_is_held_against_the_position(
    moved: tuple[Path, Path, MapRoute],
) -> None:
    """Both are numbers of the target."""
    _, new, route = moved
    files = open_files(str(new))
    offsets = {one.partition: one.offset for one in open_checkpoint(files).positions() if isinstance(one.offset, int)}
    given = ExplicitRoute("a file", offsets, {}, route.target)
    assert checking.alone(files, open_checkpoint(files), WISH, given).sound
    first = min(offsets)
    wrong = ExplicitRoute("a file", offsets | {first: offsets[first] + 1}, {}, route.target)
    proofs = checking.alone(files, open_checkpoint(files), WISH, wrong).proofs
    assert {one.new.partition for one in proofs if one.problem} == {first}


def test_a_log_that_was_cut_is_found(moved: tuple[Path, Path, MapRoute]) -> None:
    """The target's range is that of now."""
    old, new, route = moved
    logs = dict.fromkeys(route.target.logs, ReadableRange(400, 507, 507))
    cut = MapRoute(route.what, route.topics, route.lanes, TargetSnapshot(logs, route.target.topics))
    found = verify(old, new, cut)
    assert not found.sound and "leads nowhere now" in found.problems[0]


def test_a_backup_is_a_checkpoint_of_its_own(tmp_path: Path) -> None:
    """The former bytes over the present tree open as the old one did."""
    place = copy("uncommitted", tmp_path / "cp")
    files = open_files(str(place))
    before, positions = snapshot(place), open_checkpoint(files).positions()
    plan = draw(files, TRANSLATE)
    in_place(plan)
    former = {path: before.get(path) for path in plan.rewrite.writes}
    overlay = Overlay(files, former)
    assert open_checkpoint(overlay).positions() == positions
    assert [one.name for one in overlay.list("offsets")] == [one.name for one in files.list("offsets")]
    gone = Overlay(files, {"metadata": None, "extra/new": b"x"})
    assert gone.stat("metadata") is None
    assert gone.read("extra/new", 10) == b"x"


def test_a_job_that_has_written_lately_may_run(tmp_path: Path) -> None:
    """A minute, or three times its own distance of two entries; with the time that is left."""
    place = copy("rocksdb", tmp_path / "cp")
    checkpoint = open_checkpoint(open_files(str(place)))
    written = checkpoint.newest_write_ms()
    found = activity.running(checkpoint, written + 20_000)
    assert (
        found is not None and found.why is ReasonKind.RUNNING and "20 s ago" in found.what and "--stopped" in found.fix
    )
    quiet = max(activity.QUIET_MS, 3 * (checkpoint.interval_ms() or 0))
    assert activity.running(checkpoint, written + quiet) is None
    assert activity.running(checkpoint, written + quiet - 1) is not None
    assert activity.running(checkpoint, now_ms()) is None


def test_two_looks_must_be_equal_even_if_it_is_said_to_be_stopped(tmp_path: Path) -> None:
    """A file that comes, goes or changes between them is named."""
    place = copy("rocksdb", tmp_path / "cp")
    files = open_files(str(place))
    reads = draw(files).rewrite.reads
    activity.watch(files, reads, lambda _: None)
    with pytest.raises(JobStillWritingError, match="offsets/5"):
        activity.watch(files, reads, lambda _: (place / "offsets" / "5").write_bytes(b"v1") and None)


def test_a_torn_result_does_not_open(moved: tuple[Path, Path, MapRoute]) -> None:
    """What is no checkpoint is no proof."""
    _, new, _ = moved
    edit(new, lambda data: data[:40])
    with pytest.raises(DamagedCheckpointError):
        open_checkpoint(open_files(str(new)))
