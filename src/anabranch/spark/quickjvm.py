"""How the driver of a link starts its JVM: quickly, since that JVM plans leases and copies nothing.

It is started before the driver imports what it needs, which takes as long.  Its classes come from an archive
(:mod:`anabranch.jars.shared_classes`), made once by the first run on this machine that ends in order, and only the
quick compiler is used: measured on two cores, a session took 4.7 s of CPU in place of 16.

Nothing here imports pyspark.  What a Python driver says to ``spark-submit``, and what its JVM answers, is that of
``pyspark.java_gateway`` and ``org.apache.spark.api.python.PythonGatewayServer``: a file with a port and a secret.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from anabranch.config.jobsettings import master_name
from anabranch.errors import AnabranchError
from anabranch.jars import shared_classes
from anabranch.jars.spark_home import spark_home
from anabranch.spark.errors import SparkNotStartedError
from anabranch.spark.scratch import ScratchDirectory

OPTIONS = "SPARK_SUBMIT_OPTS"
LAUNCHER_OPTIONS = "SPARK_LAUNCHER_OPTS"
"""Of the JVM that makes the command line of the one that is wanted."""
PORT, SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
_ANSWER = "_PYSPARK_DRIVER_CONN_INFO_PATH"
_QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_ARCHIVED_S = 30.0
_LOOK_S = 0.01


class QuickJvm:
    """The JVM of this process, which ends with it; there is none of our own below ``spark-submit``."""

    def __init__(self, master: str | None) -> None:
        self._master = master_name(master)
        self._made: Path | None = None
        self._wanted: Path | None = None
        self._jvm: subprocess.Popen[bytes] | None = None
        self._scratch: ScratchDirectory | None = None

    def start(self, settings: Mapping[str, str]) -> None:
        """Start it with Spark's settings, and return at once; what the user set of its options wins over ours."""
        if PORT in os.environ:
            return
        home = spark_home()
        given = os.environ.get(OPTIONS, "")
        classes = [] if "SharedArchive" in given else self._classes(home / "jars")
        self._scratch = ScratchDirectory("jvm")
        answer = str(self._scratch.path / "address")
        environment = {LAUNCHER_OPTIONS: _QUICK, **os.environ}
        environment[OPTIONS] = " ".join([_QUICK, *classes, given]).strip()
        environment |= {"SPARK_HOME": str(home), "SPARK_CONNECT_MODE": "0", _ANSWER: answer}
        command = [str(home / "bin" / "spark-submit")]
        for key, value in settings.items():
            command += ["--conf", f"{key}={value}"]
        command += shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        with suppress(OSError):  # told of as a JVM that is not there
            self._jvm = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                env=environment,
                preexec_fn=_ignore_ctrl_c,  # noqa: PLW1509  # there is no thread yet
            )

    def connect(self) -> None:
        """Wait until it listens, and have pyspark use it; raises SparkNotStartedError."""
        if self._scratch is None:
            return
        address = self._scratch.path / "address"
        while not address.exists():
            if self._jvm is None or self._jvm.poll() is not None:
                ended = "" if self._jvm is None else f" (exit code {self._jvm.returncode})"
                raise SparkNotStartedError(self._master, f"its JVM ended{ended} before it listened")
            time.sleep(_LOOK_S)
        answer = address.read_bytes()
        os.environ[PORT] = str(int.from_bytes(answer[:4], "big"))
        os.environ[SECRET] = answer[8:].decode()
        self._forget_answer()

    def end(self) -> None:
        """Once the session has stopped: wait for the archive, where this run makes it."""
        made, wanted, jvm = self._made, self._wanted, self._jvm
        if made is None or wanted is None or jvm is None:
            return
        with suppress(OSError, subprocess.TimeoutExpired):
            if jvm.stdin is not None:
                jvm.stdin.close()  # which ends it
            jvm.wait(_ARCHIVED_S)
            made.rename(wanted)
        made.unlink(missing_ok=True)
        self._made = None

    def close(self) -> None:
        """Leave nothing: it ends by itself with its input; one whose archive would be of half a run is killed."""
        jvm = self._jvm
        if jvm is not None:
            if self._scratch is not None or self._made is not None:
                jvm.kill()
            if jvm.stdin is not None:
                jvm.stdin.close()
            for name in (PORT, SECRET):
                os.environ.pop(name, None)
        self._forget_answer()

    def _forget_answer(self) -> None:
        if self._scratch is not None:
            self._scratch.remove()
        self._scratch = None

    def _classes(self, jars: Path) -> list[str]:
        try:
            runtime = f"spark-{metadata.version('pyspark')}"
            used = shared_classes.using(runtime, jars)
            if used:
                return used
            self._wanted = shared_classes.archive(runtime, jars)
            self._wanted.parent.mkdir(parents=True, exist_ok=True)
            shared_classes.forget_left(self._wanted)
        except (AnabranchError, OSError, metadata.PackageNotFoundError):
            return []  # no Java: told elsewhere; no directory that we may write, a Spark not of pip: slower
        self._made = self._wanted.with_suffix(f".{os.getpid()}.part")
        return shared_classes.making(self._made)


def _ignore_ctrl_c() -> None:
    """Ctrl-C is the driver's to answer, in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
