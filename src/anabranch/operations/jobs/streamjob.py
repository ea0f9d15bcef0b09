"""How the job of a stream is started here: its specification in a file that only this user may read, its log beside."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from anabranch.config.jobspec import write_spec
from anabranch.config.streamspec import StreamRunSpec
from anabranch.operations.jobs import jobprocess
from anabranch.operations.jobs.runlogs import WORK, NoLogDirectoryError, make_room, open_log
from anabranch.operations.jobs.sparkready import check, check_reader
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.jobs.stream_launchers import StreamLauncher

MODULE = "anabranch.spark.jobs.stream"


def start_stream(
    spec: StreamRunSpec,
    master: str,
    settings: Mapping[str, str],
    directory: Path,
    arguments: Sequence[str] = (),
    variables: Mapping[str, str] = MappingProxyType({}),
) -> StartedJob:
    """Start the job, which ends with this process; its events are the lines of its output.

    ``arguments`` are more of its own, such as ``--mode validate``, and ``variables`` of its environment.  ``directory``
    gets the specification and the log.
    Raises what the checks of Spark raise, and NoLogDirectoryError.
    """
    spec_file, conf, log, output = _prepared(spec, master, settings, directory)
    with output:
        words = [spec_file, *conf, "--log", str(log), *arguments]
        process = jobprocess.start(MODULE, words, out=subprocess.PIPE, err=output, tied=True, variables=variables)
    return StartedJob(spec.run, log, process)


def start_detached(spec: StreamRunSpec, launcher: StreamLauncher, directory: Path) -> StartedJob:
    """Start the job so that it outlives this process; its events are lines of ``events_of(directory, run)``.

    ``directory`` is absolute: a job that has files sent along is started in one of its own below it.
    Raises what ``start_stream`` and the launcher's ``Submission.check`` raise.
    """
    how = launcher.submission
    how.check()
    sent = replace(spec, clusters={code: how.sent(context) for code, context in spec.clusters.items()})
    spec_file, conf, log, output = _prepared(sent, how.master, how.sent_settings, directory)
    words = [spec_file, *conf, "--events", str(events_of(directory, spec.run))]
    with output:
        place = _work(launcher, log) if how.archive or how.files else None
        command = [sys.executable, "-m", MODULE, *words]
        variables = {**how.variables(), **launcher.variables}
        process = jobprocess.spawn(command, variables, place, out=output, err=output, tied=False)
    return StartedJob(spec.run, log, process)


def _work(launcher: StreamLauncher, log: Path) -> Path:
    """Where a driver finds by the same relative paths what executors find; raises NoLogDirectoryError."""
    place = log.with_suffix(WORK)
    try:
        place.mkdir()
        launcher.submission.lay_out(place)
    except OSError as error:
        raise NoLogDirectoryError(place, error.strerror or str(error)) from error
    return place


def _prepared(
    spec: StreamRunSpec, master: str, settings: Mapping[str, str], directory: Path
) -> tuple[str, list[str], Path, BinaryIO]:
    """The specification's file, options for Spark, and the log, which is open."""
    check(master, ("pandas",))
    conf = ["--master", master]
    for key, value in check_reader(master, settings).items():
        conf += ["--conf", f"{key}={value}"]
    file, log = directory / f"{spec.run}.json", directory / f"{spec.run}.log"
    try:
        make_room(directory)
        write_spec(file, spec.to_json())
        return str(file), conf, log, open_log(log)
    except OSError as error:
        raise NoLogDirectoryError(directory, error.strerror or str(error)) from error


def events_of(directory: Path, run: str) -> Path:
    """Where a detached run writes its events."""
    return directory / f"{run}.events"
