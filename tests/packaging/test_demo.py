"""The demo, as a stranger runs it in a pipe; with the service left up, until Ctrl-C; and ended half way."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S

pytestmark = [pytest.mark.full, pytest.mark.timeout(2400)]

ROOT = Path(__file__).resolve().parents[2]
VERDICT = "Proved: nothing lost, repeated, reordered or altered."
_TURN = ("set", "switch", "set", "reverse", "set", "switch")
VERBS = ["plan", "start", "verify", *_TURN, "complete"]
APPLICATIONS = 6
"""What two producers, two groups, a Spark query and a Flink job have done."""
AGAIN = {
    "source": "new",
    "target": "old",
    "id": "again",
    "filter": {"include": ["flights"]},
    "naming": {"kind": "prefix"},
}
"""A link that somebody makes by the pages of a demo that is over."""


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A directory with a short path: the socket of PostgreSQL below it may take 107 bytes, and pytest's have 70."""
    with tempfile.TemporaryDirectory(prefix="demo-") as directory:
        yield Path(directory)


@pytest.fixture
def environment(scratch: Path) -> dict[str, str]:
    """Its own directory for what it leaves, but the same ledger of ports as every sandbox beside it."""
    ledger = f"anabranch-ports-{os.getuid()}"
    shared = Path(tempfile.gettempdir()) / ledger
    shared.mkdir(mode=0o700, exist_ok=True)
    (scratch / ledger).symlink_to(shared)
    return {**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def assert_nothing_is_left(directory: Path) -> None:
    """No file of the demo, and no process that has its environment."""
    left = {path.name for path in directory.glob("anabranch-*")}
    assert left == {f"anabranch-ports-{os.getuid()}"}, "only the ledger of ports, which all sandboxes share, stays"
    assert processes_of(directory) == []


def processes_of(directory: Path) -> list[str]:
    """The command lines of all that runs with this directory, or one below, for its temporary files."""
    mark, found = b"TMPDIR=" + os.fsencode(directory), []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(one.startswith(mark) for one in (process / "environ").read_bytes().split(b"\0")):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200])
        except OSError:  # it has ended, or is somebody else's
            continue
    return found


def test_the_demo_moves_all_there_and_back_and_there_again_and_proves_it(
    environment: dict[str, str], scratch: Path
) -> None:
    """It ends with exit code 0 and the verdict, each verb of the story is typed, and nothing is left behind."""
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=4 * LONG_TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1].startswith(VERDICT)
    assert re.findall(r"\$ anabranch migrate (\w+)", done.stdout) == VERBS
    for topic in ("flights", "orders", "payments"):
        assert re.search(rf"(?m)^ +{topic} .* equal *$", done.stdout), topic
    assert len(re.findall(r"(?m) each once, in order *$", done.stdout)) == APPLICATIONS
    pauses = re.findall(r"(?m)^ +(switch|reverse) to (old|new)((?: +[\d,]+ ms){3}) *$", done.stdout)
    assert [one[:2] for one in pauses] == [("switch", "new"), ("reverse", "old"), ("switch", "new")]
    assert re.search(r"SIGKILL to worker \d+, which held [1-6] of 6 lanes", done.stdout)
    assert re.search(r"(?m)^ +SIGKILL to its job, process \d+, after [\d,]+ clicks had been counted", done.stdout)
    assert re.search(r"(?m)^ +[\d,]+ clicks, [\d,]+ rows: each click counted once, by [2-9] starts", done.stdout)
    assert len([line for line in lines if line.strip()]) <= 110
    assert max(map(len, lines)) <= 120
    assert "\x1b" not in done.stdout
    assert_nothing_is_left(scratch)


