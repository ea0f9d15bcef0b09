"""The verbs of ``verify``: which exit code says what, and what Ctrl-C does."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml
from rich.console import Console

from anabranch.cli import main as cli
from anabranch.cli.verify import render
from anabranch.cli.verify.watch import followed
from anabranch.config.verifyspec import VerifyOptions
from anabranch.errors import AnabranchError, ClusterError
from anabranch.kafka.errors import AuthenticationError, UnreachableError
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import OffsetMap
from anabranch.operations.jobs.outcome import how_it_ended
from anabranch.operations.jobs.readerjob import ReaderJob
from anabranch.operations.jobs.startedjob import END_S
from anabranch.operations.verify.show import TellStatus
from anabranch.operations.verify.start import VerifyPlan
from anabranch.operations.verify.started import StartedComparison
from anabranch.state.codecs.verified import LaneVerified, NeverVerifiedError, RunState, VerifyRun, VerifyStatus
from anabranch.verify.pins import Pin
from anabranch.verify.report import RunDetails, report

pytestmark = pytest.mark.unit

RUN = VerifyRun("old-new", "verify-1", RunState.DONE, 1, 2001, 10, 10, 20, 200, 0, {}, {})
ORDERS = TopicPartition("orders", 0)
HOW = RunDetails("old-new", "verify-1", 1, 2001, ("old", "A"), ("new", "B"), "records", "both", 20, 200, {})


def made(verdict: str) -> dict[str, Any]:
    """A report with a verdict."""
    return {**report(HOW, [], {}), "verdict": verdict}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_clusters: list[str]) -> Callable[..., int]:
    """Run ``verify show`` of one status, or of an error; returns the exit code."""
    file = tmp_path / "contexts.yaml"
    file.write_text(yaml.safe_dump({"contexts": {"new": {"bootstrap": ["new:9092"]}}, "target": "new"}))

    def call(answer: VerifyStatus | Exception, *arguments: str) -> int:
        async def show(*_: object) -> VerifyStatus:
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr("anabranch.operations.verify.show.show", show)
        monkeypatch.setattr(
            sys, "argv", ["anabranch", "--contexts", str(file), "verify", "show", "old-new", *arguments]
        )
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        return int(exit_.value.code or 0)

    return call


@pytest.mark.parametrize(("verdict", "code"), [("equal", 0), ("different", 1), ("unknown", 2)])
def test_show_exits_with_the_verdict(
    run: Callable[..., int], verdict: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """0, 1 and 2, and the report and its page are written where they are wanted."""
    files = tmp_path / "report.json", tmp_path / "page.html"
    status = VerifyStatus(RUN, (), made(verdict), 3000)
    assert run(status, "--report", str(files[0]), "--page", str(files[1]), "-o", "json") == code
    assert json.loads(files[0].read_text())["verdict"] == verdict
    assert verdict in files[1].read_text()
    assert json.loads(capsys.readouterr().out)["report"]["verdict"] == verdict


def test_samples_are_named_by_their_partitions(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lane's key is nothing that a person knows."""
    key = f"old-new/{'0' * 21}Q/2"
    where = {"since": 0, "verified_to": 9, "to": 9, "records": 9, "digest": "d"}
    lane = {
        "lane": key,
        "verdict": "different",
        "source": {"topic": "flights", "partition": 2, **where},
        "target": {"topic": "old.flights", "partition": 2, **where},
        "counts": {"missing": 1},
    }
    sample = {"lane": key, "kind": "missing", "source_offset": 4, "target_offset": None, "fields": [], "contents": None}
    told = {**made("different"), "lanes": [lane], "samples": [sample]}
    page = tmp_path / "page.html"
    assert run(VerifyStatus(RUN, (), told, 3000), "--page", str(page)) == 1
    shown = capsys.readouterr().out
    assert any(line.split() == ["missing", "flights-2", "4", "old.flights-2"] for line in shown.splitlines()), shown
    assert key not in shown + page.read_text()
    assert "<td>flights-2<td>old.flights-2<td>missing" in page.read_text()


