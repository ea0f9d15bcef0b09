"""A real OpenSearch on this machine, for as long as a block lasts: its jars come by Maven."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from anabranch.sandbox.jars import class_path, java_program
from anabranch.sandbox.ports import lease_ports
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S

RUNTIME = "opensearch-2.18.0"
_PUBLISHED = re.compile(r"HttpServerTransport\] publish_address \{127\.0\.0\.1:(\d+)\}")
_JVM = ("-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass(slots=True)
class OpenSearch:
    """A server; ``stop`` and ``start`` leave its data and its port."""

    directory: Path
    transport_port: int
    port: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """What it answers, as JSON whose fractions are decimals; raises ``urllib.error.HTTPError``."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, data=data, method=method, headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            return json.loads(answer.read() or b"null", parse_float=Decimal)

    def start(self) -> None:
        """Start it, and wait until it has read its data."""
        log = self.directory / "opensearch.log"
        settings = self.directory / "config"
        settings.mkdir(exist_ok=True)
        lines = f"transport.port: {self.transport_port}\ndiscovery.type: single-node\n"
        (settings / "opensearch.yml").write_text(lines, encoding="utf-8")
        runner = ["org.codelibs.opensearch.runner.OpenSearchRunner", "-numOfNode", "1", "-printOnFailure"]
        place = ["-basePath", str(self.directory / "nodes"), "-confPath", str(settings)]
        # Its first node tries the ports from 1 above this one on, and the program takes none above 9299.
        place += ["-baseHttpPort", str(self.port - 1 if self.port else random.randrange(9200, 9280))]
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [java_program(), *_JVM, "-cp", class_path(RUNTIME), *runner, *place],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        deadline = time.monotonic() + LONG_TIMEOUT_S
        while True:
            said = log.read_text(encoding="utf-8", errors="replace")
            assert self.process.poll() is None, said[-3000:]
            assert time.monotonic() < deadline, said[-3000:]
            if published := _PUBLISHED.search(said):
                self.port = int(published[1])
                try:
                    self.ask("GET", "/_cluster/health?wait_for_status=yellow&wait_for_no_initializing_shards=true")
                    return
                except OSError:
                    pass
            time.sleep(0.2)

    def stop(self) -> None:
        """Kill it; what it has acknowledged stays."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


@contextmanager
def opensearch(directory: Path) -> Iterator[OpenSearch]:
    """A server with its data in a directory, that listens on loopback alone."""
    (lease,) = lease_ports(1)
    made = OpenSearch(directory, lease.port)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        lease.release()
