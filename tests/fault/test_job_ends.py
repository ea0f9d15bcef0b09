"""Exit codes of verbs that start a Spark job, whatever ends the job, the verb or a cluster, and whenever it does."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import psutil
import pytest

from anabranch.config import maps_file
from anabranch.jars.java import java_program
from anabranch.model.link import ModePolicy
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.service.processes import UNSEEN
from anabranch.spark.scratch import PREFIX
from anabranch.state.codecs.verified import NeverVerifiedError, RunState, VerifyStatus
from anabranch.verify.pins import CHUNK
from examples.api.compare import compare
from qa import comparing
from qa.faults.processes import MARK, PACKAGE_ROOT
from qa.route_service import RouteProcess
from qa.runs import Runs
from qa.timeouts import LONG_TIMEOUT_S
from qa.verify_lab import context_of
from tests.chance import is_full
from tests.integration.links.lab import link
from tests.integration.links.topics import create, numbered, produce

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]

RECORDS = 140_000
"""More than two rounds of a comparison that is held up."""
SLOWLY = ("--fresh", "--rate-limit", "1MB/s")
JOBS = {
    "verify": "anabranch.spark.jobs.verify",
    "offsets": "anabranch.spark.jobs.rebuild",
    "link": "anabranch.spark.jobs.link",
}
EQUAL, DIFFERENT = "equal", "different"
INTERRUPTED = "interrupted"
"""A link whose comparison was killed."""
VERDICTS = {EQUAL: 0, DIFFERENT: 1}
LOCAL = ("--target", "new", "--master", "local[1]")
DETACHED = ("link", "run", EQUAL, *LOCAL, "--detach")
SOON = ("--conf", "spark.network.timeout=20s", "--conf", "spark.network.timeoutInterval=20s")
"""How long Spark's Kafka source waits for a broker's records; two minutes unless told."""

BACK_SOON = {"broker.session.timeout.ms": "20000"}
"""For so long a broker that was killed keeps its successor out."""
IMPATIENT = f"""
import sys
if "{JOBS["link"]}" in sys.orig_argv:
    from anabranch.spark.jobs import link_driver
    link_driver.FIRST_SURVEY_TIMEOUT_S = 5.0
"""
"""What Python imports first in a link's driver: it waits for clusters for seconds, in place of five minutes."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When somebody is killed: as a process of the job is there, or as the verb has printed something."""

    name: str
    says: str = ""


JVM_STARTS = Moment("the JVM starts")
FIRST_ROUND = Moment("the first round", "reads the first of")
LATER_ROUND = Moment("a later round", "running, ")
ALIGNING = Moment("it aligns", "anchors")
COPIED = Moment("it has copied", "caught up")
STARTED = Moment("Spark has started", "runs the link's query")


