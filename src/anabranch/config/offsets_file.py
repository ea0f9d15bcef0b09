"""The offsets file: positions by partition, as verbs write and read them (docs/reference/offsets-file.md).

``version: 1`` and ``offsets: {topic: {partition: offset}}``, in JSON or YAML; an offset is the next record to read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from anabranch.config.yaml_file import FileShape, check, read, replace_file
from anabranch.errors import InvalidFieldError
from anabranch.model.home import expanded
from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicPartition

FILE = "@"
_MOST = (1 << 63) - 1
_Partition = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,9})$")]


class OffsetsShape(FileShape):
    """Positions of one cluster."""

    version: Literal[1] = Field(default=1, description="Version of this file's format.")
    cluster: str | None = Field(default=None, description="Context of the cluster whose offsets these are.")
    offsets: dict[str, dict[_Partition | int, Annotated[int, Field(ge=0, le=_MOST)]]] = Field(
        description="topic: {partition: next offset to read}"
    )


def load(path: Path) -> dict[TopicPartition, int]:
    """The offsets of a file; raises ``ConfigError`` naming file and field."""
    shape = check(OffsetsShape, read(path), str(path))
    found: dict[TopicPartition, int] = {}
    for topic, partitions in shape.offsets.items():
        for text, offset in partitions.items():
            partition = TopicPartition(topic, int(text))
            if partition.partition < 0 or partition in found:
                problem = "negative" if partition.partition < 0 else "it is given twice"
                raise InvalidFieldError(str(path), f"offsets.{topic}.{text}", problem)
            found[partition] = offset
    if not found:
        raise InvalidFieldError(str(path), "offsets", "no offset is given")
    return found


def cluster_of(path: Path) -> str | None:
    """The context that a file says its offsets are of, None where it does not; raises ``ConfigError``."""
    return check(OffsetsShape, read(path), str(path)).cluster


def save(path: Path, offsets: Mapping[TopicPartition, int], cluster: str) -> None:
    """Write the file whole or not at all, over one that is there; raises ``UnreadableFileError``."""
    replace_file(path, text_of(offsets, cluster).encode("utf-8"))


def text_of(offsets: Mapping[TopicPartition, int], cluster: str) -> str:
    """What such a file holds."""
    topics: dict[str, dict[str, int]] = {}
    for partition, offset in sorted(offsets.items()):
        topics.setdefault(partition.topic, {})[str(partition.partition)] = offset
    return json.dumps({"version": 1, "cluster": cluster, "offsets": topics}, indent=2, ensure_ascii=False) + "\n"


def start_of(text: str) -> StartPosition:
    """A start position as any command takes it, ``@FILE`` among them; raises ``ConfigError``."""
    if not text.startswith(FILE):
        return StartPosition.parse(text)
    return StartPosition(StartKind.OFFSETS, offsets=load(expanded(text.removeprefix(FILE))))
