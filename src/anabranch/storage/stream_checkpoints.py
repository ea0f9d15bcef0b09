"""The checkpoints of a stream's queries: which is a query's own, and what another of it begins with.

A query's first checkpoint is a directory of its name, each later one is NAME@NUMBER, and the highest number is its own.
The number is that of the request to begin anew, so a start that is killed on its way and done again finds what it made.

A query whose directory would be another's is refused before it has one (``is_reserved``).

Invariants
    C1  what a later checkpoint begins with is written in one piece, before Spark writes anything there.
    C2  only a query's own checkpoint is written.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import TypeAdapter

from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicPartition
from anabranch.storage.files import StoredFiles
from anabranch.streams.artifacts.values import ArtifactPin
from anabranch.streams.state.results import NoPositionError, OpenBatchError

NOTED = "script.json"
FENCE, ARRIVING, MOVED, ENDED = "fence", "arriving.json", "moved.json", "ended.json"
"""Beside the queries' directories: numbers of starts, marks of checkpoints that come or went, and how they ended."""
_RESERVED = frozenset({NOTED, FENCE, ARRIVING, MOVED, ENDED})
_BEGINS = "begins.json"
_MOST = 64 << 20
_PINS = TypeAdapter(tuple[ArtifactPin, ...])


def directory_of(query: str, number: int = 0) -> str:
    """Where a checkpoint of a query is, below those of its stream."""
    name = urllib.parse.quote(query, safe=" .-_")
    return f"{name}@{number}" if number else name


def is_reserved(query: str) -> bool:
    """Whether a query's directory would be that of something else, on any file system."""
    return directory_of(query).lower() in _RESERVED


def noted_as(directory: str) -> str:
    """The query whose first checkpoint has a directory of that name."""
    return urllib.parse.unquote(directory)


def numbered(directory: str) -> tuple[str, int]:
    """(directory of the first checkpoint, number) of a checkpoint's directory."""
    first, at, number = directory.rpartition("@")
    return (first, int(number)) if at and number.isascii() and number.isdigit() else (directory, 0)


def own(files: StoredFiles, query: str) -> tuple[str, int]:
    """(directory, number) of the checkpoint that a query has, or would have."""
    first = directory_of(query)
    numbers = [0]
    for entry in files.list():
        name, number = numbered(entry.name)
        if name == first:
            numbers.append(number)
    highest = max(numbers)
    return directory_of(query, highest), highest


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a later checkpoint begins with: a position of all its tables, or the offsets that were reached."""

    start: str = ""
    offsets: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether its tables begin where they say themselves."""
        return not self.start and not self.offsets

    def position(self) -> StartPosition | None:
        """The offsets as a start; None where there are none."""
        found = {
            TopicPartition(topic, int(partition)): offset
            for topic, partitions in self.offsets.items()
            for partition, offset in partitions.items()
        }
        return StartPosition(StartKind.OFFSETS, offsets=found) if found else None


def begin(files: StoredFiles, directory: str, beginning: Beginning) -> None:
    """Note what a checkpoint begins with (C1)."""
    text = json.dumps({"start": beginning.start, "offsets": beginning.offsets})
    files.put(f"{directory}/{_BEGINS}", text.encode(), via=f"{directory}/.{_BEGINS}")


def beginning_of(files: StoredFiles, directory: str) -> Beginning | None:
    """What a checkpoint begins with; None for a first one."""
    if files.stat(f"{directory}/{_BEGINS}") is None:
        return None
    told = json.loads(files.read(f"{directory}/{_BEGINS}", _MOST))
    return Beginning(told["start"], told["offsets"])


def batches(files: StoredFiles, directory: str, log: str) -> list[int]:
    """The batches in one of a checkpoint's logs, in order."""
    names = (entry.name for entry in files.list(f"{directory}/{log}"))
    return sorted(int(name) for name in names if name.isascii() and name.isdigit())


def reached(files: StoredFiles, directory: str, stream: str, query: str) -> dict[str, dict[str, int]]:
    """The offsets of Kafka's topics that a query has reached, empty where it has not committed a batch.

    Raises OpenBatchError where a batch was begun and not ended, NoPositionError for a source that is not Kafka.
    """
    planned, committed = batches(files, directory, "offsets"), batches(files, directory, "commits")
    if planned and planned[-1] not in committed:
        raise OpenBatchError(stream, query, planned[-1])
    if not committed:
        return {}
    text = files.read(f"{directory}/offsets/{committed[-1]}", _MOST).decode()
    found: dict[str, dict[str, int]] = {}
    for number, line in enumerate(text.splitlines()[2:], 1):
        if line != "-":
            for topic, partitions in _kafka(line, query, number).items():
                if found.setdefault(topic, partitions) != partitions:
                    raise NoPositionError(query, number)  # read twice, and not as far
    return found


def _kafka(line: str, query: str, number: int) -> dict[str, dict[str, int]]:
    try:
        told: Any = json.loads(line)
        return {
            str(topic): {str(int(key)): int(value) for key, value in partitions.items()}
            for topic, partitions in told.items()
        }
    except (ValueError, AttributeError, TypeError):
        raise NoPositionError(query, number) from None


def note_script(files: StoredFiles, version: int, script: str, artifacts: Sequence[ArtifactPin] = ()) -> None:
    """Keep which script runs with these checkpoints, and what its functions come from."""
    told = {"version": version, "script": script, "artifacts": [asdict(one) for one in artifacts]}
    files.put(NOTED, json.dumps(told).encode(), via=f".{NOTED}")


def noted_version(files: StoredFiles) -> tuple[int, str]:
    """(version, script) that ran with these checkpoints last; (0, "") where nobody noted one."""
    if files.stat(NOTED) is None:
        return 0, ""
    told = json.loads(files.read(NOTED, _MOST))
    return int(told["version"]), str(told["script"])


@dataclass(frozen=True, slots=True)
class NotedScript:
    """A script that ran with some checkpoints, and what its functions came from."""

    script: str
    artifacts: tuple[ArtifactPin, ...]


def noted(files: StoredFiles) -> NotedScript | None:
    """The one that ran with these checkpoints last; None where nobody noted one."""
    if files.stat(NOTED) is None:
        return None
    told = json.loads(files.read(NOTED, _MOST))
    return NotedScript(str(told["script"]), _PINS.validate_python(told.get("artifacts", [])))
