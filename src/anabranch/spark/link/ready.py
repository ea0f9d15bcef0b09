"""Whether executors can do a job: asked of them before the query begins, so that what is missing there is one error.

A task that fails is told by Spark as a stack of Java and Python for each of its attempts.  So the tasks here do not
fail: they try what a worker does first, and answer with what is in the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from anabranch.config.jobsettings import STATED_PYTHON, is_here
from anabranch.config.jobspec import LinkJob
from anabranch.errors import ConfigError
from anabranch.spark.link.task_attempts import collect

_FIX = "send Anabranch there: `anabranch link package --out FILE`, then `link run --archive FILE`"
_NO_PROGRAM = "Cannot run program"
_STATE = f"name the Python that each machine has, `--conf {STATED_PYTHON}=PATH`"
_TRACEBACK = "Traceback (most recent call last)"
_RAISED = re.compile(r"^[ \t]*(?:anabranch\.[\w.]+: (.+)|[\w.]*(?:Error|Exception): .+)$", re.MULTILINE)
_JAVA = re.compile(
    r"^(?::\s*)?(?:(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error): "
    r"|Job aborted due to stage failure: .*?\(TID \d+\) \([^)]*\): )+"
)
_CALLING = "An error occurred while calling "
_NO_PYTHON = re.compile(r"^Error from python worker:\s+(.+)$", re.MULTILINE)
_LONGEST = 500


@dataclass(eq=False)
class ExecutorNotReadyError(ConfigError):
    """An executor lacks what it needs for a job: the package, its version, a secret, a file."""

    host: str
    why: str
    fix: str
    doing: str = "copy"

    _message = "{host} cannot {doing}: {why}"
    _hint = "{fix}"


def is_needed(spark: SparkSession) -> bool:
    """Whether tasks may run with another Python, or elsewhere, than this process: ``local-cluster`` is elsewhere."""
    context = spark.sparkContext
    return not is_here(context.master) or context.getConf().contains(STATED_PYTHON)


def check(spark: SparkSession, job: LinkJob, tasks: int) -> None:
    """Ask as many tasks as there are cores; raises ExecutorNotReadyError."""
    ask_executors(spark, (job,), tasks, "copy", _FIX)


def ask_executors(spark: SparkSession, jobs: Sequence[LinkJob], tasks: int, doing: str, fix: str) -> None:
    """Ask whether they have this version of Anabranch, and the secrets of the jobs' clusters; ``fix`` sends it there.

    Raises ExecutorNotReadyError.
    """
    import anabranch

    texts, version = [job.to_json() for job in jobs], anabranch.__version__

    def ask(_: Iterable[int]) -> Iterator[tuple[str, str, str]]:
        # Pickled with all that it names, since the executor may have no package to look it up in.
        import socket

        host = socket.gethostname()
        try:
            import anabranch
            from anabranch.config.jobspec import LinkJob
            from anabranch.errors import AnabranchError
            from anabranch.kafka.security import transport_of
        except ImportError as error:
            yield host, str(error), ""
            return
        if anabranch.__version__ != version:
            yield host, f"its Anabranch is {anabranch.__version__}, and not {version}", ""
            return
        try:
            for spec in map(LinkJob.from_json, texts):
                for context in (spec.source, spec.target):
                    transport_of(context)
        except AnabranchError as error:
            yield host, error.message, error.hint

    try:
        found = collect(spark, tasks, ask)
    except Exception as error:  # Spark's or Java's, of a task that could not begin
        why = failure_message(error)
        said = f"{_STATE}; or {fix}" if why.startswith(_NO_PROGRAM) else fix
        raise ExecutorNotReadyError("an executor", why, said, doing) from error
    for host, why, own in found:
        raise ExecutorNotReadyError(host, why, own or fix, doing)


def failure_message(error: Exception) -> str:
    """What failed on an executor without the stacks of Java and Python: what was raised last, else the first line."""
    text = str(error).strip()
    _, traceback, raised = text.rpartition(_TRACEBACK)
    said = _RAISED.search(raised) if traceback else None
    if said is not None:
        return (said[1] or said[0]).strip()[:_LONGEST]
    python = _NO_PYTHON.search(text)
    lines = [
        _JAVA.sub("", line)
        for line in text.splitlines()
        if not line.rstrip().endswith("Exception:") and not line.startswith(_CALLING)
    ]
    return (python[1] if python is not None else next(iter(lines), "") or type(error).__name__)[:_LONGEST]
