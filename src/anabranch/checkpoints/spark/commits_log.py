"""commits/N: batch N has run and its state is written. Read only: it holds no position of Kafka.

Version 2 (Spark 4.0, with ``checkpointFormatVersion`` 2) adds the ids of state files, version 3 (4.2) the sinks.
Source: ``CommitLog.scala`` of sql/core.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.checkpoints.spark.errors import MalformedError
from anabranch.checkpoints.spark.strict_json import Json, parse
from anabranch.checkpoints.spark.text_file import parse_text_file

NEWEST = 3


@dataclass(frozen=True, slots=True)
class SinkMark:
    """A sink that the engine wrote down, with its class; ``active`` is the one of now."""

    name: str
    provider: str
    active: bool


@dataclass(frozen=True, slots=True)
class CommitsFile:
    """One file of the log; ``names_state`` where it has the ids of state files, of the second format of checkpoints."""

    version: int
    next_watermark_ms: int
    names_state: bool
    sinks: tuple[SinkMark, ...]


def parse_commits(content: bytes) -> CommitsFile:
    """Read one file; raises MalformedError and UnknownError."""
    text = parse_text_file(content, NEWEST)
    if len(text.lines) != 1:
        raise MalformedError(f"line {len(text.lines) + 1}", "the file has two lines in every version")
    tree = parse(text.lines[0], "line 2")
    if not isinstance(tree, dict):
        raise MalformedError("line 2", "is no object")
    watermark = tree.get("nextBatchWatermarkMs", 0)
    if isinstance(watermark, bool) or not isinstance(watermark, int):
        raise MalformedError("line 2", "nextBatchWatermarkMs is no number")
    return CommitsFile(
        text.version, watermark, bool(tree.get("stateUniqueIds")), _sinks(tree.get("sinkMetadataMap") or {})
    )


def _sinks(tree: Json) -> tuple[SinkMark, ...]:
    if not isinstance(tree, dict) or not all(isinstance(sink, dict) for sink in tree.values()):
        raise MalformedError("line 2", "sinkMetadataMap is no object of objects")
    return tuple(
        SinkMark(name, str(sink.get("providerName", "")), bool(sink.get("isActive", True)))
        for name, sink in tree.items()
    )
