"""Rewritten savepoints and checkpoints restored by real Flink on another real cluster, against never having moved."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from anabranch.checkpoints.flink.keyed import NO_CHANNELS
from anabranch.checkpoints.plan import PendingTransactions, RewriteSpec
from anabranch.model.reasons import ReasonKind
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.brokers import STEADY
from qa.flink.jobs import VERSIONS, Flink, Job
from tests.chance import is_full
from tests.flink import copying, moves
from tests.flink.copying import Copies
from tests.flink.moves import ALL, Output
from tests.integration.console import Run, console

# kafka-python reads its message schemas so.
pytestmark = [
    pytest.mark.test,
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning"),
]


OLD, NEW = "1.20.3", "2.2.0"
BOTH = pytest.mark.parametrize("number", [OLD, NEW])
MOVES = [pytest.param(OLD, OLD, marks=pytest.mark.full), (NEW, NEW), pytest.param(OLD, NEW, marks=pytest.mark.full)]
IN_FLIGHT = {
    "execution.checkpointing.unaligned.enabled": "true",
    "execution.checkpointing.aligned-checkpoint-timeout": "0ms",
    "taskmanager.memory.segment-size": "4kb",
    "taskmanager.network.memory.buffers-per-channel": "2",
    "taskmanager.network.memory.floating-buffers-per-gate": "2",
}
INCREMENTAL = {"state.backend.type": "rocksdb", "execution.checkpointing.incremental": "true"}
MERGED = {
    "execution.checkpointing.file-merging.enabled": "true",
    "execution.checkpointing.snapshot-compression": "true",
    "execution.checkpointing.data-inline-threshold": "0b",
}
# The names stay, only the servers are others.
SAME_NAMES = [replace(one, copy=one.topic) for one in moves.GIVEN]


@dataclass(frozen=True, slots=True)
class Lab:
    """Two clusters with the same records at other offsets under other names, and a Flink of each version.

    ``unmoved`` is what a job tells that is never moved; ``begun`` is one that was stopped in the middle, with its
    savepoint.
    """

    source: SandboxCluster
    target: SandboxCluster
    copies: Copies
    flinks: dict[str, Flink]
    unmoved: Output
    begun: dict[str, tuple[Job, Path]]


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Both clusters and the versions of Flink that are asked for, with what every test here begins from."""
    scratch = tmp_path_factory.mktemp("flink")
    numbers = (OLD, NEW) if is_full(request.config) else (NEW,)
    with ThreadPoolExecutor(2) as pool:
        starting = pool.submit(start_clusters, [ClusterSpec(name, overrides=STEADY) for name in ("old", "new")])
        flinks = {number: Flink(VERSIONS[number], scratch / f"{number}.log") for number in numbers}
        source, target = starting.result()
        with ExitStack() as running:
            for one in (source, target, *flinks.values()):
                running.enter_context(one)
            copying.produce(source, moves.GIVEN)
            begin = partial(moves.unmoved_and_begun, source=source, directory=scratch)
            told = pool.map(begin, flinks.values())
            copies = copying.copy(target, moves.GIVEN)
            copying.copy(target, SAME_NAMES)
            begun = dict(zip(numbers, told, strict=True))
            unmoved = begun[NEW][0]
            assert all(one[0] == unmoved for one in begun.values())
            yield Lab(
                source, target, copies, flinks, unmoved, {number: (one[1], one[2]) for number, one in begun.items()}
            )