@pytest.fixture(scope="module")
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Two clusters of one broker each, with a link whose copy is equal.

    For the tier ``full`` there is one whose copy has a stranger's records besides, of which one lies in the first round
    of a comparison and one behind all that was copied, and one whose comparison is interrupted.
    """
    old, new = start_clusters([ClusterSpec("old", overrides=BACK_SOON), ClusterSpec("new", overrides=BACK_SOON)])
    with old, new:
        create(old, EQUAL)
        produce(old, EQUAL, numbered(RECORDS), batch=5000)
        with link(old, new, EQUAL, id=EQUAL) as made, made.running():
            made.await_position(EQUAL, RECORDS)
        if not is_full(request.config):
            yield old, new
            return
        create(old, DIFFERENT)
        with link(old, new, DIFFERENT, id=DIFFERENT, mode=ModePolicy.MAPPED) as made:
            for first, end in ((0, 5000), (5000, RECORDS)):
                produce(old, DIFFERENT, numbered(end - first, first=first), batch=5000)
                with made.running():
                    made.await_position(DIFFERENT, end)
                produce(new, DIFFERENT, numbered(1))
        create(old, INTERRUPTED)
        produce(old, INTERRUPTED, numbered(10))
        with link(old, new, INTERRUPTED, id=INTERRUPTED) as made, made.running():
            made.await_position(INTERRUPTED, 10)
        yield old, new


@pytest.fixture
def runs(tmp_path: Path, pair: tuple[SandboxCluster, SandboxCluster]) -> Iterator[Runs]:
    """The verbs, in a directory of their own."""
    made = Runs(tmp_path, *pair)
    yield made
    made.end_all()


def verify(link_id: str = EQUAL, verb: str = "start", *more: str) -> tuple[str, ...]:
    """A comparison of a link, slow enough to be met in its middle; a resumed one is as it was."""
    return ("verify", verb, link_id, *LOCAL, *(SLOWLY if verb == "start" else ()), *more)


def rebuild(out: str = "maps.json", *more: str) -> tuple[str, ...]:
    """The maps of a topic and its copy."""
    return ("offsets", "rebuild", "--source", "old", "--topic", f"{EQUAL}={EQUAL}", "--out", out, *LOCAL, *more)


def reached(runs: Runs, words: tuple[str, ...], moment: Moment) -> tuple[psutil.Process, psutil.Process]:
    """(driver, JVM) of the job at a moment."""
    driver = runs.await_process(JOBS[words[0]])
    jvm = runs.await_jvm(driver)
    if moment.says:
        runs.await_said(moment.says)
    return driver, jvm


def as_in_a_shell(code: int) -> int:
    """An exit code as a shell has it."""
    return code if code >= 0 else 128 - code


def error_of(runs: Runs) -> str:
    """The error that the last verb ended with: one line and a hint, and nothing of how a program looks inside."""
    said = runs.said
    assert not [line for line in said if "Traceback" in line or line.startswith(("  File", "\tat "))], said
    errors = [line for line in said if line.startswith("error: ")]
    hints = [line for line in said if line.startswith("hint: ")]
    assert len(errors) == len(hints) == 1 and hints[0] != "hint: ", said
    return errors[0]


def show(runs: Runs, link_id: str) -> int:
    """What ``verify show`` exits with; its words follow what was said."""
    return runs.run("verify", "show", link_id, "--target", "new")


def assert_resumed(runs: Runs, link_id: str) -> None:
    """The comparison goes on at once and ends with its verdict."""
    assert runs.run(*verify(link_id, "resume")) == VERDICTS[link_id], runs.said
    assert show(runs, link_id) == VERDICTS[link_id], runs.said
    runs.await_nobody()


# -- what cannot begin ---------------------------------------------------------------------------------

NO_JAVA = {"PATH": "/nowhere", "JAVA_HOME": None}
NO_HOME = {"JAVA_HOME": "/nowhere"}
NO_JARS = {"PATH": "/nowhere", "ANABRANCH_MAVEN_REPOSITORY": "http://127.0.0.1:1", "ANABRANCH_CACHE": "no-jars"}
NO_CLUSTER = {"HADOOP_CONF_DIR": None, "YARN_CONF_DIR": None}
VERBS = {
    "verify start": ("verify", "start", EQUAL, "--target", "new"),
    "verify resume": ("verify", "resume", INTERRUPTED, "--target", "new"),
    "offsets rebuild": rebuild(),
    "link run": ("link", "run", EQUAL, "--target", "new"),
}


@pytest.fixture(scope="module")
def interrupted(pair: tuple[SandboxCluster, SandboxCluster], tmp_path_factory: pytest.TempPathFactory) -> None:
    """A comparison that was killed, and can be resumed."""
    runs = Runs(tmp_path_factory.mktemp("interrupted"), *pair)
    process = runs.start(*verify(INTERRUPTED))
    runs.await_said("Spark starts")
    process.kill()
    process.wait()
    runs.await_nobody()


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("environment", "more", "words"),
    [
        (NO_JAVA, (), "java was not found; Spark needs it"),
        (NO_HOME, (), "java (JAVA_HOME is /nowhere) was not found; Spark needs it"),
        ({}, ("--master", "nowhere"), "'nowhere' is no master"),
        (NO_CLUSTER, ("--master", "yarn"), "Spark could not be started on yarn"),
    ],
    ids=["no java", "no java home", "no master", "no cluster"],
)
def test_what_this_machine_lacks_is_said(
    runs: Runs, verb: str, environment: dict[str, str | None], more: tuple[str, ...], words: str
) -> None:
    """2, a line and what to do; no process stays, and a comparison that could be resumed still can."""
    assert runs.run(*VERBS[verb], *more, environment=environment) == 2, runs.said
    assert words in error_of(runs)
    runs.await_nobody()


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "link run"])
def test_jars_that_cannot_be_found_are_said(runs: Runs, verb: str) -> None:
    """2: those that are brought, and those that were named."""
    java = str(Path(java_program("a test")).resolve().parents[1])
    assert runs.run(*VERBS[verb], environment={**NO_JARS, "JAVA_HOME": java}) == 2, runs.said
    assert "the jars of spark-kafka" in error_of(runs)
    other = runs.directory / "spark-sql-kafka-0-10_2.13-0.0.0.jar"
    ZipFile(other, "w").close()
    for named, words in (
        ("/nowhere/connector.jar", "spark.jars names /nowhere/connector.jar, which is not there"),
        (other, "has no source for Kafka"),
    ):
        runs.log.unlink()
        assert runs.run(*VERBS[verb], "--master", "local[1]", "--conf", f"spark.jars={named}") == 2, runs.said
        assert words in error_of(runs)
    runs.await_nobody()


@pytest.mark.usefixtures("interrupted")
def test_a_master_that_does_not_answer_is_said(pair: tuple[SandboxCluster, SandboxCluster], tmp_path: Path) -> None:
    """2, as soon as Spark gives it up, which takes a minute: all verbs at the same time."""
    started = {}
    for verb, words in VERBS.items():
        directory = tmp_path / verb.replace(" ", "-")
        directory.mkdir()
        runs = Runs(directory, *pair)
        started[verb] = (runs, runs.start(*words, "--master", "spark://127.0.0.1:1"))
    try:
        for verb, (runs, process) in started.items():
            assert (verb, process.wait(LONG_TIMEOUT_S)) == (verb, 2), runs.said
            assert "Spark could not be started on spark://127.0.0.1:1" in error_of(runs)
            runs.await_nobody()
    finally:
        for runs, _ in started.values():
            runs.end_all()


@pytest.mark.parametrize("out", ["file/maps.json", "nowhere/maps.json", "directory"])
def test_a_maps_file_that_cannot_be_written_is_said_first(runs: Runs, out: str) -> None:
    """2, with its name, and before a job is started."""
    (runs.directory / "file").touch()
    (runs.directory / "directory").mkdir()
    assert runs.run(*rebuild(out), environment=NO_JAVA) == 2, runs.said
    assert out in error_of(runs) and "java" not in error_of(runs), "Java is looked for before a job is started"
    runs.await_nobody()


@pytest.mark.parametrize("flag", ["--spec", "--verify-spec"])
def test_a_specification_that_cannot_be_written_is_said_first(runs: Runs, flag: str) -> None:
    """2, with its name: not after an hour of aligning."""
    assert runs.run(*rebuild(), flag, "nowhere/spec.json", environment=NO_JAVA) == 2, runs.said
    assert "nowhere/spec.json" in error_of(runs)
    assert not (runs.directory / "maps.json").exists()


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize("verb", ["start", "resume"])
@pytest.mark.parametrize("flag", ["--directory", "--spec"])
def test_a_directory_of_a_comparison_that_cannot_be_written_is_said(runs: Runs, verb: str, flag: str) -> None:
    """2, with its name, and nothing is forgotten of what was compared."""
    (runs.directory / "file").touch()
    words = verify(INTERRUPTED, verb) if verb == "resume" else ("verify", "start", EQUAL, "--target", "new", "--fresh")
    assert runs.run(*words, flag, "file/there") == 2, runs.said
    assert "file/there" in error_of(runs) and not [line for line in runs.said if ": process " in line]
    runs.await_nobody()


# -- the job is killed ---------------------------------------------------------------------------------


def assert_killed(runs: Runs, words: tuple[str, ...], victim: str, moment: Moment, *, of_driver: int) -> None:
    """Start a verb, kill its job's driver or JVM, and see that it says so and leaves nobody."""
    process = runs.start(*words)
    driver, jvm = reached(runs, words, moment)
    (driver if victim == "driver" else jvm).kill()
    code = process.wait(LONG_TIMEOUT_S)
    runs.await_nobody()
    told = error_of(runs)
    if victim == "driver":
        assert code == of_driver and "the job was killed by SIGKILL" in told
    elif moment is JVM_STARTS:
        assert code == 2 and "Spark could not be started on local[1]" in told
    else:
        assert code == 5 and "Spark's JVM is gone" in told


