"""Forks Spark's Python processes off one that has imported what they need already.

Spark starts a Python process for each kind of work: five before a link copies its first record, one after the other,
and each imports pyspark, pyarrow and this package for more than a second.  The driver of a local master has imported
all of it, so it forks a server before it has threads or connections.  What Spark starts as its Python from then on
(:mod:`anabranch.spark.handover`) hands its standard streams, arguments and environment over; the server forks a process
that runs the module, and tells how it ended.

The server ends with the driver: it holds the reading end of a pipe whose writing end only the driver has.  Its forks
end as ever when Spark closes their input or connection, and when the process that Spark started is killed.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import runpy
import select
import shlex
import signal
import socket
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from anabranch.spark import handover
from anabranch.spark.handover import STREAMS
from anabranch.spark.scratch import ScratchDirectory

KINDS = (
    "pyspark.worker",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.streaming.python_streaming_source_runner",
)
"""What Spark runs, and what all of them import."""
_PR_SET_NAME = 15
_LONGEST_ADDRESS = 107
"""Bytes of a socket's path (unix(7))."""


class ForkServer:
    """The server of this process: ``prepare`` before the JVM is started, since that hands its environment on."""

    def __init__(self) -> None:
        self._scratch = ScratchDirectory("forks")

    @classmethod
    def prepare(cls) -> ForkServer | None:
        """Have Spark use the server as its Python.

        None where files of a temporary directory cannot be run, or its path is too long for a socket's: Spark starts
        its Python as ever.
        """
        made = cls()
        if len(os.fsencode(made._address)) > _LONGEST_ADDRESS:
            made.remove()
            return None
        python = made._scratch.path / "python"
        python.write_text(
            f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -S {shlex.quote(handover.__file__)} "
            f'{shlex.quote(str(made._address))} {shlex.quote(sys.executable)} "$@"\n'
        )
        python.chmod(0o700)
        if not os.access(python, os.X_OK):
            made.remove()
            return None
        for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):  # the second is what the JVM itself goes by
            os.environ[name] = str(python)
        return made

    def start(self, *modules: str) -> None:
        """Fork the server with these modules imported; call it before any thread is started."""
        for module in (*KINDS, *modules):
            importlib.import_module(module)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self._address))
        listener.listen(64)
        gc.freeze()
        driver, _ours = os.pipe()
        if os.fork() == 0:
            try:
                _leave_descriptors(listener.fileno(), driver)
                _Server(listener, driver).serve()
            finally:
                self.remove()
                os._exit(0)
        listener.close()
        os.close(driver)  # ``_ours`` is closed by the system alone, however this process ends

    def remove(self) -> None:
        """Remove the directory: the driver does as it ends, or the server of a driver that was killed."""
        self._scratch.remove()

    @property
    def _address(self) -> Path:
        return self._scratch.path / "socket"


def _leave_descriptors(*kept: int) -> None:
    """Whoever waits for an end of the driver's - its output, its events, the input of its JVM - waits for it alone."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in STREAMS:
        os.dup2(nothing, stream)
    for name in os.listdir("/dev/fd"):
        number = int(name)
        if number not in (*STREAMS, *kept):
            with suppress(OSError):  # that of the listing
                os.close(number)


class _Server:
    """One thread, and a connection for each fork that lives."""

    def __init__(self, listener: socket.socket, driver: int) -> None:
        self._listener = listener
        self._driver = driver
        self._forks: dict[int, socket.socket] = {}
        self._ended, woken = os.pipe()
        for end in (self._ended, woken):
            os.set_blocking(end, False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # a signal to the driver's group is the driver's
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(woken)

    def serve(self) -> None:
        """Fork for each request, tell of each end, until the driver is gone."""
        while True:
            waiting = {one.fileno(): pid for pid, one in self._forks.items()}
            ready, _, _ = select.select([self._listener.fileno(), self._driver, self._ended, *waiting], [], [])
            if self._driver in ready:
                return
            for pid in [waiting[one] for one in ready if one in waiting]:
                self._kill(pid)
            if self._ended in ready:
                os.read(self._ended, 4096)
                self._reap()
            if self._listener.fileno() in ready:
                self._fork(self._listener.accept()[0])

    def _fork(self, connection: socket.socket) -> None:
        try:
            request, streams = _received(connection)
        except (OSError, ValueError):  # whoever asked is gone
            connection.close()
            return
        pid = os.fork()
        if pid == 0:
            for one in (self._listener, connection, *self._forks.values()):
                one.close()
            os.close(self._driver)
            _run(request, streams)
        for stream in streams:
            os.close(stream)
        self._forks[pid] = connection
        with suppress(OSError):
            connection.sendall(b"1")

    def _kill(self, pid: int) -> None:
        """The process that Spark started is gone: so is its fork."""
        self._forks.pop(pid).close()
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            connection = self._forks.pop(pid, None)
            if connection is not None:
                with connection, suppress(OSError):
                    connection.sendall(bytes([os.waitstatus_to_exitcode(status) % 256]))


def _received(connection: socket.socket) -> tuple[dict[str, object], list[int]]:
    """A request and its streams; raises ``OSError`` or ``ValueError`` where it is not whole."""
    head, streams, _, _ = socket.recv_fds(connection, 8, len(STREAMS))
    wanted = int.from_bytes(head, "big")
    text = b""
    while len(text) < wanted:
        part = connection.recv(wanted - len(text))
        if not part:
            break
        text += part
    if len(head) < 8 or len(streams) < len(STREAMS) or len(text) < wanted:
        for stream in streams:
            os.close(stream)
        raise ValueError("a request that is not whole")
    request = json.loads(text)
    assert isinstance(request, dict)
    return request, streams


def _run(request: dict[str, object], streams: list[int]) -> NoReturn:
    """Run the module as ``python -m`` does, and end."""
    code = 1
    try:
        for own, given in zip(STREAMS, streams, strict=True):
            os.dup2(given, own)
            os.close(given)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        arguments, environment = request["arguments"], request["environment"]
        assert isinstance(arguments, list)
        assert isinstance(environment, dict)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(str(request["directory"]))
        module, sys.argv = arguments[0], list(arguments)
        _set_name(arguments[-1])
        sys.modules.pop(module, None)  # run as ``__main__``, and not a second time
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code % 256)


def _set_name(name: str) -> None:
    """What tools show for the process; Linux has it, and nothing rests on it."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
