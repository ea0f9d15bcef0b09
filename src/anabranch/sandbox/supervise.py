"""The process that owns one background cluster: ``python -m anabranch.sandbox.supervise HOME``, the spec on its input.

It starts the cluster just as a test does, writes its state, and stops it at SIGTERM.  Process supervisors end its
processes, so that they end with it however it ends.  Until the cluster is ready it watches the process that started it:
an ``up`` that was killed leaves nothing behind.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from anabranch.errors import AnabranchError
from anabranch.sandbox.cluster import SandboxCluster
from anabranch.sandbox.process import ProcessIdentity, identify
from anabranch.sandbox.spec import ClusterSpec
from anabranch.sandbox.state import Home, running, starting

_WATCH_SECONDS = 0.2


class _Stopped(BaseException):
    """SIGTERM has come; not an ``Exception``, so that nothing on the way takes it for a failure."""


def _stop(*_: object) -> None:
    # Once only: a second signal must not break into the clean-up after the first.
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)
    raise _Stopped


def _watch(parent: int, ready: threading.Event) -> None:
    """End this process in order if ``parent`` dies before the cluster is ready."""
    while not ready.wait(_WATCH_SECONDS):
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)
            return


def _hold(home: Home, spec: ClusterSpec, me: ProcessIdentity | None, ready: threading.Event) -> None:
    home.write(starting(spec, me))
    with SandboxCluster.start(spec, home.directory(spec.name) / "cluster") as cluster:
        state = running(cluster, me)
        # First: whoever started this ends as soon as it has read the state, and must not be missed then.
        ready.set()
        home.write(state)
        while True:
            # Not signal.pause(), which would sleep on if the signal came just before it.
            time.sleep(_WATCH_SECONDS)


def main(arguments: Sequence[str]) -> int:
    """Run until SIGTERM; returns the exit code, which is not 0 if the cluster did not start."""
    parent = os.getppid()
    home = Home(Path(arguments[0]))
    fields = json.load(sys.stdin)
    spec = ClusterSpec(**{**fields, "jvm_options": tuple(fields["jvm_options"])})
    me, ready = identify(os.getpid()), threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, _stop)
    threading.Thread(target=_watch, args=(parent, ready), daemon=True).start()
    try:
        _hold(home, spec, me, ready)
    except _Stopped:
        return 0
    except AnabranchError as error:
        failed = dataclasses.replace(starting(spec, me), phase="failed", error=error.message, hint=error.hint)
        home.write(failed)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
