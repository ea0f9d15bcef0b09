"""The service as a process whose streams are stand-ins: ``python -m ... STORE DIRECTORY [CONTEXTS [MASTER]]``.

With a JSON file of contexts its streams are real, on a Spark master, ``local[2]`` by default.  Writes its port and an
admin's token as a line of JSON once it answers, and ends with its standard input.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from anabranch.cli.serve import endpoint_of, launchers_of, receivers_of
from anabranch.config.jobspec import write_spec
from anabranch.config.serve_file import AlertsShape, OpenLineageShape, ServeShape
from anabranch.config.streamspec import StreamRunSpec
from anabranch.operations.jobs.runlogs import open_log
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.jobs.stream_launchers import StreamLauncher
from anabranch.operations.jobs.streamjob import events_of
from anabranch.service import instance
from anabranch.service.alert_sending import Mail, Webhook
from anabranch.service.alerting import Alerting
from anabranch.service.job_settings import JobSettings
from anabranch.service.lineage_sending import LineageEndpoint
from anabranch.service.streaming import Streaming
from anabranch.service.trial_process import start_trial
from qa import trial_stand_in
from qa.service import serving

STAND_IN = "qa.stream_stand_in"


def start_stand_in(
    spec: StreamRunSpec, _launcher: StreamLauncher, directory: Path, module: str = STAND_IN
) -> StartedJob:
    """Start a stand-in as the service starts the job of a stream: detached, with its files in the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    file, log = directory / f"{spec.run}.json", directory / f"{spec.run}.log"
    write_spec(file, spec.to_json())
    command = [sys.executable, "-m", module, str(file), str(events_of(directory, spec.run))]
    with open_log(log) as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, pass_fds=(out.fileno(),)
        )
    return StartedJob(spec.run, log, process)


def _receivers() -> Mapping[str, Webhook | Mail]:
    """Who is told of alerts, as the part ``alerts`` of a service's file in ``ANABRANCH_ALERTS`` has them."""
    shape = AlertsShape.model_validate_json(os.environ.get("ANABRANCH_ALERTS", "{}"))
    return receivers_of(shape, Path.cwd())


def _endpoint() -> LineageEndpoint | None:
    """The part ``openlineage`` of a service's file in ``ANABRANCH_OPENLINEAGE``."""
    text = os.environ.get("ANABRANCH_OPENLINEAGE")
    return None if text is None else endpoint_of(OpenLineageShape.model_validate_json(text))


def _launchers() -> Mapping[str, StreamLauncher]:
    """Where streams may run, as the part ``launchers`` of a service's file in ``ANABRANCH_LAUNCHERS`` has them."""
    text = os.environ.get("ANABRANCH_LAUNCHERS", "{}")
    return launchers_of(ServeShape.model_validate({"launchers": json.loads(text)}), Path.cwd())


def main(store: str, directory: str, contexts: str = "", master: str = "local[2]") -> None:
    """Serve until standard input ends."""
    place = Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    known = json.loads(Path(contexts).read_text(encoding="utf-8")) if contexts else {}
    jobs = JobSettings(master, master, place / "jobs", launchers=_launchers())
    tries = start_trial if contexts else trial_stand_in.start_stand_in
    told: dict[str, Any] = {"receivers": _receivers(), "openlineage": _endpoint()}
    stand_ins = patch.object(instance, "Streaming", partial(Streaming, start=start_stand_in))
    with (
        nullcontext() if contexts else stand_ins,
        patch.object(instance, "Alerting", partial(Alerting, every_s=0.2)),
        serving(store, known, place, name=place.name, jobs=jobs, tries=tries, **told) as served,
    ):
        print(json.dumps({"port": served.port, "token": served.tokens["admin"]}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
