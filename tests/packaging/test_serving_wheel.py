"""The built wheel with its service, in an environment of its own and without a network: it serves all that it has."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from anabranch import __version__
from qa.timeouts import TIMEOUT_S
from tests.packaging.environments import with_extra
from tests.packaging.test_wheel import run, wheel

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]
__all__ = ["wheel"]

_ASK = '''
import fcntl, http.client, json, re, signal, socket, struct, subprocess, sys, time

def loopback():
    """A network of one's own begins without it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        asked = struct.pack("16sh", b"lo", 0)
        flags = struct.unpack("16sh", fcntl.ioctl(one, 0x8913, asked))[1]
        fcntl.ioctl(one, 0x8914, struct.pack("16sh", b"lo", flags | 1))

def ask(port, method, path, body=None, token=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    return answer.status, answer.getheader("content-type"), answer.read().decode()

if "--alone" in sys.argv:
    loopback()
    try:
        socket.create_connection(("192.0.2.1", 80), timeout=5)
        sys.exit("there is a network")
    except OSError:
        pass
program = sys.argv[1]
flags = ["--store", "store.db", "--port", "0"]
process = subprocess.Popen([program, "serve", *flags], stderr=subprocess.PIPE, text=True)
line = process.stderr.readline()
port = int(re.search(r"127.0.0.1:(\\d+)", line)[1])
deadline = time.monotonic() + TIMEOUT_S
while True:
    try:
        health = ask(port, "GET", "/healthz")
        break
    except OSError:
        if time.monotonic() > deadline:
            raise
        time.sleep(0.1)
created = subprocess.run([program, "token", "create", "admin", "--store", "store.db"], capture_output=True, text=True)
token = created.stdout.strip()
page = ask(port, "GET", "/")
script = re.search(r'src="(/assets/[^"]+[.]js)"', page[2])[1]
answers = {
    "health": health, "page": page, "script": ask(port, "GET", script)[:2],
    "me": ask(port, "GET", "/api/v1/me", None, token), "clusters": ask(port, "GET", "/api/v1/clusters", None, token),
    "nobody": ask(port, "GET", "/api/v1/me"),
}
process.send_signal(signal.SIGTERM)
answers["code"] = process.wait(TIMEOUT_S)
answers["told"] = process.stderr.read()
print(json.dumps(answers))
'''


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """The ``bin`` directory of an environment with the wheel and its service, of the locked versions."""
    return with_extra(tmp_path_factory.mktemp("served"), wheel, "service")


def test_it_serves_its_pages_and_itself_without_a_network(served: Path, tmp_path: Path) -> None:
    """A fresh machine: the store is made, somebody signs in, the page and its script are inside; no Spark is there."""
    assert "ModuleNotFoundError" in run(served / "python", "-c", "import pyspark", cwd=tmp_path).stderr
    (tmp_path / "ask.py").write_text(f"TIMEOUT_S = {TIMEOUT_S}\n{_ASK}")
    alone = ["unshare", "--map-root-user", "--net"]
    may = subprocess.run([*alone, "true"], capture_output=True, check=False).returncode == 0
    command = [served / "python", "ask.py", served / "anabranch"]
    done = run(*(alone if may else []), *command, *(["--alone"] if may else []), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["health"][0] == 200
    assert told["page"][:2] == [200, "text/html; charset=utf-8"]
    assert told["script"][0] == 200 and told["script"][1].startswith("text/javascript")
    assert (told["me"][0], json.loads(told["me"][2])["version"]) == (200, __version__)
    assert (told["clusters"][0], json.loads(told["clusters"][2])["clusters"]) == (200, [])
    assert told["nobody"][0] == 401
    assert (told["code"], "Traceback" in told["told"]) == (0, False), told["told"]