@pytest.fixture
def run(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A verb of ``anabranch checkpoint`` in this process: (exit code, standard output, standard error)."""
    contexts = {"old": lab.source.context(), "new": lab.target.context()}
    return console(contexts, tmp_path, monkeypatch, capsys, "checkpoint")


def test_the_unmoved_job_counts_what_the_data_holds(lab: Lab) -> None:
    """The yardstick itself is right: each record once with its count, in both versions, and windows closed."""
    assert lab.unmoved.records == moves.expected()
    assert len(lab.unmoved.windows) > 50


@pytest.mark.parametrize(("before", "after"), MOVES)
def test_a_moved_job_goes_on_exactly_where_it_was(lab: Lab, tmp_path: Path, before: str, after: str) -> None:
    """Records, counts of keyed state and windows of a job that was stopped, rewritten and restored with twice the
    subtasks are those of the job that was never moved: none lost, none twice.
    """
    flink, (begun, savepoint) = lab.flinks[after], lab.begun[before]
    place = moves.rewrite(savepoint, lab.copies, to=tmp_path / "moved")
    job = flink.start(
        "moved",
        moves.sources(lab.target, lab.copies.names),
        flink.version.conf(restore=place),
        parallelism=2,
        window_ms=moves.WINDOW_MS,
    )
    moves.finish(flink, job, begun)
    assert Output.of(begun, job) == lab.unmoved


def test_the_command_line_moves_a_savepoint(lab: Lab, tmp_path: Path, run: Run) -> None:
    """Planned, rewritten to a new place, verified there, and restored; in place and undone it is what it was."""
    flink, (begun, savepoint) = lab.flinks[NEW], lab.begun[NEW]
    maps, place = tmp_path / "maps.json", tmp_path / "moved"
    lab.copies.save(maps, "old", "new")
    route = ("--maps", str(maps), "--target", "new")
    code, planned, error = run("plan", str(savepoint), *route, "-o", "json")
    assert code == 0, error
    told = ("--plan", json.loads(planned)["hash"], "--stopped", "--execute")
    code, _, error = run("rewrite", str(savepoint), *route, *told, "--to", str(place))
    assert code == 0, error
    code, _, error = run("verify", str(place), *route, "--was", str(savepoint))
    assert code == 0, error
    job = flink.start(
        "moved",
        moves.sources(lab.target, lab.copies.names),
        flink.version.conf(restore=place),
        window_ms=moves.WINDOW_MS,
    )
    moves.finish(flink, job, begun)
    assert Output.of(begun, job) == lab.unmoved
    before = (savepoint / moves.METADATA).read_bytes()
    code, _, error = run("rewrite", str(savepoint), *route, *told)
    assert code == 0, error
    assert (savepoint / moves.METADATA).read_bytes() != before
    code, _, error = run("undo", str(savepoint), "--execute")
    assert code == 0, error
    assert (savepoint / moves.METADATA).read_bytes() == before


@pytest.mark.full
@BOTH
def test_half_a_rewrite_reads_everything_again(lab: Lab, tmp_path: Path, number: str) -> None:
    """New offsets in the readers' state alone, which is all that Flink's own library can write, are not enough."""
    flink, (begun, savepoint) = lab.flinks[number], lab.begun[number]
    place = moves.readers_only(savepoint, lab.copies, tmp_path / "half")
    told = moves.wrong(flink, "half", moves.sources(lab.target, lab.copies.names), place, anew=True)
    assert len(told.records) > ALL, "all of the log, what was there before it too"
    assert (Output.of(begun) + told).duplicates >= len(begun.records)


@pytest.mark.full
@BOTH
def test_a_naive_move_reads_records_again(lab: Lab, number: str) -> None:
    """Other servers alone: the old offsets are earlier records there. New names too: everything is read again."""
    flink, (begun, savepoint) = lab.flinks[number], lab.begun[number]
    servers = moves.wrong(flink, "other servers", moves.sources(lab.target), savepoint)
    assert (Output.of(begun) + servers).duplicates >= 6 * copying.JUNK // 2
    names = moves.wrong(flink, "other names", moves.sources(lab.target, lab.copies.names), savepoint, anew=True)
    assert (Output.of(begun) + names).duplicates >= len(begun.records)


@pytest.mark.parametrize(
    ("number", "conf", "in_place"),
    [
        pytest.param(OLD, IN_FLIGHT, True, marks=pytest.mark.full),
        (NEW, IN_FLIGHT, False),
        pytest.param(OLD, MERGED, False, marks=pytest.mark.full),
        pytest.param(NEW, INCREMENTAL, True, marks=pytest.mark.full),
    ],
    ids=["in-flight-old", "in-flight-new", "merged-old", "incremental-new"],
)
def test_a_checkpoint_that_a_job_left_behind_is_moved(
    lab: Lab, tmp_path: Path, number: str, conf: dict[str, str], in_place: bool
) -> None:
    """Retained checkpoints, with in-flight records, merged and compressed files or incremental state, go on exactly."""
    flink = lab.flinks[number]
    settings = flink.version.conf() | flink.version.retained(tmp_path, "200ms") | conf
    specs = moves.sources(lab.source) if conf is IN_FLIGHT else moves.paced(moves.sources(lab.source))
    begun = flink.start("left", specs, settings, slow_ms=20 if conf is IN_FLIGHT else 0)
    flink.wait_records(begun, ALL // 4)
    left = flink.complete_checkpoint(begun, tmp_path, 1)
    in_flight = sum(subtask.channels != (NO_CHANNELS,) * 2 for subtask in moves.subtasks(left))
    assert bool(in_flight) is (conf is IN_FLIGHT)
    place = moves.rewrite(left, lab.copies, to=None if in_place else tmp_path / "moved")
    job = flink.start("moved", moves.sources(lab.target, lab.copies.names), flink.version.conf(restore=place) | conf)
    assert moves.from_a_checkpoint(flink, begun, job).records == lab.unmoved.records


@pytest.mark.full
@BOTH
def test_pending_transactions_of_a_sink_do_not_move(lab: Lab, tmp_path: Path, number: str) -> None:
    """A savepoint with them is refused; kept they fail the job, taken out it goes on and its output is whole."""
    flink, topic = lab.flinks[number], f"out-{number}"
    for cluster in (lab.source, lab.target):
        copying.create(cluster, {topic: 1})
    sink = {"topic": topic, "uid": "out-sink", "prefix": f"out-{number}"}
    first, second = (sink | {"bootstrap": cluster.bootstrap} for cluster in (lab.source, lab.target))
    settings = flink.version.conf() | flink.version.retained(tmp_path / "checkpoints", "300ms")
    begun = flink.start("sinking", moves.paced(moves.sources(lab.source)), settings, sink=first)
    flink.wait_records(begun, ALL // 4)
    savepoint = flink.stop(begun, tmp_path)
    assert {refusal.why for refusal in moves.refusals(savepoint, lab.copies)} == {ReasonKind.PENDING_TRANSACTIONS}
    specs = moves.sources(lab.target, lab.copies.names)
    kept = moves.rewrite(savepoint, lab.copies, RewriteSpec(transactions=PendingTransactions.KEEP), tmp_path / "kept")
    failing = flink.start("kept", specs, flink.version.conf(restore=kept), sink=second)
    assert "InvalidPidMapping" in flink.wait_failure(failing)
    place = moves.rewrite(
        savepoint, lab.copies, RewriteSpec(transactions=PendingTransactions.DISCARD), tmp_path / "moved"
    )
    job = flink.start("moved", specs, flink.version.conf(restore=place), sink=second)
    flink.wait_records(job, ALL - len(begun.records))
    flink.stop(job, tmp_path)
    assert (Output.of(begun) + Output.of(job)).records == lab.unmoved.records
    out = sorted([*copying.committed(lab.source, topic), *copying.committed(lab.target, topic)])
    assert out == sorted(f"{key}={text}#{n}" for key, text, n in lab.unmoved.records)


@pytest.mark.full
@BOTH
def test_a_dropped_source_begins_as_the_program_says(lab: Lab, tmp_path: Path, number: str) -> None:
    """Its entries are taken out of the savepoint: it begins at its group's offsets, all other state goes on."""
    flink, (begun, savepoint) = lab.flinks[number], lab.begun[number]
    group = f"payments-{number}"
    offsets = moves.next_offsets(savepoint, moves.PAYMENTS.topic)
    copying.commit(lab.target, group, {lab.copies.place(at): lab.copies.target(at, n) for at, n in offsets.items()})
    place = moves.rewrite(
        savepoint, lab.copies, RewriteSpec(drop=frozenset({moves.PAYMENTS_UID})), tmp_path / "dropped"
    )
    orders, payments = moves.sources(lab.target, lab.copies.names)
    specs = [orders, payments | {"from": "committed", "group": group}]
    job = flink.start("dropped", specs, flink.version.conf(restore=place), window_ms=moves.WINDOW_MS)
    moves.finish(flink, job, begun)
    assert Output.of(begun, job) == lab.unmoved


@pytest.mark.full
@BOTH
def test_a_source_that_was_not_named_stays_on_the_old_cluster(lab: Lab, tmp_path: Path, number: str) -> None:
    """One source of two is moved: the job reads both clusters then, and goes on exactly on both."""
    flink, (begun, savepoint) = lab.flinks[number], lab.begun[number]
    place = moves.rewrite(savepoint, lab.copies, RewriteSpec(sources=frozenset({moves.ORDERS_UID})), tmp_path / "moved")
    orders, _ = moves.sources(lab.target, lab.copies.names)
    _, payments = moves.sources(lab.source)
    job = flink.start("one moved", [orders, payments], flink.version.conf(restore=place), window_ms=moves.WINDOW_MS)
    moves.finish(flink, job, begun)
    assert Output.of(begun, job) == lab.unmoved


@pytest.mark.full
def test_the_old_consumer_goes_on_exactly(lab: Lab, tmp_path: Path) -> None:
    """FlinkKafkaConsumer, which keeps the last offset and not the next one, from a checkpoint that it left behind."""
    flink = lab.flinks[OLD]
    specs = moves.paced(moves.sources(lab.source, kind="legacy"))
    begun = flink.start("old consumer", specs, flink.version.conf() | flink.version.retained(tmp_path))
    flink.wait_records(begun, ALL // 4)
    place = moves.rewrite(flink.complete_checkpoint(begun, tmp_path, 1), lab.copies)
    specs = moves.sources(lab.target, lab.copies.names, kind="legacy")
    job = flink.start("moved", specs, flink.version.conf(restore=place))
    assert moves.from_a_checkpoint(flink, begun, job).records == lab.unmoved.records


@dataclass(frozen=True, slots=True)
class Stopped:
    """An old consumer that `flink stop` has ended between two checkpoints; ``again`` is Flink's own restart from it."""

    savepoint: Path
    begun: Output
    again: Output


@pytest.fixture(scope="module")
def stopped(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    """Stopped behind one checkpoint and before the next, and restored where it was, without a move."""
    flink, scratch = lab.flinks[OLD], tmp_path_factory.mktemp("stopped")
    specs = moves.sources(lab.source, kind="legacy")
    settings = flink.version.conf() | flink.version.retained(scratch / "checkpoints", "5s")
    begun = flink.start("old consumer, stopped", moves.paced(specs), settings)
    flink.wait_records(begun, ALL // 4)
    done = len(begun.of("complete"))
    flink.wait(begun, lambda seen: len(seen.of("complete")) > done, "another checkpoint")
    flink.wait_records(begun, len(begun.records) + 10)  # behind one checkpoint, and long before the next
    savepoint = flink.stop(begun, scratch)
    return Stopped(savepoint, Output.of(begun), moves.wrong(flink, "again", specs, savepoint))


@pytest.mark.full
def test_an_old_consumer_that_was_stopped_with_a_savepoint_is_refused(lab: Lab, stopped: Stopped) -> None:
    """It holds where the last checkpoint was: Flink itself repeats records from there, on the very same cluster."""
    found = moves.refusals(stopped.savepoint, lab.copies)
    assert {refusal.why for refusal in found} == {ReasonKind.UNKNOWN}
    assert all("last checkpoint before the stop" in one.what and "retained checkpoint" in one.fix for one in found)
    assert (stopped.begun + stopped.again).duplicates > 0


@pytest.mark.full
def test_an_old_consumer_s_stop_savepoint_goes_on_where_flink_itself_would(
    lab: Lab, stopped: Stopped, tmp_path: Path, run: Run
) -> None:
    """`--stop-savepoint translate`: what it reads on the target, and counts, is what the unmoved restart reads and
    counts: each record from the savepoint's positions on, once, and none from before.
    """
    flink, maps, place = lab.flinks[OLD], tmp_path / "maps.json", tmp_path / "moved"
    lab.copies.save(maps, "old", "new")
    route = ("--maps", str(maps), "--target", "new")
    code, said, error = run("plan", str(stopped.savepoint), *route)
    assert code == 3 and "--stop-savepoint translate" in said + error, said + error
    route = (*route, "--stop-savepoint", "translate")
    code, planned, error = run("plan", str(stopped.savepoint), *route, "-o", "json")
    assert code == 0, error
    told = ("--plan", json.loads(planned)["hash"], "--stopped", "--execute", "--to", str(place))
    code, said, error = run("rewrite", str(stopped.savepoint), *route, *told)
    assert code == 0 and "repeats what was read between" in said + error, said + error
    code, _, error = run("verify", str(place), *route, "--was", str(stopped.savepoint))
    assert code == 0, error
    moved = moves.wrong(flink, "translated", moves.sources(lab.target, lab.copies.names, kind="legacy"), place)
    assert moved.records == stopped.again.records
    assert moved.duplicates == 0
    seen, before = ({one[:2] for one in output.records} for output in (moved, stopped.begun))
    assert seen == moves.left(stopped.savepoint)
    assert seen | before == {one[:2] for one in moves.expected()}


@pytest.mark.full
@BOTH
def test_a_dynamic_source_goes_on_under_its_new_cluster(lab: Lab, tmp_path: Path, number: str) -> None:
    """DynamicKafkaSource: the cluster's name and servers, topics and offsets are all in the state, and all change."""
    flink = lab.flinks[number]
    east = {"uid": "dynamic-source", "kind": "dynamic", "properties": moves.IN_TURNS}
    topics = [one.topic for one in moves.GIVEN]
    before = east | {"clusters": {"east": {"bootstrap": lab.source.bootstrap, "topics": topics}}}
    begun = flink.start("dynamic", moves.paced([before]), flink.version.conf())
    flink.wait_records(begun, ALL // 4)
    rewrite_spec = RewriteSpec(renamed_clusters={"east": ("far-west", lab.target.bootstrap)})
    place = moves.rewrite(flink.stop(begun, tmp_path), lab.copies, rewrite_spec, tmp_path / "moved")
    copied = [lab.copies.names[topic] for topic in topics]
    after = east | {"clusters": {"far-west": {"bootstrap": lab.target.bootstrap, "topics": copied}}}
    job = flink.start("moved", [after], flink.version.conf(restore=place))
    flink.wait_records(job, ALL - len(begun.records))
    flink.watch(1.0)
    flink.cancel(job)
    assert (Output.of(begun) + Output.of(job)).records == lab.unmoved.records
