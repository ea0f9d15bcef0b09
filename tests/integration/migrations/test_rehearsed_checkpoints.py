"""A rehearsal moves copies of checkpoints there and back; nothing of it is left, and the jobs' own stay as they are."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from anabranch.kafka.security import open_cluster
from anabranch.migration.rehearsal import Rehearsal, rehearsal_of
from anabranch.migration.spec import CopyRules, JobKind, Limits, Migration, StreamJob, Wave
from anabranch.model.link import ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.operations.migrations import checkpoints, rehearse
from anabranch.operations.migrations.engine import NotYetError
from anabranch.operations.migrations.jobs import ForeignPositionsError, JobRefusedError, NoJobCheckpointError
from anabranch.operations.migrations.rehearse import RehearsalReport
from anabranch.operations.migrations.rehearsed import RehearsalFailedError
from anabranch.operations.migrations.rehearsed_files import MARKER, ForeignDirectoryError
from anabranch.operations.migrations.rehearsed_jobs import JobNotCopiedError
from anabranch.sandbox import ClusterSpec
from anabranch.store.database import open_database
from anabranch.store.waves import StoredMigrations
from qa.brokers import STEADY
from qa.timeouts import TIMEOUT_S
from tests.integration.kafka.security import context_of
from tests.integration.links.test_migration_switch import DiedError, Stand, values
from tests.integration.migrations.test_migration_jobs import SNAPSHOT, filled, place_of, reads, tree
from tests.simulated import Simulated
from tests.unit.operations.checkpoints.world import copy, settle, starts

pytestmark = pytest.mark.test

OTHER_NAMES = CopyRules(mode=ModePolicy.MAPPED, naming=PluginSpec("prefix"))


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Simulated, Simulated]]:
    """The topics of golden checkpoints on the source, and an empty target."""
    old, new = (Simulated(ClusterSpec(name, overrides=STEADY)) for name in ("old", "new"))
    with old, new:
        filled(old)
        yield old, new


class Desk(Stand):
    """A wave whose topics may have other names on the target."""

    async def verify(self, _: str, name: str, __: int) -> str:
        """Both sides hold the same, in the same order, once all is copied."""
        for here, there in self.leg().topics.items():
            if values(self.old, here) != values(self.new, there):
                raise NotYetError(f"{name} has not copied all of {here}")
        return "compared"


def planned(*jobs: StreamJob, rules: CopyRules = OTHER_NAMES) -> Rehearsal:
    """The rehearsal of a wave with these jobs."""
    topics = ("flights", "orders") if any(job.kind is JobKind.FLINK for job in jobs) else ("flights",)
    wave = Wave("all", topics, jobs=jobs)
    return rehearsal_of(Migration("move", "old", "new", (wave,), copy=rules, limits=Limits(quiet_ms=200)), wave)


def rehearsed(pair: tuple[Simulated, Simulated], made: Rehearsal, store: Path) -> RehearsalReport:
    """Go through it, with links in threads of this process."""

    async def tell(stage: str) -> None:
        print(stage)

    async def go(desk: Stand) -> RehearsalReport:
        old, new = (context_of(one, "admin") for one in pair)
        async with open_cluster(old) as source, open_cluster(new) as target:
            shown = await rehearse.plan(source, target, made)
            return await rehearse.apply(source, target, desk, shown, tell)

    database = open_database(f"{store}/store.sqlite")
    with ExitStack() as stack:
        stack.callback(database.close)
        desk = Desk(*pair, made.migration, StoredMigrations(database), stack)  # type: ignore[arg-type]
        return asyncio.run(go(desk))


def scratch_topics(pair: tuple[Simulated, Simulated]) -> list[str]:
    """What a rehearsal has made on either cluster."""
    found = [AdminClient({"bootstrap.servers": one.internal_bootstrap}).list_topics(timeout=TIMEOUT_S) for one in pair]
    return [name for one in found for name in one.topics if "rehearsal." in name]


def two(root: Path) -> tuple[StreamJob, StreamJob]:
    """A query that runs and is rewritten where it is, and one that is put to another place."""
    sums = copy("rocksdb", root / "sums", state=True)
    shutil.copyfile(sums / "offsets" / "4", sums / "offsets" / "5")
    copy("rocksdb", root / "totals", state=True)
    (root / "moved").mkdir()
    return (
        StreamJob("sums/1", JobKind.SPARK, f"{root}/sums"),
        StreamJob("totals", JobKind.SPARK, f"{root}/totals/", f"{root}/moved/totals"),
    )


def test_copies_of_checkpoints_go_there_and_back_and_are_removed(
    pair: tuple[Simulated, Simulated], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One query runs and has begun a batch, and a Flink job has a savepoint; other names on the target."""
    place_of(tmp_path, "savepoint-1", SNAPSHOT)
    alerts = StreamJob("alerts", JobKind.FLINK, f"{tmp_path}/savepoint-1/_metadata", f"{tmp_path}/rewritten-1")
    made = planned(*two(tmp_path), alerts)
    before = tree(tmp_path)
    report = rehearsed(pair, made, tmp_path_factory.mktemp("store"))
    assert [one.verb.value for one in report.runs] == ["start", "verify", "switch", "reverse"]
    assert (report.partitions, report.positions) == (7, 2 * (2 * 3 + 4))
    assert tree(tmp_path) == before and scratch_topics(pair) == []
    assert [one.partition(":")[0] for one in report.left_out] == [
        f"state of job {name}" for name in ("sums/1", "totals", "alerts")
    ]


