"""Real MirrorMaker 2 in dedicated mode between two sandbox clusters, to compare with and to learn from.

The properties are pure (``mirror_properties``); ``MirrorMaker.start`` writes them down and runs the JVM below a
process supervisor of the sandbox, which ends it with this process, however that ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from anabranch.errors import InvalidFieldError
from anabranch.sandbox.jars import class_path, java_program
from anabranch.sandbox.process import SupervisedProcess
from qa.timeouts import SCALE

RUNTIME = "mirror-4.3.1"
VERSION = "4.3.1"
SEPARATOR = "."

_MAIN_CLASS = "org.apache.kafka.connect.mirror.MirrorMaker"
_STOP_SECONDS = 20.0 * SCALE
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS",
    "-Dorg.slf4j.simpleLogger.showShortLogName=true",
)


@dataclass(frozen=True, slots=True)
class MirrorSpec:
    """A wanted MirrorMaker 2 from one PLAINTEXT cluster to another.

    ``source_alias`` becomes the prefix of the copied topics (``alias.topic``) and the name of MirrorMaker's own topics
    and groups: a new alias copies everything again.  ``settings`` are further lines of its properties file and win;
    those of the Connect worker (``producer.*``, ``offset.flush.interval.ms``) are read under ``target_alias.`` only,
    those of the consumers under ``source_alias.``.
    Raises ``InvalidFieldError``.
    """

    source_alias: str
    source: str
    target_alias: str
    target: str
    topics: str
    tasks: int = 2
    heap_mb: int = 512
    jvm_options: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        where = f"MirrorMaker 2 {self.flow}"
        if self.source_alias == self.target_alias:
            raise InvalidFieldError(where, "source_alias", "is the target's alias too", "give two names")
        if self.tasks < 1:
            raise InvalidFieldError(where, "tasks", f"{self.tasks} is less than 1", "give at least one task")

    @property
    def flow(self) -> str:
        """The name of the direction in the properties file."""
        return f"{self.source_alias}->{self.target_alias}"

    @property
    def offset_syncs_topic(self) -> str:
        """Where the offset syncs go: a topic on the *source* cluster."""
        return f"mm2-offset-syncs.{self.target_alias}.internal"

    @property
    def checkpoints_topic(self) -> str:
        """Where the groups' translated positions go: a topic on the target cluster."""
        return f"{self.source_alias}.checkpoints.internal"

    def target_topic(self, topic: str) -> str:
        """The name of a topic's copy under MirrorMaker's default policy."""
        return f"{self.source_alias}{SEPARATOR}{topic}"


def mirror_properties(spec: MirrorSpec) -> dict[str, str]:
    """The properties of ``connect-mirror-maker`` for one direction; internal topics have one replica."""
    own = {
        "clusters": f"{spec.source_alias},{spec.target_alias}",
        f"{spec.source_alias}.bootstrap.servers": spec.source,
        f"{spec.target_alias}.bootstrap.servers": spec.target,
        f"{spec.flow}.enabled": "true",
        f"{spec.target_alias}->{spec.source_alias}.enabled": "false",
        f"{spec.flow}.topics": spec.topics,
        f"{spec.flow}.tasks.max": str(spec.tasks),
        # Without this a heartbeat connector runs in the disabled direction too.
        f"{spec.target_alias}->{spec.source_alias}.emit.heartbeats.enabled": "false",
    }
    factors = (
        "replication.factor",
        "checkpoints.topic.replication.factor",
        "heartbeats.topic.replication.factor",
        "offset-syncs.topic.replication.factor",
        "offset.storage.replication.factor",
        "status.storage.replication.factor",
        "config.storage.replication.factor",
    )
    return own | dict.fromkeys(factors, "1") | dict(spec.settings)


class MirrorMaker:
    """A running MirrorMaker 2; ``stop`` or leaving the ``with`` block ends it."""

    def __init__(self, spec: MirrorSpec, process: SupervisedProcess) -> None:
        self.spec = spec
        self._process = process

    @classmethod
    def start(cls, spec: MirrorSpec, directory: Path) -> Self:
        """Start it with its properties and log in ``directory``; copying begins some seconds later.

        Raises ``MissingProgramError``, ``JarsNotResolvedError`` and ``SandboxProcessError``.
        """
        directory.mkdir(parents=True, exist_ok=True)
        properties = directory / f"{spec.source_alias}-{spec.target_alias}.properties"
        lines = "".join(f"{key} = {value}\n" for key, value in mirror_properties(spec).items())
        properties.write_text(lines.replace("\\", "\\\\"))
        options = [f"-Xms{spec.heap_mb}m", f"-Xmx{spec.heap_mb}m", *spec.jvm_options, *_LOGGING]
        command = [java_program(), *options, "-cp", class_path(RUNTIME), _MAIN_CLASS, str(properties)]
        log = properties.with_suffix(".log")
        return cls(spec, SupervisedProcess.spawn(f"MirrorMaker 2 {spec.flow}", command, log))

    @property
    def pid(self) -> int:
        """The process id of Connect's JVM, which does all the copying."""
        return self._process.pid

    @property
    def log_path(self) -> Path:
        """What it prints."""
        return self._process.log_path

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.alive

    def check(self) -> None:
        """Raise ``SandboxProcessError`` with the end of its log if it has ended."""
        if not self.alive:
            raise self._process.failure("ended")

    def kill(self) -> None:
        """SIGKILL; returns when the process is gone."""
        self._process.kill()

    def stop(self) -> None:
        """SIGTERM, and SIGKILL after 20 s; twice is once."""
        if self.alive:
            self._process.terminate(_STOP_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()