@pytest.mark.parametrize(
    ("offsets", "done", "differing", "words"),
    [
        (0, 0, 0, "Spark starts for 12 s"),
        (60_000, 0, 0, "reads the first of 60,000 offsets for 12 s"),
        (60_000, 30_000, 0, "running, 50.0%"),
        (60_000, 60_000, 3, "naming what differs"),
    ],
)
def test_before_the_first_round_has_ended_no_share_is_claimed(
    offsets: int, done: int, differing: int, words: str
) -> None:
    """0 % for minutes would look like a comparison that stands still."""
    running = replace(RUN, state=RunState.RUNNING, offsets=offsets, done=done, differing=differing)
    said = render.line(VerifyStatus(running, (), None, RUN.started_at_ms + 12_000))
    assert words in said and "0.0%" not in said.replace("50.0%", "").replace("100.0%", "")


def test_a_report_of_an_earlier_run_is_no_verdict_on_this_one(run: Callable[..., int]) -> None:
    """While a comparison runs there is no verdict, even if an earlier one said equal."""
    running = replace(RUN, run="verify-2", state=RunState.RUNNING)
    assert run(VerifyStatus(running, (), made("equal"), 3000)) == 2


@pytest.mark.parametrize(("error", "code"), [(NeverVerifiedError("old-new"), 3), (ZeroDivisionError(), 2)])
def test_no_error_exits_as_a_verdict_would(run: Callable[..., int], error: Exception, code: int) -> None:
    """Errors keep their codes, and a fault of ours does not say "different"."""
    assert run(error) == code
    assert not isinstance(error, AnabranchError) or error.exit_code == code


