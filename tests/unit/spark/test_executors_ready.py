"""What executors lack is one error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

import anabranch
from anabranch.config.jobspec import LinkJob
from anabranch.model.cluster import ClusterContext, PasswordLogin, SaslMechanism, Security, SecurityProtocol
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.spark.link import ready, task_attempts
from anabranch.spark.link.ready import ExecutorNotReadyError, check
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.unit
SPARK_SAYS = """An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times
Traceback (most recent call last):
  File "serializers.py", line 460, in loads
    return cloudpickle.loads(obj, encoding=encoding)
ModuleNotFoundError: No module named 'anabranch'

\tat org.apache.spark.api.python.BasePythonRunner.handlePythonException(PythonRunner.scala:581)
"""


class Spark:
    """One whose tasks run here, or fail."""

    def __init__(self, error: Exception | None = None) -> None:
        self.sparkContext = self
        self.error = error
        self.tasks = 0

    def parallelize(self, items: Iterable[int], tasks: int) -> Spark:
        self.items, self.tasks = list(items), tasks
        return self

    def mapPartitions(self, ask: Callable[[Iterable[int]], Any]) -> Spark:
        self.ask = ask
        return self

    def setJobGroup(self, *_: str, interruptOnCancel: bool) -> None:
        """The next tasks have a name."""

    def collect(self) -> list[Any]:
        if self.error is not None:
            raise self.error
        return [answer for item in self.items for answer in self.ask([item])]


class Trying(Spark):
    """One that tries tasks which cannot begin again and again, until they are cancelled."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why: str | None = why
        self.failed = 0
        self.cancelled = Event()

    def collect(self) -> list[Any]:
        assert self.cancelled.wait(TIMEOUT_S)
        raise RuntimeError("Job 0 cancelled")

    def cancelJobGroup(self, _: str) -> None:
        self.cancelled.set()

    def statusTracker(self) -> Any:
        def stage(_: int) -> Any:
            self.failed += 1
            return SimpleNamespace(numFailedTasks=self.failed, currentAttemptId=0)

        jobs = SimpleNamespace(stageIds=[0])
        return SimpleNamespace(getJobIdsForGroup=lambda _: [0], getJobInfo=lambda _: jobs, getStageInfo=stage)

    @property
    def _jsc(self) -> Any:
        message = SimpleNamespace(isDefined=lambda: self.why is not None, get=lambda: self.why)
        tasks = SimpleNamespace(length=lambda: 1, apply=lambda _: SimpleNamespace(errorMessage=lambda: message))
        return SimpleNamespace(sc=lambda: SimpleNamespace(statusStore=lambda: self), tasks=tasks)

    def taskList(self, *_: int) -> Any:
        return self._jsc.tasks


def job(password: SecretRef) -> LinkJob:
    """A link whose source asks for a password."""
    login = PasswordLogin(SaslMechanism.PLAIN, "ann", password)
    source = ClusterContext("old", ("o:1",), Security(SecurityProtocol.SASL_PLAINTEXT, None, login))
    return LinkJob("l", "run-1", source, ClusterContext("new", ("n:1",)), 60.0)


def test_a_secret_that_is_missing_there_is_named_with_its_way_out(tmp_path: Path) -> None:
    """Each task answers for its executor; one answer is enough."""
    secret = tmp_path / "secret"
    spark: Any = Spark()
    with pytest.raises(ExecutorNotReadyError, match=r"cannot copy: secret file:.*cannot read the file") as raised:
        check(spark, job(SecretRef(SecretKind.FILE, str(secret))), 3)
    assert spark.tasks == 3 and str(secret) in raised.value.hint and raised.value.exit_code == 2
    secret.write_text("x")
    check(spark, job(SecretRef(SecretKind.FILE, str(secret))), 3)


