"""The verbs that start a Spark job, the moments at which they are met, and how they say what ended them."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from qa.runs import Runs
from qa.timeouts import LONG_TIMEOUT_S

RECORDS = 140_000
"""More than two rounds of a comparison that is held up."""
SLOWLY = ("--fresh", "--execute", "--rate-limit", "1MB/s")
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

NO_JAVA = {"PATH": "/nowhere", "JAVA_HOME": None}
NO_HOME = {"JAVA_HOME": "/nowhere"}
NO_JARS = {"PATH": "/nowhere", "ANABRANCH_MAVEN_REPOSITORY": "http://127.0.0.1:1", "ANABRANCH_CACHE": "no-jars"}
NO_CLUSTER = {"HADOOP_CONF_DIR": None, "YARN_CONF_DIR": None}


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


def assert_killed(runs: Runs, words: tuple[str, ...], victim: str, moment: Moment, *, of_driver: int) -> None:
    """Start a verb, kill its job's driver or JVM, and see that it says so and leaves nobody."""
    process = runs.start(*words)
    driver, jvm = reached(runs, words, moment)
    (driver if victim == "driver" else jvm).kill()
    code = process.wait(LONG_TIMEOUT_S)
    runs.await_nobody()
    assert_told_of_kill(runs, code, victim, had_started=moment is not JVM_STARTS, of_driver=of_driver)


def assert_told_of_kill(runs: Runs, code: int, victim: str, *, had_started: bool, of_driver: int = 5) -> None:
    """See that a verb ended as one whose job's driver or JVM was killed, before or after Spark had started."""
    told = error_of(runs)
    if victim == "driver":
        assert (code, "the job was killed by SIGKILL" in told) == (of_driver, True), runs.said
    elif had_started:
        assert (code, "Spark's JVM is gone" in told) == (5, True), runs.said
    else:
        assert (code, "Spark could not be started on local[1]" in told) == (2, True), runs.said