@pytest.mark.parametrize("verb", ["start", "show", "stop", "resume"])
def test_no_fault_of_a_verb_is_a_verdict_wherever_it_happens(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not one of its own module either, before it asks anything: 1 would say that records differ."""

    def fault(given: object, **_: object) -> None:
        if isinstance(given, Coroutine):
            given.close()
        raise ZeroDivisionError

    for module in ("start", "show", "stop"):
        # The package has a function of each one's name.
        monkeypatch.setattr(sys.modules[f"anabranch.cli.verify.{module}"], "run", fault)
    monkeypatch.setattr(sys.modules["anabranch.cli.verify.start"], "settings_of", fault)
    monkeypatch.setattr(sys, "argv", ["anabranch", "verify", verb, "old-new"])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


async def interrupted(*_: object) -> Any:
    """Press Ctrl-C."""
    signal.raise_signal(signal.SIGINT)
    await asyncio.Event().wait()


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C does what it does to a program, whatever runs the tests makes of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_detaches() -> None:
    """Leaving the view asks nothing of the comparison."""
    running = VerifyStatus(replace(RUN, state=RunState.RUNNING), (), None, 2001)

    async def follow(tell: TellStatus) -> VerifyStatus:
        await tell(running)
        await interrupted()
        return running

    console = Console(record=True, width=200)
    assert asyncio.run(followed(follow, console)) is None
    assert "the comparison goes on" in console.export_text()


def test_a_pipe_is_told_each_change_once() -> None:
    """As `link wait` does: a comparison that stands still says nothing."""
    running = VerifyStatus(replace(RUN, state=RunState.RUNNING), (), None, 2001)
    done = VerifyStatus(RUN, (), None, 2001)

    async def follow(tell: TellStatus) -> VerifyStatus:
        for _ in range(3):
            await tell(running)
        return done

    console = Console(record=True, width=200)
    assert asyncio.run(followed(follow, console)) is done
    assert len(console.export_text().splitlines()) == 1


class Job:
    """The job of a comparison: it ended with a code, goes on, or (``later``) ends when it is waited for."""

    run, pid = "verify-1", 4711

    def __init__(self, code: int | None, later: int | None = None) -> None:
        self.code = code
        self.later = code if later is None else later
        self.log = Path()
        self.detached = False

    async def ended_within(self, seconds: float) -> int | None:
        return self.later if seconds == END_S else self.code

    def detach(self) -> None:
        self.detached = True


class Starting:
    """The operations behind ``verify start``: a job that was launched, and what the target tells each time."""

    log = 'noise\n{"error": "no jar is there", "hint": "bring it"}\n'

    def __init__(self, job: Job, *told: VerifyStatus) -> None:
        self.job = job
        self.told = list(told)
        self.launched: list[str] = []
        self.concluded: list[str] = []

    async def link(self, *_: object) -> object:
        return SimpleNamespace(spec=SimpleNamespace(source=SimpleNamespace(context="new")))

    async def show(self, *_: object) -> VerifyStatus:
        if not self.told:
            raise NeverVerifiedError("old-new")
        return self.told.pop(0) if len(self.told) > 1 else self.told[0]

    async def nothing_killed(self, *_: object) -> None:
        """No earlier comparison was killed here."""

    async def plan(self, *asked: object) -> VerifyPlan:
        options = asked[3] if len(asked) > 3 else VerifyOptions()
        assert isinstance(options, VerifyOptions)
        kept, orders = LaneVerified("k/0", "verify-0", (10, 2_000), (0, 1_990), ((0, 65_535),), 3000), ORDERS
        pin = Pin("k/0", orders, orders, 10, 3_000, 0, 2_990, OffsetMap.of([]))
        return VerifyPlan("old-new", "verify-1", (pin,), options, "cafe", forgets=(kept,) if options.fresh else ())

    async def apply(self, _target: object, planned: VerifyPlan, job: ReaderJob) -> StartedComparison:
        self.launched.append(planned.run)
        self.job.log = job.directory / f"{planned.run}.log"
        self.job.log.write_text(self.log)
        return StartedComparison(planned.link, job.directory, cast(Any, self.job))

    async def conclude(self, _target: object, _link: str, run: str, why: str) -> VerifyStatus | None:
        if not self.told or self.told[-1].run.run != run:
            return None
        found = self.told[-1]
        if found.run.state is RunState.RUNNING:
            self.concluded.append(why)
            found = replace(found, run=replace(found.run, state=RunState.FAILED, why=why))
        return found


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_clusters: list[str]) -> Callable[..., int]:
    """Run ``verify start``, or another verb, against operations; returns the exit code."""
    file = tmp_path / "contexts.yaml"
    file.write_text(yaml.safe_dump({"contexts": {"new": {"bootstrap": ["new:9092"]}}, "target": "new"}))

    def call(engine: Starting, *arguments: str, verb: str = "start") -> int:
        for name, ask in {
            "links.show.show": engine.link,
            "verify.started.show": engine.show,
            "verify.started.conclude": engine.conclude,
            "verify.ending.conclude_killed": engine.nothing_killed,
            "verify.start.plan": engine.plan,
            "verify.resume.plan": engine.plan,
            "verify.start.apply": engine.apply,
        }.items():
            monkeypatch.setattr(f"anabranch.operations.{name}", ask)
        place = ["--directory", str(tmp_path)]
        monkeypatch.setattr(
            sys, "argv", ["anabranch", "--contexts", str(file), "verify", verb, "old-new", *place, *arguments]
        )
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        return int(exit_.value.code or 0)

    return call


@pytest.mark.parametrize(("verdict", "code"), [("equal", 0), ("different", 1), ("unknown", 2)])
def test_start_exits_with_the_verdict_of_its_own_run(start: Callable[..., int], verdict: str, code: int) -> None:
    """An earlier run's is passed over, as long as the job has persisted nothing."""
    for other in ("equal", "different"):
        earlier = VerifyStatus(replace(RUN, run="verify-0"), (), {**made(other), "run": "verify-0"}, 3000)
        own = VerifyStatus(RUN, (), made(verdict), 3000)
        assert start(Starting(Job(None), earlier, own)) == code


def test_what_an_earlier_comparison_came_to_is_thrown_away_only_where_that_was_typed(
    start: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """A dry run names it, and is no verdict; the command that it says applies just that plan."""
    engine = Starting(Job(None), VerifyStatus(RUN, (), made("equal"), 3000))
    assert start(engine, "--fresh") == 2 and engine.launched == []
    out, err = capsys.readouterr()
    assert "old-new would be compared from the start; lanes: 1, source offsets: 2,990" in out
    assert re.search(r"orders-0 +10 +2,000 +1 ", out), out
    (said,) = [line for line in err.splitlines() if line.startswith("Dry run. Apply with: ")]
    assert said.endswith("--fresh --execute --plan cafe")
    assert start(engine, "--fresh", "--execute", "--plan", "beef") == 3 and engine.launched == []
    assert start(engine, "--fresh", "--plan", "cafe") == 2 and engine.launched == []
    assert start(engine, "--execute") == 2 and engine.launched == []
    assert "nothing is thrown away without --fresh" in capsys.readouterr().err
    assert start(engine, "--fresh", "--execute", "--plan", "cafe") == 0 and engine.launched == ["verify-1"]
    assert start(engine, "--fresh", "--execute") == 0 and len(engine.launched) == 2


def test_a_specification_of_a_comparison_from_the_start_is_written_only_where_that_was_typed(
    start: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would forget as well, for a job that runs elsewhere."""
    forgot: list[str] = []

    async def prepare(_: object, planned: VerifyPlan) -> None:
        forgot.append(planned.run)

    monkeypatch.setattr("anabranch.operations.verify.start.prepare", prepare)
    spec, engine = tmp_path / "spec.json", Starting(Job(None))
    assert start(engine, "--fresh", "--spec", str(spec)) == 2 and forgot == [] and not spec.exists()
    assert start(engine, "--fresh", "--spec", str(spec), "--execute") == 0 and forgot == ["verify-1"] and spec.exists()


@pytest.mark.parametrize("verb", ["start", "resume"])
@pytest.mark.parametrize(("died", "code"), [(0, 2), (1, 2), (2, 2), (4, 4), (-9, 2)])
def test_a_job_that_died_without_a_report_says_neither_equal_nor_different(
    start: Callable[..., int], died: int, code: int, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own code where that is no verdict, else 2; and what it said last."""
    assert start(Starting(Job(died)), verb=verb) == code
    said = capsys.readouterr().err
    assert "no jar is there" in said and "hint: bring it" in said


def status(state: RunState, why: str = "") -> VerifyStatus:
    """What the target tells of the run that was launched, which has no report."""
    return VerifyStatus(replace(RUN, state=state, why=why), (), None, 3000)


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.STOPPED, RunState.DONE])
@pytest.mark.parametrize(("later", "code"), [(0, 2), (1, 2), (4, 4), (-9, 2), (None, 2)])
def test_a_comparison_that_ended_without_a_report_is_never_equal_while_its_job_still_ends(
    start: Callable[..., int], state: RunState, later: int | None, code: int
) -> None:
    """The job files its end before its process ends: what it exits with is waited for, and no wait is a verdict."""
    engine = Starting(Job(None, later), status(RunState.RUNNING), status(state, "Spark did not start"))
    assert start(engine) == code


@pytest.mark.parametrize("verb", ["start", "resume"])
@pytest.mark.parametrize("died", [0, 1, 5, -15])
def test_a_job_that_is_killed_as_it_compares_has_no_verdict(start: Callable[..., int], died: int, verb: str) -> None:
    """The last that it told is that it runs: the verb tells its end on the target, for who resumes it at once."""
    killed = Starting(Job(died), status(RunState.RUNNING))
    assert start(killed, verb=verb) == max(died, 2)
    assert killed.concluded == [how_it_ended(died)]


@pytest.mark.parametrize(
    ("away", "code"),
    [(UnreachableError("new", ("n:1: refused",)), 1), (AuthenticationError("new", "User:ann", "PLAIN", "wrong"), 4)],
    ids=["away", "refused"],
)
def test_a_target_that_is_away_for_a_moment_ends_no_comparison(
    start: Callable[..., int], away: ClusterError, code: int
) -> None:
    """Its job may reach it again; what does not pass by itself is told."""
    engine = Starting(Job(None), VerifyStatus(RUN, (), made("different"), 3000))
    looks, answered = iter([away]), engine.show

    async def show(*_: object) -> VerifyStatus:
        for error in looks:
            raise error
        return await answered()

    engine.show = show  # type: ignore[method-assign]
    assert start(engine) == code


def test_why_a_comparison_failed_is_told(start: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    """As the job persisted it, with the next command."""
    assert start(Starting(Job(None, 2), status(RunState.FAILED, "Spark did not start"))) == 2
    assert "verify-1 made no comparison: the job ended with 2: Spark did not start" in capsys.readouterr().err


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("verb", ["start", "resume"])
def test_ctrl_c_is_no_verdict(start: Callable[..., int], verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Who leaves a comparison does not know what it will say; at any time it is 130, as for any program."""
    following = Starting(Job(None))
    following.show = interrupted  # type: ignore[method-assign]
    assert start(following, verb=verb) == 130
    assert following.job.detached
    assert "anabranch verify show old-new --watch" in capsys.readouterr().err
    planning = Starting(Job(None))
    planning.plan = interrupted  # type: ignore[method-assign,assignment]
    assert start(planning, verb=verb) == 130
    assert not planning.launched


def test_a_comparison_that_is_left_alone_has_no_verdict_yet(start: Callable[..., int]) -> None:
    """Detached, the verb has done what it was asked for."""
    assert start(Starting(Job(None)), "--detach") == 0
