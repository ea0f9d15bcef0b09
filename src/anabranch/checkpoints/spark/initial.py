"""sources/<i or name>/0: where a Kafka source began, which a query reads until its first batch has its own offsets.

``\\0v1\\n{"orders":{"0":0,"1":0}}``: the NUL is for Spark 2.1, which wrote neither it nor a version. Other sources keep
files of other kinds there; only a Kafka source's own is read. Source: ``KafkaSourceInitialOffsetWriter.scala``.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.checkpoints.spark.errors import MalformedError
from anabranch.checkpoints.spark.kafka_offset import KafkaOffset, parse_kafka_offset
from anabranch.checkpoints.spark.text_file import parse_text_file


@dataclass(frozen=True, slots=True)
class InitialFile:
    """The file, whole; ``head`` is all that precedes the offsets."""

    head: bytes
    text: str
    kafka: KafkaOffset
    end: bytes

    def emit(self, text: str | None = None) -> bytes:
        """The file byte for byte, with another offset if given."""
        return self.head + (self.text if text is None else text).encode() + self.end


def new_initial_file(text: str) -> bytes:
    """The file as every Spark since 2.1 writes it."""
    return b"\0v1\n" + text.encode()


def parse_if_kafka(content: bytes) -> InitialFile | None:
    """Read the file of a source that may be another's; only Kafka's begins with a NUL. Raises as parse_initial."""
    return parse_initial(content) if content[:1] == b"\0" else None


def parse_initial(content: bytes) -> InitialFile:
    """Read the file of a Kafka source; raises MalformedError and UnknownError."""
    nul = content[:1] == b"\0"
    rest = content[1:] if nul else content
    end = b"\n" if rest.endswith(b"\n") else b""
    if rest[:1] == b"v":
        lines = parse_text_file(rest, 1).lines
        if len(lines) != 1:
            raise MalformedError(f"line {len(lines) + 1}", "the file has two lines")
        head, text = content[: content.index(b"\n") + 1], lines[0]
    else:
        head = content[:1] if nul else b""
        try:
            text = rest[: len(rest) - len(end)].decode()
        except UnicodeDecodeError as error:
            raise MalformedError(f"byte {error.start + nul}", "is not UTF-8") from None
    kafka = parse_kafka_offset(text, "the offsets")
    if kafka is None:
        raise MalformedError("the offsets", "are not of Kafka, as those of the source's batches are")
    made = InitialFile(head, text, kafka, end)
    if made.emit() != content:
        raise MalformedError("the file", "is not given back by its own values")
    return made
