"""`anabranch route` where the service fails: a server that answers what a real one does not at will."""

from __future__ import annotations

import http.server
import json
import os
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import trustme
import typer

from anabranch.cli import completing, service_operation
from anabranch.cli.app import app
from tests.integration.console import Run, console

pytestmark = pytest.mark.test

TOKEN = "t0ken-of-a-test"
FILE = "codes: {orders: {cluster: old}}\n"
VERSION = {
    "version": 1,
    "at_ms": 0,
    "author": "mei",
    "reason": "why",
    "table": {"version": 1, "codes": {}, "rules": []},
}
PLAN = {
    "id": "a" * 32,
    "hash": "5f0c2b9e4d71a836",
    "plan": {
        "base": 0,
        "hash": "5f0c2b9e4d71a836",
        "reasons": [],
        "impact": {"moves": [], "reasons": [], "staying": 0},
        "switch": [],
    },
}
WORK = {"id": "b" * 32, "state": "running", "progress": None, "report": None, "problem": None}


def problem(status: int, exit_code: int, detail: str, hint: str = "the hint") -> tuple[int, Any]:
    """A refusal as the service writes it."""
    return status, {"type": "urn:x", "title": "x", "detail": detail, "hint": hint, "exit_code": exit_code}


@dataclass
class Stub:
    """A server: an answer, or a list of them of which the last one stays, by method and path below /api/v1."""

    port: int = 0
    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, str, Any]] = field(default_factory=list)

    def answer(self, name: str) -> Any:
        """The next answer to a request."""
        found = self.answers.get(name, (404, {}))
        return (found.pop(0) if len(found) > 1 else found[0]) if isinstance(found, list) else found


def handler(stub: Stub) -> type[http.server.BaseHTTPRequestHandler]:
    """What serves a stub."""

    class Answering(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            stub.asked.append((f"{self.command} {self.path}", self.headers.get("Authorization", ""), body))
            found = stub.answer(f"{self.command} {self.path.partition('?')[0].removeprefix('/api/v1')}")
            found = found() if callable(found) else found
            if found is None:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            status, value = found
            told = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        do_GET = do_POST = _answer

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Answering


@pytest.fixture
def stub() -> Iterator[Stub]:
    """A server without answers."""
    made = Stub()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(made))
    made.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def run(tmp_path: Path, stub: Stub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The console script with a token and the stub as its service."""
    monkeypatch.setenv("ANABRANCH_TOKEN", TOKEN)
    monkeypatch.setenv("ANABRANCH_SERVICE", f"http://127.0.0.1:{stub.port}")
    monkeypatch.setattr(service_operation, "LOOK_S", 0.01)
    (tmp_path / "routes.yaml").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return console({}, tmp_path, monkeypatch, capsys, "route")


def test_nobody_listens(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address, why, and how to start it."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        monkeypatch.setenv("ANABRANCH_SERVICE", url)
        code, out, err = run("show")
    assert (code, out) == (4, "")
    assert f"error: the service at {url} cannot be reached: Connection refused" in err and "`anabranch serve`" in err


def test_the_service_is_the_flags_then_the_environments_then_the_files(
    run: Run, stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path below a proxy's name is kept; without any it is this machine's."""
    stub.answers = {"GET /routes": (200, VERSION), "GET /below/api/v1/routes": (200, VERSION)}
    url = f"http://127.0.0.1:{stub.port}"
    monkeypatch.setenv("ANABRANCH_SERVICE", "http://127.0.0.1:1")
    assert run("show", "--service", url)[0] == 0
    assert run("show")[0] == 4
    monkeypatch.delenv("ANABRANCH_SERVICE")
    with (tmp_path / "contexts.yaml").open("a") as file:
        file.write(f"service: {url}/below/\n")
    assert run("show")[0] == 0
    assert stub.asked[-1][:2] == ("GET /below/api/v1/routes", f"Bearer {TOKEN}")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://anabranch.example.com:8420", "a token would go there unencrypted"),
        ("https://mei:s3cret@127.0.0.1", "a user or a password in it"),
        ("127.0.0.1:8420", "is not the URL of a service"),
        ("http://127.0.0.1:99999", "it is not a URL"),
    ],
)
def test_an_address_that_is_none_is_refused(run: Run, url: str, told: str) -> None:
    """Before a token is sent anywhere; a password in it is not repeated."""
    code, out, err = run("show", "--service", url)
    assert (code, out) == (2, "") and told in err and "s3cret" not in err


