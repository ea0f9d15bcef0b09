"""How the job of a stream is started here: its specification in a file that only this user may read, its log beside."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from anabranch.config.jobspec import write_spec
from anabranch.config.streamspec import StreamRunSpec
from anabranch.operations.jobs import jobprocess
from anabranch.operations.jobs.runlogs import NoLogDirectoryError, make_room, open_log
from anabranch.operations.jobs.sparkready import check, check_reader
from anabranch.operations.jobs.startedjob import StartedJob

MODULE = "anabranch.spark.jobs.stream"


def start_stream(
    spec: StreamRunSpec,
    master: str,
    settings: Mapping[str, str],
    directory: Path,
    arguments: Sequence[str] = (),
) -> StartedJob:
    """Start the job, which ends with this process; its events are the lines of its output.

    ``arguments`` are more of its own, such as ``--mode validate``.  ``directory`` gets the specification and the log.
    Raises what the checks of Spark raise, and NoLogDirectoryError.
    """
    check(master, ("pandas",))
    command = ["--master", master]
    for key, value in check_reader(master, settings).items():
        command += ["--conf", f"{key}={value}"]
    file, log = directory / f"{spec.run}.json", directory / f"{spec.run}.log"
    try:
        make_room(directory)
        write_spec(file, spec.to_json())
        output = open_log(log)
    except OSError as error:
        raise NoLogDirectoryError(directory, error.strerror or str(error)) from error
    with output:
        words = [str(file), *command, "--log", str(log), *arguments]
        process = jobprocess.start(MODULE, words, out=subprocess.PIPE, err=output, tied=True)
    return StartedJob(spec.run, log, process)


def start_detached(spec: StreamRunSpec, master: str, settings: Mapping[str, str], directory: Path) -> StartedJob:
    """Start the job so that it outlives this process; its events are lines of ``events_of(directory, run)``.

    Raises what ``start_stream`` raises.
    """
    command = ["--master", master]
    for key, value in check_reader(master, settings).items():
        command += ["--conf", f"{key}={value}"]
    file, log = directory / f"{spec.run}.json", directory / f"{spec.run}.log"
    try:
        make_room(directory)
        write_spec(file, spec.to_json())
        output = open_log(log)
    except OSError as error:
        raise NoLogDirectoryError(directory, error.strerror or str(error)) from error
    with output:
        words = [str(file), *command, "--events", str(events_of(directory, spec.run))]
        python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
        words = [sys.executable, "-m", MODULE, *words]
        process = jobprocess.spawn(words, python, None, out=output, err=output, tied=False, held=output)
    return StartedJob(spec.run, log, process)


def events_of(directory: Path, run: str) -> Path:
    """Where a detached run writes its events."""
    return directory / f"{run}.events"
