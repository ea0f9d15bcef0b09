"""Alerts of streams beside a real mail server and a real webhook: who is told, how often, and after a kill."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import signal
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message

from qa.service import until
from qa.stream_lab import SCRIPT, StandIns, StandInService, stand_ins

NAME, KEY = "counts", "of the test"


class Inbox(Message):  # type: ignore[misc]  # aiosmtpd tells no types
    """What a mail server has taken."""

    def __init__(self) -> None:
        super().__init__()
        self.mail: list[Any] = []

    def handle_message(self, message: Any) -> None:
        """Keep it."""
        self.mail.append(message)


class Hook(ThreadingHTTPServer):
    """A webhook that takes notices whose signature is right, and none while it is ``away``."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.taken: list[dict[str, Any]] = []
        self.asked = 0
        self.away = False


class _Taking(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        digest = hmac.new(KEY.encode(), body, hashlib.sha256).hexdigest()
        is_right = self.headers["X-Anabranch-Signature"] == f"sha256={digest}"
        self.server.asked += 1
        if is_right and not self.server.away:
            self.server.taken.append(json.loads(body))
        self.send_response(204 if is_right and not self.server.away else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@pytest.fixture
def inbox() -> Iterator[tuple[Inbox, int]]:
    """A mail server and its port."""
    box = Inbox()
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port = asked.getsockname()[1]
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield box, port
    finally:
        controller.stop()


@pytest.fixture
def hook() -> Iterator[Hook]:
    """A webhook."""
    server = Hook()
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def lab(tmp_path: Path, inbox: tuple[Inbox, int], hook: Hook, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIns]:
    """Services whose streams are stand-ins, that tell both."""
    receivers = {
        "ops": {"webhook": f"http://127.0.0.1:{hook.server_address[1]}/alerts", "secret_env": "ALERT_KEY"},
        "people": {"mail": ["mei@example.org", "jo@example.org"]},
    }
    mail = {"host": "127.0.0.1", "port": inbox[1], "sender": "anabranch@example.org", "tls": "none"}
    monkeypatch.setenv("ALERT_KEY", KEY)
    monkeypatch.setenv("ANABRANCH_ALERTS", json.dumps({"receivers": receivers, "mail": mail}))
    with stand_ins(tmp_path) as made:
        yield made


def fired(service: StandInService) -> list[tuple[str, str]]:
    """The alerts that fire, as the service tells of them."""
    return [(one["kind"], one["state"]) for one in service.get(f"/api/v1/streams/{NAME}/alerts")["alerts"]]


@pytest.mark.test
def test_a_stream_that_dies_is_told_once_to_each_and_told_again_once_it_is_over(
    lab: StandIns, tmp_path: Path, inbox: tuple[Inbox, int], hook: Hook
) -> None:
    """By mail and by webhook; a service that is killed before the webhook took it tells it after its next start."""
    box, _ = inbox
    service = lab.serve(str(tmp_path / "store.db"))
    service.done("create", stream=NAME, script=SCRIPT, restarts=0)
    service.done("start", stream=NAME)
    until(lambda: service.is_in(NAME, "running"))
    service.done("alerts", stream=NAME, settings=["alive.for=0s"])
    hook.away = True
    os.kill(int(service.run_of(NAME)["pid"]), signal.SIGKILL)
    until(lambda: service.is_in(NAME, "failed"))
    until(lambda: hook.asked > 0)
    until(lambda: len(box.mail) == 1)
    assert ("alive", "firing") in fired(service)
    told_as = f'anabranch_stream_alert{{alert="alive",query="",stream="{NAME}",target=""}} 1.0'
    until(lambda: told_as in service.get("/metrics"))  # which are as of the last look at the streams
    service.kill()
    hook.away = False
    service = lab.serve(str(tmp_path / "store.db"))
    until(lambda: len(hook.taken) == 1)
    (told,) = hook.taken
    assert (told["stream"], told["alert"], told["state"]) == (NAME, "alive", "firing")
    assert "it is to run, and is failed: its job was killed by signal 9" in told["words"]
    service.done("start", stream=NAME)
    until(lambda: len(hook.taken) == 2 and len(box.mail) == 2)
    assert [one["state"] for one in hook.taken] == ["firing", "over"]
    first, second = box.mail
    assert (first["Subject"], second["Subject"]) == (f"stream {NAME}: alive", f"stream {NAME}: alive is over")
    assert first["To"] == "mei@example.org, jo@example.org" and "killed by signal 9" in first.get_payload()
    service.done("stop", stream=NAME)
    until(lambda: service.is_in(NAME, "stopped"))
    status, problem = service.plan("alerts", stream=NAME, receivers=["nobody"])
    assert status == 422 and "there is no receiver 'nobody'" in problem["detail"]
    assert KEY not in json.dumps(service.get(f"/api/v1/streams/{NAME}/alerts"))
