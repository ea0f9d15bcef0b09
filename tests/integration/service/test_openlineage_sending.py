"""Events of OpenLineage at a real endpoint: when they come, what they say, and an endpoint that is away."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.service.lineage_sending import MOST_WAITING, LineageEndpoint, LineageSending
from anabranch.streams.lineage.document import document_of
from anabranch.streams.lineage.openlineage import RunEventType
from qa.service import until
from qa.stream_lab import StandIns, stand_ins
from qa.stream_stand_in import LINEAGE
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.test
NAME, TOKEN = "counts", "of-the-endpoint"
SCRIPT = "-- run 0.1 lineage\nINSERT INTO out SELECT 1"


class LineageServer(ThreadingHTTPServer):
    """Takes events with its token, answers ``answers`` first, and keeps what it has taken."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _TakesEvents)
        self.taken: list[dict[str, Any]] = []
        self.answers: list[int] = []
        self.asked = 0

    @property
    def url(self) -> str:
        """Where events are posted."""
        return f"http://127.0.0.1:{self.server_address[1]}/api/v1/lineage"


class _TakesEvents(BaseHTTPRequestHandler):
    server: LineageServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked += 1
        code = 201 if self.headers["Authorization"] == f"Bearer {TOKEN}" else 401
        if self.server.answers:
            code = self.server.answers.pop(0)
        if code == 201:
            self.server.taken.append(body)
        self.send_response(code)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[LineageServer]:
    """An endpoint, and its token in the environment."""
    monkeypatch.setenv("LINEAGE_TOKEN", TOKEN)
    server = LineageServer()
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def services(tmp_path: Path, endpoint: LineageServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIns]:
    """Services whose streams are stand-ins, that tell the endpoint."""
    monkeypatch.setenv("ANABRANCH_OPENLINEAGE", json.dumps({"url": endpoint.url, "token_env": "LINEAGE_TOKEN"}))
    with stand_ins(tmp_path) as made:
        yield made


def test_each_run_is_told_as_it_begins_and_as_it_ends(
    services: StandIns, tmp_path: Path, endpoint: LineageServer
) -> None:
    """With the columns; a run that dies with its error; an endpoint that is away holds no stream up."""
    endpoint.answers = [503, 429]
    service = services.serve(str(tmp_path / "store.db"))
    service.done("create", stream=NAME, script=SCRIPT, restarts=0)
    service.done("start", stream=NAME)
    until(lambda: service.is_in(NAME, "running"))
    until(lambda: len(endpoint.taken) == 1)
    (start,) = endpoint.taken
    assert (start["eventType"], start["job"]["name"], start["run"]["facets"]) == ("START", f"{NAME}.1", {})
    assert [(one["namespace"], one["name"]) for one in start["inputs"]] == [("kafka://main", "views")]
    (asked,) = service.get(f"/api/v1/streams/{NAME}/lineage/openlineage")
    assert asked["run"]["runId"] == start["run"]["runId"], "whoever asks is told of the same run"
    (out,) = start["outputs"]
    assert out["facets"]["columnLineage"]["fields"]["page"]["inputFields"][0]["field"] == "page"
    service.done("stop", stream=NAME)
    until(lambda: len(endpoint.taken) == 2)
    assert (endpoint.taken[1]["eventType"], endpoint.taken[1]["run"]["runId"]) == ("COMPLETE", start["run"]["runId"])

    service.done("start", stream=NAME)
    until(lambda: len(endpoint.taken) == 3)
    os.kill(int(service.run_of(NAME)["pid"]), signal.SIGKILL)
    until(lambda: len(endpoint.taken) == 4)
    begun, failed = endpoint.taken[2:]
    assert (begun["eventType"], failed["eventType"]) == ("START", "FAIL")
    assert begun["run"]["runId"] == failed["run"]["runId"] != start["run"]["runId"]
    assert "killed by signal 9" in failed["run"]["facets"]["errorMessage"]["message"]
    # The endpoint has the last event before the service knows that it was taken.
    until(lambda: 'anabranch_openlineage_events_total{result="taken"} 4.0' in service.get("/metrics"))
    until(lambda: "anabranch_openlineage_waiting 0.0" in service.get("/metrics"))
    failures = f'anabranch_stream_failures_total{{query="",stream="{NAME}"}} 1.0'
    until(lambda: failures in service.get("/metrics"))


def test_what_is_not_taken_is_counted_and_whoever_tells_waits_for_nothing(endpoint: LineageServer) -> None:
    """Refused for good, away for longer than is waited, and more than may wait."""
    document = document_of(LINEAGE)

    async def told() -> None:
        token = SecretRef(SecretKind.ENV, "LINEAGE_TOKEN")
        sending = LineageSending(LineageEndpoint(endpoint.url, token), patience_s=0.8)
        endpoint.answers = [400]
        watching = asyncio.create_task(sending.watch())
        sending.tell(RunEventType.START, "s", "run-1", document)
        await _until(lambda: sending.results["not_taken"] == 1)
        assert endpoint.asked == 1, "a refusal is not asked again"
        endpoint.answers = [503] * 10
        sending.tell(RunEventType.START, "s", "run-2", document)
        await _until(lambda: sending.results["not_taken"] == 2)
        assert endpoint.asked > 2
        endpoint.answers = []
        sending.tell(RunEventType.COMPLETE, "s", "run-2", document)
        await _until(lambda: sending.results["taken"] == 1)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        asked = endpoint.asked
        for number in range(MOST_WAITING + 5):
            sending.tell(RunEventType.START, "s", f"run-{number}", document)
        assert endpoint.asked == asked
        assert (sending.waiting, sending.results["not_taken"]) == (MOST_WAITING, 7)
        sending.tell(RunEventType.START, "s", "run-x", None)
        sending.tell(RunEventType.START, "s", "run-x", {"inserts": 7})
        assert sending.waiting == MOST_WAITING, "what is no lineage is no event"

    asyncio.run(told())


async def _until(is_so: Any) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while not is_so():
            await asyncio.sleep(0.02)
