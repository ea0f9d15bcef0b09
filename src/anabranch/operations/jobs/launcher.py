"""Starting a link's Spark job: the control plane never holds a Spark session, and waits for none here.

The job's specification goes through a file that only this user may read; secrets go through the environment
that the process inherits.
"""

from __future__ import annotations

from pathlib import Path

from anabranch.config.jobspec import LinkJob, write_spec
from anabranch.model.cluster import ClusterContext
from anabranch.model.runevents import LogFormat
from anabranch.operations.jobs import jobprocess
from anabranch.operations.jobs.runlogs import NoLogDirectoryError, make_room, open_log
from anabranch.operations.jobs.sparkready import check
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.jobs.submission import JOB, Submission

__all__ = ["JOB", "NoLogDirectoryError", "job_spec", "start_link"]


def job_spec(target: ClusterContext, source: ClusterContext, link_id: str, lease_seconds: float) -> str:
    """The specification of a link's job, as it reads it; each time that it is started draws the name of its run."""
    return LinkJob(link_id, "", source, target, lease_seconds).to_json()


def start_link(
    target: ClusterContext,
    source: ClusterContext,
    link_id: str,
    how: Submission,
    lease_seconds: float,
    directory: Path,
    log_format: LogFormat = LogFormat.TEXT,
    detached: bool = False,
) -> StartedJob:
    """Start the link's job, which ends with this process, and prints its events on standard error.

    A detached one outlives this process, and its events are in the log with the rest; so does a driver in the cluster.
    ``directory`` gets the specification and the log.  Raises what the checks of Spark and of ``how`` raise, and
    NoLogDirectoryError.
    """
    check(how.master)
    how.check()
    how.check_named(source, target)
    job = LinkJob(link_id, "", how.sent(source), how.sent(target), lease_seconds)
    named = job.named()
    run = named.run
    # Where a driver here finds what is sent to executors; else the caller's, for settings may have relative paths.
    place = directory / run if (how.archive or how.files) and not how.in_cluster else None
    spec, log = directory / f"{run}.json", directory / f"{run}.log"
    command = [*how.command(spec), "--log-format", log_format.value]
    try:
        make_room(directory)
        write_spec(spec, (job if how.in_cluster else named).to_json())
        if place is not None:
            place.mkdir()
            how.lay_out(place)
        output = open_log(log)
    except OSError as error:
        raise NoLogDirectoryError(directory, error.strerror or str(error)) from error
    tied = not (detached or how.in_cluster)
    command += ["--log", str(log)] if tied else []
    with output:
        out = output if detached else None
        process = jobprocess.spawn(command, how.variables(), place, out=out, err=out, tied=tied, held=output)
    return StartedJob(run, log, process)