@pytest.mark.parametrize(
    ("victim", "moment", "link_id"),
    [
        ("driver", JVM_STARTS, EQUAL),
        ("driver", LATER_ROUND, DIFFERENT),
        ("JVM", JVM_STARTS, EQUAL),
        ("JVM", FIRST_ROUND, EQUAL),
        ("JVM", LATER_ROUND, DIFFERENT),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_comparison_that_is_killed_says_so_and_goes_on(runs: Runs, victim: str, moment: Moment, link_id: str) -> None:
    """No verdict, at once and for whoever asks later, until it is resumed."""
    assert_killed(runs, verify(link_id), victim, moment, of_driver=2)
    assert show(runs, link_id) == 2
    assert "failed, " in runs.said[-2] + runs.said[-1], runs.said
    assert_resumed(runs, link_id)


SERVED_SLOWLY = {"fresh": True, "rate_limit": "300kB/s"}
"""Some seconds for a round: the service compares with all cores."""


def comparison(pair: tuple[SandboxCluster, SandboxCluster], link_id: str) -> VerifyStatus | None:
    """What the target has of the last comparison of a link."""
    try:
        return comparing.show(context_of(pair[1]), link_id)
    except NeverVerifiedError:
        return None


def verified_to(status: VerifyStatus) -> int:
    """Up to which source offset the only lane is verified."""
    (lane,) = status.lanes
    return lane.source[1]


def await_comparison(
    pair: tuple[SandboxCluster, SandboxCluster], link_id: str, after: str, what: Callable[[VerifyStatus], bool]
) -> VerifyStatus:
    """Wait until a comparison that follows another one, by its name, is so: as it runs, or as it ends."""
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while True:
        found = comparison(pair, link_id)
        if found is not None and found.run.run != after:
            if what(found):
                return found
            assert found.run.state is RunState.RUNNING, found
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("victim", "rounds", "link_id"),
    [("driver", 0, EQUAL), ("driver", 1, DIFFERENT), ("JVM", 0, DIFFERENT), ("JVM", 1, EQUAL)],
)
def test_a_resumed_comparison_that_is_killed_says_so_and_goes_on(
    runs: Runs, pair: tuple[SandboxCluster, SandboxCluster], victim: str, rounds: int, link_id: str
) -> None:
    """What was verified by whoever was killed is verified: nothing equal is read again, and no difference is lost.

    The first one is killed after a round, the second one after so many; chunks that differ are read again each time.
    """
    assert_killed(runs, verify(link_id), "driver", LATER_ROUND, of_driver=2)
    first = comparison(pair, link_id)
    assert first is not None and first.run.state is RunState.FAILED
    assert verified_to(first) == CHUNK < RECORDS
    runs.log.unlink()
    process = runs.start(*verify(link_id, "resume"))
    driver = runs.await_process(JOBS["verify"])
    jvm = runs.await_jvm(driver)
    met = await_comparison(pair, link_id, first.run.run, lambda one: one.run.offsets > 0 and one.run.done >= rounds)
    (driver if victim == "driver" else jvm).kill()
    code = process.wait(LONG_TIMEOUT_S)
    runs.await_nobody()
    told = error_of(runs)
    assert (code, words_of(victim) in told) == ((2 if victim == "driver" else 5), True), runs.said
    again = CHUNK if link_id == DIFFERENT else 0
    assert met.run.offsets == RECORDS - CHUNK + again
    second = comparison(pair, link_id)
    assert second is not None and (second.run.run, second.run.state) == (met.run.run, RunState.FAILED)
    assert words_of(victim) in second.run.why and second.run.pins == first.run.pins
    done = verified_to(second)
    assert done >= CHUNK + (CHUNK if rounds and not again else 0)
    assert show(runs, link_id) == 2
    assert_resumed(runs, link_id)
    last = comparison(pair, link_id)
    assert last is not None and last.own_report is not None
    (lane,) = last.own_report["lanes"]
    assert (lane["source"]["since"], lane["source"]["verified_to"]) == (done, RECORDS)
    assert (last.run.offsets, last.run.done) == (RECORDS - done + again,) * 2
    assert lane["source"]["records"] == RECORDS - done + again
    assert lane["counts"].get("unexpected", 0) == (2 if link_id == DIFFERENT else 0)


def test_a_program_hears_how_its_comparison_ended(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example of the API: no verdict where the job was killed, which the target is told, and one once resumed."""
    monkeypatch.setenv("ANABRANCH_CONTEXTS", str(runs.directory / "contexts.yaml"))
    monkeypatch.setenv(MARK, runs.mark)
    directory = runs.directory / "comparisons"
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(lambda: asyncio.run(compare(EQUAL, "new", False, directory)))
        driver = runs.await_process(JOBS["verify"])
        runs.await_jvm(driver)
        driver.kill()
        assert ended.result(LONG_TIMEOUT_S) == 2
    runs.await_nobody()
    assert "made no comparison: the job was killed by SIGKILL" in capsys.readouterr().err
    assert asyncio.run(compare(EQUAL, "new", True, directory)) == 0
    runs.await_nobody()


def words_of(victim: str) -> str:
    """What is said of somebody who was killed as Spark ran."""
    return "the job was killed by SIGKILL" if victim == "driver" else "Spark's JVM is gone"


def last_of(pair: tuple[SandboxCluster, SandboxCluster], link_id: str) -> str:
    """The name of the last comparison of a link; empty where there was none."""
    found = comparison(pair, link_id)
    return "" if found is None else found.run.run


def asked_of(service: RouteProcess, verb: str, link_id: str, **more: object) -> str:
    """Plan and apply a verb of comparisons; the address of its operation."""
    body = {"target": "new", "link": link_id, **more}
    plan = service.ask("POST", f"/verify/{verb}/plan", body, role="operator")
    assert plan.status == 200, plan.body
    taken = service.ask("POST", f"/plans/{plan.json['id']}/apply", {"hash": plan.json["hash"]}, role="operator")
    assert taken.status == 202, taken.body
    return taken.headers["location"].removeprefix("/api/v1")


def await_answer(service: RouteProcess, where: str, what: Callable[[Any], object]) -> Any:
    """Wait until what a viewer is answered is so."""
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while True:
        answered = service.ask("GET", where)
        if answered.status == 200 and what(answered.json):
            return answered.json
        assert time.monotonic() < deadline, answered.body
        time.sleep(0.1)


def await_ended(service: RouteProcess, operation: str) -> Any:
    """An operation, once it has ended."""
    return await_answer(service, operation, lambda one: one["state"] != "running")


@pytest.mark.parametrize(
    ("victim", "moment", "link_id", "words", "code"),
    [
        ("driver", JVM_STARTS, EQUAL, "the job was killed by SIGKILL", 2),
        ("driver", LATER_ROUND, DIFFERENT, "the job was killed by SIGKILL", 2),
        ("JVM", LATER_ROUND, EQUAL, "Spark's JVM is gone", 5),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_comparison_of_the_service_that_is_killed_says_so_and_goes_on(
    runs: Runs,
    pair: tuple[SandboxCluster, SandboxCluster],
    victim: str,
    moment: Moment,
    link_id: str,
    words: str,
    code: int,
) -> None:
    """Its operation fails with the reason, which whoever asks for the comparison is told too; it is resumed at once."""
    where, before = f"/clusters/new/links/{link_id}/verification", last_of(pair, link_id)
    with runs.service() as service:
        operation = asked_of(service, "start", link_id, **SERVED_SLOWLY)
        driver = runs.await_process(JOBS["verify"])
        jvm = runs.await_jvm(driver)
        await_comparison(pair, link_id, before, lambda one: moment is JVM_STARTS or one.run.done > 0)
        (driver if victim == "driver" else jvm).kill()
        failed = await_ended(service, operation)
        assert (failed["state"], failed["report"]) == ("failed", None)
        assert words in failed["problem"]["detail"] and failed["problem"]["exit_code"] == code, failed
        found = service.ask("GET", where).json
        assert (found["run"]["state"], found["running"], found["report"]) == ("failed", False, None)
        assert words in found["run"]["why"]
        resumed = await_ended(service, asked_of(service, "resume", link_id))
        assert (resumed["state"], resumed["report"]["state"]) == ("done", "done"), resumed
        assert resumed["report"]["verdict"] == link_id
        assert service.ask("GET", where).json["report"]["verdict"] == link_id
    runs.await_nobody()


def test_a_comparison_is_no_riddle_whose_service_was_killed_before_it(
    runs: Runs, pair: tuple[SandboxCluster, SandboxCluster]
) -> None:
    """It goes on without the service; as it is killed the next process of the service says so, and it is resumed."""
    where, before = f"/clusters/new/links/{EQUAL}/verification", last_of(pair, EQUAL)
    with runs.service() as service:
        operation = asked_of(service, "start", EQUAL, **SERVED_SLOWLY)
        driver = runs.await_process(JOBS["verify"])
        run = await_comparison(pair, EQUAL, before, lambda one: one.run.offsets > 0).run.run
        service.kill()
        service.start()
        assert await_ended(service, operation)["state"] == "lost"
        await_comparison(pair, EQUAL, before, lambda one: one.run.done > 0)
        driver.kill()
        found = await_answer(service, where, lambda one: one["run"]["state"] == "failed")
        assert (found["run"]["run"], found["run"]["why"]) == (run, UNSEEN)
        operation = asked_of(service, "resume", EQUAL)
        await_comparison(pair, EQUAL, run, lambda one: one.run.offsets > 0)
        service.stop()
        service.start()
        left = await_ended(service, operation)
        assert (left["state"], left["report"]["state"]) == ("done", "running"), "it was not waited for"
        found = await_answer(service, where, lambda one: one["run"]["state"] != "running")
        assert (found["run"]["state"], found["report"]["verdict"]) == ("done", EQUAL)
    runs.await_nobody()


@pytest.mark.parametrize(
    ("victim", "moment"),
    [("driver", JVM_STARTS), ("driver", ALIGNING), ("JVM", JVM_STARTS), ("JVM", ALIGNING)],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_rebuild_that_is_killed_says_so(runs: Runs, victim: str, moment: Moment) -> None:
    """No file, no process; and the same command makes the maps."""
    assert_killed(runs, rebuild(), victim, moment, of_driver=5)
    assert not (runs.directory / "maps.json").exists()
    if victim == "JVM":
        assert runs.run(*rebuild()) == 0, runs.said
        assert sum(one.ranges.records for one in maps_file.load(runs.directory / "maps.json")) == RECORDS


@pytest.mark.parametrize("victim", ["driver", "JVM"])
@pytest.mark.parametrize("moment", [JVM_STARTS, STARTED, COPIED], ids=lambda moment: moment.name)
def test_a_link_whose_job_is_killed_says_so(runs: Runs, victim: str, moment: Moment) -> None:
    """5, and 2 for a JVM that never listened; run again it removes what a killed driver has left in the temporary
    directory.
    """
    temporary = runs.directory / "tmp"
    temporary.mkdir()
    words, here = ("link", "run", EQUAL, *LOCAL), {"TMPDIR": str(temporary)}
    process = runs.start(*words, environment=here)
    driver, jvm = reached(runs, words, moment)
    (driver if victim == "driver" else jvm).kill()
    is_unstarted = (victim, moment) == ("JVM", JVM_STARTS)
    assert process.wait(LONG_TIMEOUT_S) == (2 if is_unstarted else 5), runs.said
    told = error_of(runs)
    assert ("the job was killed by SIGKILL" if victim == "driver" else "JVM") in told, told
    runs.await_nobody()
    assert bool(list(temporary.glob(f"{PREFIX}*"))) is (victim == "driver")
    runs.log.unlink()
    process = runs.start(*words, environment=here)
    runs.await_said(COPIED.says)
    process.send_signal(signal.SIGINT)
    assert process.wait(LONG_TIMEOUT_S) == 0, runs.said
    assert not list(temporary.glob(f"{PREFIX}*"))


@pytest.mark.parametrize(("victim", "code"), [("driver", 5), ("JVM", 2)])
def test_a_detached_link_that_dies_before_it_planned_says_so(runs: Runs, victim: str, code: int) -> None:
    """Its verb exits as its job did, not with 0; the next one runs."""
    process = runs.start(*DETACHED)
    driver, jvm = reached(runs, DETACHED, JVM_STARTS)
    (driver if victim == "driver" else jvm).kill()
    assert process.wait(LONG_TIMEOUT_S) == code, runs.said
    assert "did not begin: the job" in error_of(runs)
    runs.await_nobody()
    assert runs.run(*DETACHED) == 0, runs.said
    assert runs.run("link", "stop", EQUAL, "--target", "new") == 0, runs.said
    runs.await_nobody()


def test_a_detached_link_that_is_killed_later_counts_as_ended(runs: Runs) -> None:
    """Nobody is there to tell: after a minute without a report ``link stop`` says so, and the link is run again."""
    assert runs.run(*DETACHED) == 0, runs.said
    runs.await_process(JOBS["link"]).kill()
    runs.await_nobody()
    assert runs.run("link", "stop", EQUAL, "--target", "new") == 0, runs.said
    process = runs.start("link", "run", EQUAL, *LOCAL)
    runs.await_said(COPIED.says)
    process.send_signal(signal.SIGINT)
    assert process.wait(LONG_TIMEOUT_S) == 0, runs.said


# -- the verb is ended ---------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", [JVM_STARTS, LATER_ROUND], ids=lambda moment: moment.name)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_comparison_ends_with_its_verb(runs: Runs, number: signal.Signals, moment: Moment) -> None:
    """143 and 129; it is no verdict, and can be resumed at once."""
    process = runs.start(*verify())
    reached(runs, verify(), moment)
    process.send_signal(number)
    assert as_in_a_shell(process.wait(LONG_TIMEOUT_S)) == 128 + number
    runs.await_nobody()
    assert show(runs, EQUAL) == 2
    assert "the command that started it is gone" in runs.log.read_text()
    if moment is LATER_ROUND and number == signal.SIGTERM:
        assert_resumed(runs, EQUAL)


@pytest.mark.parametrize("moment", [JVM_STARTS, LATER_ROUND], ids=lambda moment: moment.name)
def test_a_comparison_that_is_left_by_ctrl_c_goes_on_to_its_verdict(runs: Runs, moment: Moment) -> None:
    """130, which is no verdict; whoever attaches again gets it."""
    process = runs.start(*verify())
    reached(runs, verify(), moment)
    process.send_signal(signal.SIGINT)
    assert process.wait(LONG_TIMEOUT_S) == 130
    assert "the comparison goes on" in runs.log.read_text()
    assert runs.run("verify", "show", EQUAL, "--target", "new", "--watch") == 0, runs.said
    runs.await_nobody()


@pytest.mark.parametrize("moment", [JVM_STARTS, ALIGNING], ids=lambda moment: moment.name)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_rebuild_ends_with_its_verb(runs: Runs, number: signal.Signals, moment: Moment) -> None:
    """130, 143 and 129, no file and no process."""
    process = runs.start(*rebuild())
    reached(runs, rebuild(), moment)
    process.send_signal(number)
    assert process.wait(LONG_TIMEOUT_S) == 128 + number
    runs.await_nobody()
    assert runs.said[-1] == "interrupted: the maps are not made"
    assert not (runs.directory / "maps.json").exists()


# -- a cluster goes away -------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("words", [verify(), rebuild()], ids=["verify", "rebuild"])
def test_a_cluster_that_goes_away_is_said(
    runs: Runs, pair: tuple[SandboxCluster, SandboxCluster], side: str, words: tuple[str, ...]
) -> None:
    """4; no verdict and no file, and once the cluster is back the same work can be done."""
    cluster = pair[side == "target"]
    (broker,) = cluster.brokers
    process = runs.start(*words, *SOON)
    reached(runs, words, LATER_ROUND if words == verify() else ALIGNING)
    broker.kill()
    try:
        code = process.wait(LONG_TIMEOUT_S)
        runs.await_nobody()
    finally:
        broker.start()
        cluster.wait_ready()
    assert code == 4, runs.said
    assert cluster.spec.name in error_of(runs)
    if words == verify():
        code = show(runs, EQUAL)
        assert code == 2, runs.said
        if side == "source":
            assert_resumed(runs, EQUAL)
    else:
        assert not (runs.directory / "maps.json").exists()
        assert runs.run(*rebuild()) == 0, runs.said


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_cluster_that_is_away_as_a_link_begins_is_waited_for_and_then_said(
    runs: Runs, pair: tuple[SandboxCluster, SandboxCluster], side: str
) -> None:
    """4 once the time is over; a run that still waits goes on as the cluster is back."""
    cluster = pair[side == "target"]
    (broker,) = cluster.brokers
    words = ("link", "run", EQUAL, *LOCAL)
    (runs.directory / "sitecustomize.py").write_text(IMPATIENT)
    process = runs.start(*words, environment={"PYTHONPATH": f"{runs.directory}{os.pathsep}{PACKAGE_ROOT}"})
    runs.await_process(JOBS["link"])
    broker.kill()
    try:
        assert process.wait(LONG_TIMEOUT_S) == 4, runs.said
        assert cluster.spec.name in error_of(runs)
        assert [line for line in runs.said if "waiting: " in line], runs.said
        runs.await_nobody()
        runs.log.unlink()
        if side == "target":  # the verb itself looks there first
            assert runs.run(*words) == 4, runs.said
            assert cluster.spec.name in error_of(runs)
            return
        process = runs.start(*words)
        runs.await_said("waiting: ")
    finally:
        broker.start()
        cluster.wait_ready()
    runs.await_said(COPIED.says)
    process.send_signal(signal.SIGINT)
    assert process.wait(LONG_TIMEOUT_S) == 0, runs.said
