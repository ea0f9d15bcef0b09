"""Kafka's own client library for MirrorMaker 2, run on its source file."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from anabranch.sandbox import SandboxCluster
from anabranch.sandbox.jars import class_path, java_program
from qa.mm2 import RUNTIME
from qa.timeouts import LONG_TIMEOUT_S

_MAIN = Path(__file__).parents[2] / "java" / "MirrorAnswers.java"


def answers(cluster: SandboxCluster, alias: str, groups: Iterable[str]) -> list[tuple[str, ...]]:
    """Every line that the program prints, cut at its tabs."""
    command = [java_program(), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", class_path(RUNTIME), str(_MAIN)]
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    done = subprocess.run(
        [command[0], quiet, *command[1:], cluster.bootstrap, alias, *groups],
        capture_output=True,
        text=True,
        timeout=LONG_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [tuple(line.split("\t")) for line in done.stdout.splitlines()]
