"""Whether executors can copy: asked of them before the query begins, so that what is missing there is one error.

A task that fails is told by Spark as a stack of Java and Python for each of its attempts.  So the tasks here do not
fail: they try what a worker does first, and answer with what is in the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyspark.sql import SparkSession

from anabranch.config.jobsettings import STATED_PYTHON, is_here
from anabranch.config.jobspec import LinkJob
from anabranch.errors import ConfigError
from anabranch.spark.link.task_attempts import collect

_FIX = "send Anabranch there: `anabranch link package --out FILE`, then `link run --archive FILE`"
_NO_PROGRAM = "Cannot run program"
_STATE = f"name the Python that each machine has, `--conf {STATED_PYTHON}=PATH`; or {_FIX}"
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
    """An executor lacks what it needs to copy: the package, its version, a secret, a file."""

    host: str
    why: str
    fix: str

    _message = "{host} cannot copy: {why}"
    _hint = "{fix}"


def is_needed(spark: SparkSession) -> bool:
    """Whether tasks may run with another Python, or elsewhere, than this process: ``local-cluster`` is elsewhere."""
    context = spark.sparkContext
    return not is_here(context.master) or context.getConf().contains(STATED_PYTHON)


def check(spark: SparkSession, job: LinkJob, tasks: int) -> None:
    """Ask as many tasks as there are cores; raises ExecutorNotReadyError."""
    import anabranch

    text, version = job.to_json(), anabranch.__version__

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
            spec = LinkJob.from_json(text)
            for context in (spec.source, spec.target):
                transport_of(context)
        except AnabranchError as error:
            yield host, error.message, error.hint

    try:
        found = collect(spark, tasks, ask)
    except Exception as error:  # Spark's or Java's, of a task that could not begin
        why = failure_message(error)
        raise ExecutorNotReadyError("an executor", why, _STATE if why.startswith(_NO_PROGRAM) else _FIX) from error
    for host, why, fix in found:
        raise ExecutorNotReadyError(host, why, fix or _FIX)


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