def test_what_a_killed_rehearsal_left_of_checkpoints_is_removed_by_the_next(
    pair: tuple[Simulated, Simulated],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The copies, what is published of the first, and what is staged of the second; what lies beside stays."""
    made, store = planned(*two(tmp_path)), tmp_path_factory.mktemp("store")
    before, cleans = tree(tmp_path), [rehearse.clean]

    def dies(*_: object) -> None:
        raise DiedError

    async def once(*given: object) -> None:
        if not cleans:
            raise DiedError
        await cleans.pop()(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(checkpoints, "publish_copy", dies)
        patched.setattr(rehearse, "clean", once)
        with pytest.raises(DiedError):
            rehearsed(pair, made, store)
    left = {path for path in tree(tmp_path) if path not in before}
    assert {path.rpartition("/")[2] for path in left} >= {MARKER, "checkpoint", "manifest.json"}
    assert [path for path in left if path.partition("/")[2].partition("/")[2].startswith(".moved.anabranch-")]
    assert {path: what for path, what in tree(tmp_path).items() if path in before} == before
    (copied,) = [job for job in made.jobs if job.real.name == "totals"]
    assert starts(copied.made.checkpoint).keys() == {f"rehearsal.move.flights-{number}" for number in range(3)}
    assert scratch_topics(pair) != []
    assert rehearsed(pair, made, store).positions == 12
    assert tree(tmp_path) == before and scratch_topics(pair) == []


def test_a_directory_that_no_rehearsal_made_is_refused_and_stays(
    pair: tuple[Simulated, Simulated], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """By its marker, and by what is in it beside."""
    made, store = planned(*two(tmp_path)), tmp_path_factory.mktemp("store")
    place = Path(made.jobs[1].directories[0])
    assert place == tmp_path / "rehearsal.move.totals"
    for files, words in (
        ({"mine": "x"}, f"it has no {MARKER} of this one"),
        ({MARKER: '{"version": 1, "migration": "other", "job": "totals"}\n'}, f"it has no {MARKER} of this one"),
        ({MARKER: '{"version": 1, "migration": "move", "job": "totals"}\n', "mine": "x"}, "mine is in it"),
    ):
        place.mkdir()
        for name, text in files.items():
            (place / name).write_text(text)
        before = tree(tmp_path)
        with pytest.raises(ForeignDirectoryError, match=f"{place} was not made by a rehearsal: {words}"):
            rehearsed(pair, made, store)
        assert tree(tmp_path) == before and scratch_topics(pair) == []
        shutil.rmtree(place)


def test_a_checkpoint_that_cannot_be_copied_is_refused_before_anything_is_made(
    pair: tuple[Simulated, Simulated], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """With the reason, and what to do."""
    torn = copy("rocksdb", tmp_path / "torn")
    (torn / "offsets" / "3").unlink()
    for path in (torn / "offsets").glob("[012]"):
        path.unlink()
    settle(torn)
    cases: tuple[tuple[type[JobRefusedError], Path, str], ...] = (
        (NoJobCheckpointError, tmp_path / "no", "there is no such directory"),
        (NoJobCheckpointError, copy("first_batch", tmp_path / "first"), "no batch of it is committed yet"),
        (JobNotCopiedError, copy("mixed", tmp_path / "mixed"), "also reads topic weather.reports, not in this wave"),
        (
            ForeignPositionsError,
            reads(copy("rocksdb", tmp_path / "far"), 600),
            "is at 600 of flights-0, whose log ends",
        ),
        (JobNotCopiedError, torn, "offsets/4 is the only one"),
    )
    before = tree(tmp_path)
    store = tmp_path_factory.mktemp("store")
    for kind, place, words in cases:
        with pytest.raises(kind, match=words) as error:
            rehearsed(pair, planned(StreamJob("a", JobKind.SPARK, str(place))), store)
        assert type(error.value) is kind and error.value.hint
        assert tree(tmp_path) == before and scratch_topics(pair) == []


def test_a_checkpoint_that_is_not_where_it_should_be_fails_the_rehearsal(
    pair: tuple[Simulated, Simulated],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is told where it is, and all that was made is removed."""
    made = planned(two(tmp_path)[0], rules=replace(OTHER_NAMES, naming=PluginSpec("identity")))
    before, publish = tree(tmp_path), checkpoints.publish

    def astray(*given: object) -> str | None:
        done = publish(*given)  # type: ignore[arg-type]
        log = Path(made.jobs[0].made.checkpoint) / "offsets"
        (log / "4").write_bytes((log / "3").read_bytes())
        (log / ".4.crc").unlink()
        return done

    monkeypatch.setattr(checkpoints, "publish", astray)
    said = r"failed to move checkpoints: job sums/1 is at \d+ of rehearsal.move.flights-0, and not at \d+"
    with pytest.raises(RehearsalFailedError, match=said):
        rehearsed(pair, made, tmp_path_factory.mktemp("store"))
    assert tree(tmp_path) == before and scratch_topics(pair) == []
