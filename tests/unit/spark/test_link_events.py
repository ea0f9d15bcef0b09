"""The lines of a run: text for people, objects for programs, and nobody who reads them must stay."""

from __future__ import annotations

import io
import json
import re

import pytest

from anabranch.kafka.errors import UnreachableError
from anabranch.model.runevents import LogFormat, RunEvent, RunEventKind
from anabranch.spark.jobs.events import EventLog

pytestmark = pytest.mark.unit

STOPPED = RunEvent(RunEventKind.LANE_STOPPED, "orders-3 stopped at offset 7: too\nlarge", {"partition": "orders-3"})


def written(form: LogFormat, event: RunEvent | None) -> str:
    """What an event is written as; None is an error."""
    stream = io.StringIO()
    log = EventLog(stream, form).of("old-new", "run-1")
    if event is None:
        assert log.fail(UnreachableError("old", ("o:1: refused",))) == 4
    else:
        log.tell(event)
    return stream.getvalue()


def test_a_line_has_its_time_and_its_link() -> None:
    """One line, whatever the reason holds."""
    line = written(LogFormat.TEXT, STOPPED)
    stamp, rest = line.split("  ", 1)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", stamp)
    assert rest == "old-new: orders-3 stopped at offset 7: too large\n"


def test_an_object_has_the_same_and_its_fields() -> None:
    """One object a line; an error is one too, with its exit code."""
    (line,) = written(LogFormat.JSON, STOPPED).splitlines()
    told = json.loads(line)
    assert told.pop("time").endswith("Z")
    assert told == {
        "event": "lane_stopped",
        "link": "old-new",
        "run": "run-1",
        "message": STOPPED.message,
        "partition": "orders-3",
    }
    failed = json.loads(written(LogFormat.JSON, None))
    assert (failed["event"], failed["exit_code"]) == ("failed", 4) and "old" in failed["error"] and failed["hint"]


def test_a_reader_who_is_gone_ends_no_run() -> None:
    """A closed terminal, a pipe into ``head``."""

    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    EventLog(Closed()).tell(STOPPED)
