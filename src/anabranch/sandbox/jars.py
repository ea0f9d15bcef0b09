"""Jars of the JVM runtimes that the sandbox and the tests run, each from a pinned pom."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from anabranch.jars import java
from anabranch.jars.cache import Runtime, bring, cache_directory
from anabranch.jars.connector import LOCKED, locked

__all__ = ["cache_directory", "class_path", "java_program", "runtime_jars"]


def java_program() -> str:
    """The ``java`` to run: of ``JAVA_HOME``, else of the path; raises ``MissingProgramError``."""
    return java.java_program("a Kafka broker")


def runtime_jars(runtime: str) -> Path:
    """The directory with the jars of a runtime such as ``kafka-4.3.1`` or ``mirror-4.3.1``; resolves it if needed.

    Raises ``MissingProgramError`` without Maven and ``JarsNotResolvedError`` when Maven fails three times.
    """
    if runtime in LOCKED.values():
        return bring(locked(runtime))
    pom = resources.files("anabranch.sandbox").joinpath("poms", f"{runtime}.xml").read_bytes()
    return bring(Runtime(runtime, pom))


def class_path(runtime: str) -> str:
    """The JVM class path of a runtime."""
    return f"{runtime_jars(runtime)}/*"