def test_another_version_there_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Values go from one to the other in a form that both must know."""
    (tmp_path / "x").write_text("x")
    spark: Any = Spark()
    collect = spark.collect

    def older() -> list[Any]:
        monkeypatch.setattr(anabranch, "__version__", "0.0.9")
        return list(collect())

    spark.collect = older
    with pytest.raises(ExecutorNotReadyError, match=r"its Anabranch is 0\.0\.9, and not"):
        check(spark, job(SecretRef(SecretKind.FILE, str(tmp_path / "x"))), 1)


def test_a_task_that_could_not_begin_is_told_without_the_stacks() -> None:
    """Four attempts of it are some hundred lines."""
    spark: Any = Spark(RuntimeError(SPARK_SAYS))
    with pytest.raises(ExecutorNotReadyError) as raised:
        check(spark, job(SecretRef(SecretKind.ENV, "X")), 1)
    assert raised.value.message == "an executor cannot copy: ModuleNotFoundError: No module named 'anabranch'"
    assert "anabranch link package" in raised.value.hint


def test_tasks_that_cannot_begin_are_not_tried_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark is told to try a task a million times; four say enough."""
    monkeypatch.setattr(task_attempts, "_LOOK_S", 0.001)
    said = "x.SparkException: \nError from python worker:\n  env: python3.11: No such file\nPYTHONPATH was:\n"
    spark: Any = Trying(said)
    with pytest.raises(ExecutorNotReadyError) as raised:
        check(spark, job(SecretRef(SecretKind.ENV, "X")), 1)
    assert raised.value.message == "an executor cannot copy: env: python3.11: No such file"
    assert spark.failed == task_attempts.MOST_FAILED and spark.cancelled.is_set()
    spark = Trying("")
    spark.why = None
    with pytest.raises(ExecutorNotReadyError, match="its tasks fail"):
        check(spark, job(SecretRef(SecretKind.ENV, "X")), 1)


def test_what_is_no_stack_is_told_by_its_first_line() -> None:
    """And an error without words by its kind."""
    assert ready.failure_message(RuntimeError("\nConnection refused\nmore")) == "Connection refused"
    assert ready.failure_message(RuntimeError()) == "RuntimeError"
    assert (
        ready.failure_message(RuntimeError("x.SparkException:\nBad data in its output\nmore"))
        == "Bad data in its output"
    )


def test_what_a_python_says_that_does_not_start_is_told() -> None:
    """Spark indents it; it may be a stack, too."""
    stack = "Traceback (most recent call last):\n    import pyspark\n  ModuleNotFoundError: No module named 'pyspark'"
    said = f"x.SparkException: \nError from python worker:\n  {stack}\nPYTHONPATH was:\n  /x\n"
    assert ready.failure_message(RuntimeError(said)) == "ModuleNotFoundError: No module named 'pyspark'"


def test_a_python_that_is_not_there_is_told_with_its_setting() -> None:
    """Of the setting's name, and without Java's: the archive is one way out, the right path the other."""
    said = 'java.io.IOException: Cannot run program "/none": error=2, No such file or directory\n\tat java.base/x'
    task = "Task 0 in stage 0.0 failed 1 times: Lost task 0.0 in stage 0.0 (TID 0) (vm executor driver)"
    aborted = f"org.apache.spark.SparkException: Job aborted due to stage failure: {task}: {said}"
    for words in (said, f"An error occurred while calling o76.load.\n: {said}", f": {aborted}"):
        spark: Any = Spark(RuntimeError(words))
        with pytest.raises(ExecutorNotReadyError) as raised:
            check(spark, job(SecretRef(SecretKind.ENV, "X")), 1)
        said_here = 'an executor cannot copy: Cannot run program "/none": error=2, No such file or directory'
        assert raised.value.message == said_here
        assert "spark.pyspark.python" in raised.value.hint and "--archive" in raised.value.hint


@pytest.mark.parametrize(
    ("master", "stated", "needed"),
    [
        ("local", False, False),
        ("local[*]", False, False),
        ("local[4,8]", False, False),
        ("local[*]", True, True),
        ("local-cluster[1,1,512]", False, True),
        ("spark://spark-1:7077", False, True),
        ("yarn", False, True),
    ],
)
def test_whoever_copies_elsewhere_or_with_another_python_is_asked(master: str, stated: bool, needed: bool) -> None:
    """``local-cluster`` has executors of its own, and a stated interpreter may be missing here too."""
    conf = SimpleNamespace(contains=lambda key: stated and key == "spark.pyspark.python")
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(master=master, getConf=lambda: conf))
    assert ready.is_needed(spark) is needed