class Demo:
    """``make demo UI=1`` in a process group of its own, as a terminal has it, and what it has printed."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            ["make", "--no-print-directory", "demo", "UI=1"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line)
            print(line, end="")  # for whoever looks at a failure

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def printed(self, pattern: str, seconds: float = LONG_TIMEOUT_S) -> str:
        """What it prints sooner or later."""
        found: list[str] = []

        def look() -> bool:
            found.extend(re.findall(pattern, self.text))
            assert found or self.alive, self.text
            return bool(found)

        until(look, self, seconds)
        return found[0]

    @property
    def text(self) -> str:
        """All that it has printed."""
        return "".join(self.lines)

    def interrupt(self) -> None:
        """Press Ctrl-C, and wait for the end of make and of all that holds its output."""
        os.killpg(self._process.pid, signal.SIGINT)
        self._process.wait(LONG_TIMEOUT_S)
        self._reader.join(LONG_TIMEOUT_S)
        assert not self._reader.is_alive(), "something that it started still has its output"

    def end(self) -> None:
        """Whatever state it is in."""
        if self.alive:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait(LONG_TIMEOUT_S)


@contextmanager
def demo(environment: dict[str, str]) -> Iterator[Demo]:
    """It runs, until it is ended."""
    made = Demo(environment)
    try:
        yield made
    finally:
        made.end()


def until(condition: Callable[[], bool], shown: Demo, seconds: float = LONG_TIMEOUT_S) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, shown.text
        time.sleep(0.5)


def ask(url: str, token: str = "", body: object = None) -> tuple[int, str, bytes]:
    """Status, content type and body of an answer; raises HTTPError."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    sent = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, sent, headers), timeout=TIMEOUT_S) as answer:
        return answer.status, answer.headers.get_content_type(), answer.read()


def test_with_ui_the_service_stays_up_beside_the_demo_until_it_is_interrupted(
    environment: dict[str, str], scratch: Path
) -> None:
    """At the printed address are the pages and the migration; by Ctrl-C all of it ends, also jobs that somebody has
    started there meanwhile."""
    with demo(environment) as shown:
        url = shown.printed(r"(?m)^ +(http://127\.0\.0\.1:\d+)$", 3 * LONG_TIMEOUT_S)
        assert VERDICT in shown.text
        assert f"{url}/migrations/move" in shown.text
        # What is printed can be opened at once.
        assert ask(f"{url}/healthz")[0] == 200
        token = shown.printed(r"sign in with the token (\S+)")
        status, kind, page = ask(f"{url}/migrations/move")
        assert (status, kind) == (200, "text/html")
        script = re.search(rb'src="(/assets/[^"]+[.]js)"', page)
        assert script is not None and ask(url + script[1].decode())[:2] == (200, "text/javascript")
        found = json.loads(ask(f"{url}/api/v1/migrations/move", token)[2])
        assert [wave["state"] for wave in found["migration"]["waves"]] == ["completed"]

        def apply(verb: str, body: object) -> str:
            plan = json.loads(ask(f"{url}/api/v1/{verb}/plan", token, body)[2])
            return str(
                json.loads(ask(f"{url}/api/v1/plans/{plan['id']}/apply", token, {"hash": plan["hash"]})[2])["id"]
            )

        def done(operation: str) -> bool:
            work = json.loads(ask(f"{url}/api/v1/operations/{operation}", token)[2])
            assert work["state"] in {"running", "done"}, work
            return bool(work["state"] == "done")

        # What is begun by the pages ends with the demo.
        for verb, body in (
            ("links/create", {"link": AGAIN}),
            ("links/run", {"target": "old", "link": "again"}),
        ):
            operation = apply(verb, body)
            until(lambda begun=operation: done(begun), shown)  # type: ignore[misc]
        until(lambda: any("spark.jobs.link" in one for one in processes_of(scratch)), shown)
        assert shown.alive
        shown.interrupt()
        assert "Traceback" not in shown.text and "error:" not in shown.text, shown.text
        assert "the service and the clusters are ended" in shown.text
    assert_nothing_is_left(scratch)


def test_a_demo_that_is_interrupted_half_way_leaves_nothing(environment: dict[str, str], scratch: Path) -> None:
    """Ctrl-C while a link copies: it says so, and all processes end."""
    with demo(environment) as shown:
        shown.printed(r"\$ anabranch migrate (start)", 3 * LONG_TIMEOUT_S)
        until(lambda: any("spark.jobs.link" in one for one in processes_of(scratch)), shown)
        shown.interrupt()
        assert "Traceback" not in shown.text, shown.text
        assert "interrupted; the clusters, the service, applications and jobs are ended" in shown.text
    assert_nothing_is_left(scratch)
