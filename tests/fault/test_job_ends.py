"""Exit codes of verbs that start a Spark job, whatever ends the job, the verb or a cluster, and whenever it does."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from anabranch.config import maps_file
from anabranch.jars.java import java_program
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.runs import Runs
from qa.timeouts import LONG_TIMEOUT_S
from tests.integration.links.lab import link
from tests.integration.links.topics import create, numbered, produce

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]

RECORDS = 140_000
"""More than two rounds of a comparison that is held up."""
SLOWLY = ("--fresh", "--rate-limit", "1MB/s")
JOBS = {"verify": "anabranch.spark.jobs.verify", "offsets": "anabranch.spark.jobs.rebuild"}
EQUAL, DIFFERENT = "equal", "different"
INTERRUPTED = "interrupted"
"""A link whose comparison was killed."""
VERDICTS = {EQUAL: 0, DIFFERENT: 1}
LOCAL = ("--target", "new", "--master", "local[1]")
SOON = ("--conf", "spark.network.timeout=20s", "--conf", "spark.network.timeoutInterval=20s")
"""How long Spark's Kafka source waits for a broker's records; two minutes unless told."""

BACK_SOON = {"broker.session.timeout.ms": "20000"}
"""For so long a broker that was killed keeps its successor out."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When somebody is killed: as a process of the job is there, or as the verb has printed something."""

    name: str
    says: str = ""


JVM_STARTS = Moment("the JVM starts")
FIRST_ROUND = Moment("the first round", "reads the first of")
LATER_ROUND = Moment("a later round", "running, ")
ALIGNING = Moment("it aligns", "anchors")


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Two clusters of one broker each, with a link whose copy is equal, and one whose copy has a stranger's record."""
    old, new = start_clusters([ClusterSpec("old", overrides=BACK_SOON), ClusterSpec("new", overrides=BACK_SOON)])
    with old, new:
        for name in (EQUAL, DIFFERENT):
            create(old, name)
            produce(old, name, numbered(RECORDS), batch=5000)
            with link(old, new, name, id=name) as made, made.running():
                made.await_position(name, RECORDS)
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
    runs.log.unlink()
    more = ("--master", "local[1]", "--conf", "spark.jars=/nowhere/connector.jar")
    assert runs.run(*VERBS[verb], *more) == 2, runs.said
    assert "has no source for Kafka" in error_of(runs)
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


@pytest.mark.parametrize(
    ("victim", "moment"),
    [
        ("driver", JVM_STARTS),
        ("driver", ALIGNING),
        ("JVM", JVM_STARTS),
        pytest.param("JVM", ALIGNING, marks=pytest.mark.test),
    ],
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
def test_a_link_whose_job_is_killed_says_so(runs: Runs, victim: str) -> None:
    """5, and it can be run again."""
    words = ("link", "run", EQUAL, *LOCAL)
    process = runs.start(*words)
    driver = runs.await_process("anabranch.spark.jobs.link")
    runs.await_said("caught up")
    (driver if victim == "driver" else runs.await_jvm(driver)).kill()
    assert process.wait(LONG_TIMEOUT_S) == 5, runs.said
    told = error_of(runs)
    assert ("the job was killed by SIGKILL" if victim == "driver" else "JVM") in told, told
    runs.await_nobody()


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
