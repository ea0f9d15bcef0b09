"""A link's run without Spark: a process that plans, copies in one lease after the other, and ends as it is asked to."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from anabranch.config.jobspec import LinkJob
from anabranch.copier.worker import Worker
from anabranch.errors import AnabranchError
from anabranch.kafka.errors import passing
from anabranch.model.link import UnknownLinkError
from anabranch.spark.link.leases import LeasePlanner
from anabranch.spark.link.survey import Survey

_LOOK_S = 0.25


def write_to(file: Path) -> None:
    """Have all that this process prints go to a file."""
    number = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(number, 1)
    os.dup2(number, 2)
    os.close(number)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]


def main(text: str, log: Path, environment: dict[str, str]) -> None:
    """Run the link of a job's specification until it is asked to stop, or is deleted."""
    write_to(log)
    os.environ.update(environment)
    _hasten()
    job = LinkJob.from_json(text)
    over = threading.Event()
    copying = threading.Thread(target=_copy, args=(job, over), name=job.run)
    survey = Survey(job)
    survey.look()
    copying.start()
    while copying.is_alive() and not over.is_set():
        time.sleep(_LOOK_S)
        try:
            if survey.status() is None or survey.is_to_stop():
                over.set()
        except AnabranchError as error:
            if not passing(error):
                over.set()
                raise
    survey.finish()
    copying.join()
    survey.finish()  # leases that were being planned meanwhile may have been told of after that
    survey.close()


def _hasten() -> None:
    """Persist four times a second."""
    from anabranch.copier import worker
    from anabranch.copier.leases import runner

    for module in (runner, worker):
        module.PERSIST_S = 0.25  # type: ignore[attr-defined]


def _copy(job: LinkJob, over: threading.Event) -> None:
    planner = LeasePlanner(job, 1)
    worker = Worker(job.source, job.target, job.run, lambda: True)
    try:
        while not over.is_set():
            for lease in planner.leases(time.time_ns() // 1_000_000):
                figures = worker.run(lease)
                for _ in figures:
                    if over.is_set():
                        break
                figures.close()  # type: ignore[attr-defined]
    except UnknownLinkError as error:
        print(error.message)
    finally:
        over.set()
        worker.close()
        planner.close()