def test_a_token_comes_from_the_environment_alone(
    run: Run, stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Itself or a file; without one, and with what is none, nothing is asked, and it is not repeated."""
    stub.answers = {"GET /routes": (200, VERSION)}
    monkeypatch.setenv("ANABRANCH_TOKEN", "two words")
    code, _, err = run("show")
    assert code == 2 and "what ANABRANCH_TOKEN holds is not a token" in err and "two words" not in err
    monkeypatch.delenv("ANABRANCH_TOKEN")
    code, _, err = run("show")
    assert code == 2 and "neither ANABRANCH_TOKEN nor ANABRANCH_TOKEN_FILE is set" in err
    assert "anabranch token create ACCOUNT" in err and stub.asked == []
    file = tmp_path / "token"
    monkeypatch.setenv("ANABRANCH_TOKEN_FILE", str(file))
    assert "No such file or directory" in run("show")[2]
    file.write_text("\n")
    assert f"{file} is empty" in run("show")[2]
    file.write_text("from-a-file\n")
    assert run("show")[0] == 0 and stub.asked[-1][1] == "Bearer from-a-file"


@pytest.mark.parametrize(("exit_code", "code"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (9, 1)])
def test_a_problem_keeps_its_words_and_its_exit_code(run: Run, stub: Stub, exit_code: int, code: int) -> None:
    """Braces in it are text, and escape sequences are not sent to the terminal."""
    stub.answers = {"GET /routes": problem(409, exit_code, "it {is} \x1b[2J so", "do {that}")}
    found, out, err = run("show")
    assert (found, out) == (code, "")
    assert r"error: it {is} \x1b[2J so" in err and "hint: do {that}" in err and "\x1b" not in err


def test_a_token_that_expired_is_answered_with_the_next_command(run: Run, stub: Stub) -> None:
    """Which is one of the command line."""
    stub.answers = {"GET /clients": problem(401, 3, "not signed in: the token has expired")}
    code, _, err = run("clients")
    assert code == 3 and "the token has expired" in err and "hint: anabranch token create ACCOUNT" in err


@pytest.mark.parametrize("answer", [(200, b"<html>"), (404, b"not found"), (500, {"error": 1}), (302, b"")])
def test_what_is_not_the_service_is_told(run: Run, stub: Stub, answer: Any) -> None:
    """Another program on that port."""
    stub.answers = {"GET /routes": answer}
    code, out, err = run("show")
    assert (code, out) == (5, "") and "is not the service" in err and f"status {answer[0]}" in err


def test_a_certificate_is_checked(stub: Stub, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the system's authorities, or one of your own; a service without TLS is told, too."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(stub))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        stub.answers = {"GET /routes": (200, VERSION)}
        url = f"https://localhost:{server.server_address[1]}"
        code, _, err = run("show", "--service", url)
        assert code == 4 and f"no TLS with {url}" in err and "SSL_CERT_FILE" in err and stub.asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert run("show", "--service", url)[0] == 0
        code, _, err = run("show", "--service", f"https://127.0.0.1:{server.server_address[1]}")
        assert code == 4 and "no TLS with" in err
        code, _, err = run("show", "--service", f"https://127.0.0.1:{stub.port}")
        assert code == 4 and "no TLS with" in err
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def applying(stub: Stub, *works: Any, begun: Any = (202, WORK)) -> None:
    """Have the stub plan, begin, and then say in turn how the operation goes."""
    stub.answers = {
        "POST /routes/apply/plan": (200, PLAN),
        f"POST /plans/{PLAN['id']}/apply": begun,
        f"GET /operations/{WORK['id']}": list(works),
    }


POLICY = {"stragglers": "cancel", "when_lost": "wait", "timeout_s": 60, "at_once": False}
APPLY = ("apply", "-f", "routes.yaml", "--reason", "a try", "--execute")
DONE = (200, {**WORK, "state": "done", "report": {"version": 1}})


def test_an_operation_is_watched_to_its_end(run: Run, stub: Stub) -> None:
    """Each thing that it tells is said once, on standard error; a service that starts again is asked again."""
    applied, paused = {"stage": "applying"}, {"stage": "preparing", "ready": 3, "of": 20}
    running = [(200, {**WORK, "progress": progress}) for progress in (applied, applied, paused)]
    applying(stub, *running, None, problem(503, 4, "the store does not answer"), DONE)
    code, out, err = run(*APPLY)
    assert code == 0 and "done: version 1 of the route table applies" in out
    assert err.splitlines() == ["applying", "preparing, ready 3, of 20"]
    assert stub.asked[0][2] == {
        "table": {"version": 1, "codes": {"orders": {"cluster": "old"}}, "rules": []},
        "reason": "a try",
        **POLICY,
    }
    assert stub.asked[1][2] == {"hash": PLAN["hash"]}


@pytest.mark.parametrize("state", ["failed", "lost"])
def test_an_operation_that_fails_ends_with_its_problem(run: Run, stub: Stub, state: str) -> None:
    """Its words, hint and exit code."""
    applying(stub, (200, {**WORK, "state": state, "problem": problem(409, 3, "the route table changed")[1]}))
    code, _, err = run(*APPLY)
    assert code == 3 and "error: the route table changed\nhint: the hint" in err


def test_a_service_that_stays_away_is_left_and_named(run: Run, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operation goes on, and its id is said."""
    monkeypatch.setattr(service_operation, "PATIENCE_S", 0.0)
    applying(stub, (200, WORK), None)
    code, _, err = run(*APPLY)
    assert code == 4 and f"operation {WORK['id']} was begun, and how it goes is not known" in err


def test_an_answer_that_is_lost_is_not_taken_for_a_refusal(run: Run, stub: Stub) -> None:
    """It may have begun: what to look at is said."""
    applying(stub, begun=None)
    code, _, err = run(*APPLY)
    assert code == 4 and "was asked and has not answered" in err and "`anabranch route versions`" in err


def test_another_hash_is_refused_here(run: Run, stub: Stub) -> None:
    """Nothing is begun; --plan alone is a mistake."""
    applying(stub)
    code, _, err = run(*APPLY, "--plan", "0" * 16)
    assert code == 3 and "the route table changed since plan 0000000000000000" in err
    assert "look again: `anabranch route apply -f routes.yaml --reason 'a try'`" in err
    assert [one[0] for one in stub.asked] == ["POST /api/v1/routes/apply/plan"]
    code, _, err = run(*APPLY[:-1], "--plan", "0" * 16)
    assert code == 2 and "it requires --execute" in err


def test_a_dry_run_says_how_to_apply_it(run: Run, stub: Stub) -> None:
    """With the reason quoted, and the service repeated where one was typed."""
    applying(stub)
    service = ("--service", f"http://127.0.0.1:{stub.port}")
    code, out, err = run(*APPLY[:-1], *service)
    assert code == 0 and "added   code orders  cluster old" in out
    told = f"anabranch route apply -f routes.yaml --reason 'a try' {' '.join(service)} --execute --plan {PLAN['hash']}"
    assert told in err


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Ctrl-C as a process has it that nobody has told otherwise; Spark's driver, in other tests, has its own."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_ctrl_c_ends_the_watching_and_says_how_to_look(run: Run, stub: Stub) -> None:
    """The operation goes on."""
    seen = threading.Event()

    def running() -> tuple[int, Any]:
        if not seen.is_set():
            seen.set()
            os.kill(os.getpid(), signal.SIGINT)
        return 200, WORK

    told: Callable[[], tuple[int, Any]] = running
    applying(stub, told)
    code, _, err = run(*APPLY)
    assert code == 130 and f"/api/v1/operations/{WORK['id']}" in err and "`anabranch route versions`" in err


def test_an_explanation_that_is_a_refusal_ends_with_its_exit_code(run: Run, stub: Stub) -> None:
    """What was asked is what was typed."""
    refused = problem(409, 3, "there is no cluster code 'x'")[1]
    stub.answers = {"POST /routes/explain": (200, {"route": None, "problem": refused, "ways": []})}
    typed = ("--role", "producer", "--topic", "a", "--topic", "b", "--client-id", "c", "--param", "job_id=1")
    code, out, err = run("explain", "x", *typed)
    assert code == 3 and "refused: there is no cluster code 'x'" in out and "hint: the hint" in err
    assert stub.asked[0][2] == {
        "code": "x",
        "role": "producer",
        "topics": ["a", "b"],
        "group": "",
        "client_id": "c",
        "parameters": {"job_id": "1"},
    }


def test_a_file_is_checked_before_anything_is_asked(run: Run, stub: Stub, tmp_path: Path) -> None:
    """With the field that is wrong."""
    (tmp_path / "routes.yaml").write_text("codes: {orders: {clusters: old}}\n")
    code, _, err = run(*APPLY)
    assert code == 2 and "codes.orders.clusters: unknown field" in err and stub.asked == []


def test_a_version_is_written_as_a_file(run: Run, stub: Stub, tmp_path: Path) -> None:
    """To be edited and applied."""
    made = {"version": 1, "codes": {"orders": {"cluster": "old"}}, "rules": []}
    stub.answers = {"GET /routes/versions/3": (200, {**VERSION, "version": 3, "table": made})}
    code, out, _ = run("show", "3", "--out", str(tmp_path / "out.yaml"), "-o", "json")
    assert code == 0 and json.loads(out)["version"] == 3
    stub.answers = {"POST /routes/apply/plan": (200, PLAN)}
    assert run("apply", "-f", str(tmp_path / "out.yaml"), "--reason", "r", "-o", "json")[0] == 0
    assert stub.asked[-1][2] == {"table": made, "reason": "r", **POLICY}


def test_codes_and_versions_are_offered_to_a_shell(run: Run, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the service that the line names; without a token, or a service, there are none and no word."""
    command: Any = typer.main.get_command(app)
    url = f"http://127.0.0.1:{stub.port}"

    def offered(offer: Callable[[typer.Context, str], list[str]], begun: str, service: str) -> list[str]:
        context = typer.Context(command, info_name="anabranch")
        context.params["service"] = service
        return offer(context, begun)

    made = {"version": 1, "codes": {"orders": {"cluster": "old"}, "payments": {"cluster": "old"}}, "rules": []}
    stub.answers = {
        "GET /routes": (200, {**VERSION, "table": made}),
        "GET /routes/versions": (200, [{"version": 12}, {"version": 2}]),
    }
    assert offered(completing.cluster_codes, "pay", url) == ["payments"]
    assert offered(completing.route_versions, "1", url) == ["12"]
    assert offered(completing.cluster_codes, "", "http://127.0.0.1:1") == []
    monkeypatch.delenv("ANABRANCH_TOKEN")
    assert offered(completing.cluster_codes, "", url) == []


def test_what_clients_are_asked_for_is_what_was_typed(run: Run, stub: Stub) -> None:
    """Filters that were not typed are not sent."""
    stub.answers = {"GET /clients": (200, {"total": 0, "matching": 0, "offset": 0, "clients": []})}
    assert run("clients", "--code", "a&b", "--behind")[0] == 0
    assert stub.asked[-1][0] == "GET /api/v1/clients?code=a%26b&behind=true&offset=0&limit=100"
