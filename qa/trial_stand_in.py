"""Stands in for the job of a trial: ``python -m qa.trial_stand_in SPEC KIND SELECT ROWS``; no Spark.

It tells the same events, and ends with who started it.  The first line of the script says more:

    -- rows COUNT       a preview tells so many rows, one at a time, and then no more until it is ended
    -- refuse           the second statement is refused
    -- away             a cluster cannot be reached
    -- memory           it runs out of memory, as a JVM does
    -- die              it is gone without a word
    -- deaf             it has a child in its session, and both pass over SIGTERM
    -- wait FILE        it tells nothing until that file is there
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from anabranch.config.jobspec import write_spec
from anabranch.config.streamspec import StreamRunSpec
from anabranch.operations.jobs.runlogs import open_log
from anabranch.operations.jobs.sparkready import SparkMissingError
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.spark.jobs.tied import end_with_command, terminate
from anabranch.streams.errors import excerpt
from anabranch.streams.script import split
from anabranch.streams.trials import TrialQuestion

MODULE = "qa.trial_stand_in"
ROOT = Path(__file__).parents[1]
"""From where Python finds it."""
COLUMNS = [{"name": "n", "type": "bigint"}]
DEAF_CHILD = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def start_stand_in(
    spec: StreamRunSpec, question: TrialQuestion, _settings: Mapping[str, str], directory: Path
) -> StartedJob:
    """Start a stand-in as the service starts the job of a trial."""
    (directory / "tmp").mkdir(parents=True)
    file, log = directory / f"{spec.run}.json", directory / f"{spec.run}.log"
    write_spec(file, spec.to_json())
    words = [str(file), question.kind.value, str(question.select), str(question.rows)]
    command = [sys.executable, "-m", MODULE, *words]
    pipe = subprocess.PIPE
    with open_log(log) as out:
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=out, text=True, start_new_session=True, cwd=ROOT
        )
    return StartedJob(spec.run, log, process)


def start_nothing(*_: object) -> NoReturn:
    """Start no trial, as where Spark is not installed."""
    raise SparkMissingError("pyspark")


def main(spec_file: str, kind: str, select: str, most: str, *_: str) -> int:
    """Run; returns the exit code."""
    asked = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        asked.set()

    signal.signal(signal.SIGTERM, ask)
    spec = StreamRunSpec.from_json(Path(spec_file).read_text(encoding="utf-8"))
    end_with_command(terminate)
    wanted = (spec.script.splitlines() or [""])[0].removeprefix("-- ").split() or ["run"]
    word, more = wanted[0], wanted[1:]
    _tell("starting")
    if word == "wait":
        while not Path(more[0]).exists() and not asked.wait(0.02):
            pass
    elif word == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", DEAF_CHILD])
        _tell("rows", rows=[[child.pid]])
        time.sleep(600)
    elif word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif word == "memory":
        print("Terminating due to java.lang.OutOfMemoryError: Java heap space", file=sys.stderr)
        return _failed("Spark's JVM is gone", "JvmGoneError", 5)
    elif word == "away":
        return _failed("cluster here cannot be reached", "UNREACHABLE", 4, hint="anabranch context test here")
    if kind == "tables":
        names = "catalog", "database", "table", "problem"
        _tell("columns", statement=0, columns=[{"name": name, "type": "string"} for name in names])
        attached = () if spec.catalog is None else sorted(spec.catalog.attached)
        _tell("rows", batch=0, rows=[[name, "shop", "clicks", ""] for name in attached])
        return _ended("finished", rows=len(attached), limit=None)
    statements = split(spec.script)
    if word == "refuse":
        line = statements[1].line
        place: dict[str, Any] = {"statement": 2, "line": line, "column": 3, "excerpt": excerpt(spec.script, line, 3)}
        return _failed(f"statement 2, line {line}, column 3: no table 'absent'", "NOT_FOUND", 2, **place)
    if kind == "validation":
        heads = [
            {"number": one.number, "line": one.line, "column": 1, "kind": "insert", "name": "out"} for one in statements
        ]
        tables = [{"name": "out", "line": 1, "connector": "console", "columns": [], "options": {"password": "secret"}}]
        insert = {"number": 1, "line": statements[0].line, "table": "out", "query": "out", "mode": "append"}
        shown = {"number": 1, "line": statements[0].line, "columns": COLUMNS}
        _tell("analysed", statements=heads, tables=tables, selects=[shown], inserts=[{**insert, "columns": COLUMNS}])
        return _ended("finished")
    if kind == "checkpoints":
        query = {"query": "out", "statement": 1, "line": statements[0].line, "checkpoint": "out"}
        _tell("tried", queries=[{**query, "result": "new", "why": [spec.checkpoints]}])
        return _ended("finished")
    _tell("columns", statement=int(select) or 1, columns=COLUMNS)
    count = int(more[0]) if word == "rows" else 3
    for number in range(min(count, int(most))):
        _tell("rows", batch=number, rows=[[number]])
    if count >= int(most):
        return _ended("finished", rows=int(most), limit="rows")
    asked.wait()
    return _ended("stopped", rows=count, limit=None)


def _tell(event: str, **fields: Any) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


def _ended(outcome: str, **fields: Any) -> int:
    _tell("ended", outcome=outcome, exit_code=0, **fields)
    return 0


def _failed(error: str, condition: str, code: int, hint: str = "declare it", **place: Any) -> int:
    _tell("failed", error=error, hint=hint, condition=condition, exit_code=code, **place)
    _tell("ended", outcome="failed", exit_code=code)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
