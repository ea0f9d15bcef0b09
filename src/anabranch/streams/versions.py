"""Versions of a stream: every save is one, and none is ever changed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from anabranch.streams.artifacts.values import ArtifactPin
from anabranch.streams.kinds import StreamKind
from anabranch.streams.restarting import RestartPolicy


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """How a version runs: how often a micro-batch begins, how often it is started again within an hour, and where."""

    trigger: str = "1 second"
    restarts: int = RestartPolicy().most
    launcher: str = "default"
    """By its name in the service's file."""

    @property
    def policy(self) -> RestartPolicy:
        """When it is started again."""
        return RestartPolicy(self.restarts)


@dataclass(frozen=True, slots=True)
class StreamVersion:
    """A script with its settings, as somebody saved it; ``number`` is from 1, and ``script`` is text of its ``kind``.

    ``artifacts`` are what its functions come from: those versions, whatever is uploaded later.
    """

    number: int
    at_ms: int
    author: str
    note: str
    script: str
    settings: StreamSettings = field(default_factory=StreamSettings)
    artifacts: tuple[ArtifactPin, ...] = ()
    kind: StreamKind = StreamKind.SQL


def diff(before: StreamVersion, after: StreamVersion) -> Sequence[str]:
    """The lines of a unified diff, settings first; none where nothing differs."""
    names = f"version {before.number}", f"version {after.number}"
    return list(difflib.unified_diff(_lines(before), _lines(after), *names, lineterm=""))


def _lines(version: StreamVersion) -> list[str]:
    settings = [f"-- {name}: {value}" for name, value in asdict(version.settings).items()]
    artifacts = [f"-- artifact {one}: SHA-256 {one.content.sha256}" for one in version.artifacts]
    pinned = [each for one in version.artifacts for each in one.functions]
    functions = [f"-- function {one.name}: {' '.join(one.statement.split())}" for one in pinned]
    return [*settings, *artifacts, *functions, *version.script.splitlines()]
