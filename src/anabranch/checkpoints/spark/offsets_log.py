"""offsets/N: where batch N ends in every source, written before it runs.

    v1
    {"batchWatermarkMs":0,"batchTimestampMs":1795224587031,"conf":{...}}
    {"orders":{"0":8,"1":8}}

Version 1 has one line a source, in the order of the query's plan; version 2 (Spark 4.2) has ``id:offset``. ``-`` is no
offset yet. The second line pins the query's configuration: it is kept byte for byte, as is every line that is not
Kafka's. Source: ``OffsetSeqLog.scala``, ``OffsetSeq.scala`` of sql/core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from anabranch.checkpoints.spark.errors import MalformedError
from anabranch.checkpoints.spark.kafka_offset import KafkaOffset, parse_kafka_offset
from anabranch.checkpoints.spark.strict_json import parse
from anabranch.checkpoints.spark.text_file import TextFile, parse_text_file

NEWEST = 2
NO_OFFSET = "-"


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """A source's line: ``text`` exactly as stored (without the id), ``kafka`` where it is Kafka's."""

    source: str
    text: str
    kafka: KafkaOffset | None

    @property
    def is_void(self) -> bool:
        """Whether the source has no offset yet."""
        return self.text == NO_OFFSET


@dataclass(frozen=True, slots=True)
class BatchMetadata:
    """What the second line tells. ``control`` is a batch that is none of data; ``described`` are sources it names."""

    watermark_ms: int
    timestamp_ms: int
    conf: Mapping[str, str] = field(hash=False)
    control: bool
    described: frozenset[str]


@dataclass(frozen=True, slots=True)
class OffsetsFile:
    """One file of the log, whole; ``metadata`` is None where its line is empty, as continuous processing leaves it."""

    version: int
    head: str
    metadata: BatchMetadata | None
    sources: tuple[SourceOffset, ...]
    end: str

    @property
    def by_id(self) -> dict[str, SourceOffset]:
        """The sources by id."""
        return {source.source: source for source in self.sources}

    def emit(self, lines: Sequence[tuple[str, str]] | None = None) -> bytes:
        """The file byte for byte, with other ``(id, text)`` for its sources if given."""
        given = [(source.source, source.text) for source in self.sources] if lines is None else lines
        texts = [f"{name}:{text}" if self.version >= 2 else text for name, text in given]
        return TextFile(self.version, (self.head, *texts), self.end).emit()


def parse_offsets(content: bytes) -> OffsetsFile:
    """Read one file; raises MalformedError and UnknownError. What comes out gives the same bytes again."""
    text = parse_text_file(content, NEWEST)
    if len(text.lines) < 2:
        raise MalformedError(f"line {len(text.lines) + 2}", "is missing: the file was not written to its end")
    head, *lines = text.lines
    sources = []
    for number, line in enumerate(lines):
        at = f"line {number + 3}"
        source, offset = str(number), line
        if text.version >= 2:
            source, colon, offset = line.partition(":")
            if not colon or not source:
                raise MalformedError(at, "has no source id before a colon")
        if not offset:
            raise MalformedError(at, "is empty")
        sources.append(SourceOffset(source, offset, parse_kafka_offset(offset, at)))
    if len({source.source for source in sources}) < len(sources):
        raise MalformedError("the sources", "have an id twice")
    made = OffsetsFile(text.version, head, parse_head(head), tuple(sources), text.end)
    if text.version >= 2 and made.metadata is None:
        raise MalformedError("line 2", "is empty")
    if made.emit() != content:
        raise MalformedError("the file", "is not given back by its own values")
    return made


def parse_head(head: str) -> BatchMetadata | None:
    """Read the second line; raises MalformedError."""
    if not head.strip():
        return None
    tree = parse(head, "line 2")
    if not isinstance(tree, dict):
        raise MalformedError("line 2", "is no object")
    conf = tree.get("conf", {})
    if not isinstance(conf, dict) or not all(isinstance(value, str) for value in conf.values()):
        raise MalformedError("line 2", "conf is not of texts")
    times = [tree.get("batchWatermarkMs", 0), tree.get("batchTimestampMs", 0)]
    if any(isinstance(time, bool) or not isinstance(time, int) for time in times):
        raise MalformedError("line 2", "a time is no number")
    described = tree.get("sourceMetadataInfo") or {}
    if not isinstance(described, dict):
        raise MalformedError("line 2", "sourceMetadataInfo is no object")
    return BatchMetadata(times[0], times[1], conf, bool(tree.get("controlBatchInfo")), frozenset(described))
