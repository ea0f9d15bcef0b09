"""What the Spark job of a comparison is told, as versioned JSON: pinned lanes with their maps, and no secret.

Anyone can write one: the lanes need not be a link's.  ``docs/reference/verify.md`` has the fields.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator, TypeAdapter

from anabranch.config.jobspec import Context, JobFormat
from anabranch.model.topics import TopicPartition
from anabranch.offsets import codec
from anabranch.verify.pins import Pin

VERSION = 1
JOB = "verify"


class ReaderKind(StrEnum):
    """``records``: everything is read as records by Spark's own Kafka source; ``batches``: stored batches first."""

    RECORDS = "records"
    BATCHES = "batches"


class Levels(StrEnum):
    """At which isolation levels the target is read."""

    BOTH = "both"
    COMMITTED = "committed"


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """How to compare; ``fresh`` forgets what was verified before."""

    reader: ReaderKind = ReaderKind.RECORDS
    levels: Levels = Levels.BOTH
    rate_limit: int | None = None
    samples: int = 20
    values: bool = False
    fresh: bool = False


def _pin_fields(pin: Pin) -> dict[str, Any]:
    return {
        "lane": pin.lane,
        "source": {
            "topic": pin.source.topic,
            "partition": pin.source.partition,
            "from": pin.source_from,
            "to": pin.source_to,
            "compacts": pin.source_compacts,
        },
        "target": {
            "topic": pin.target.topic,
            "partition": pin.target.partition,
            "from": pin.target_from,
            "to": pin.target_to,
            "compacts": pin.target_compacts,
        },
        "runs": b64encode(codec.encode(pin.ranges)).decode("ascii"),
    }


def _pin(fields: Mapping[str, Any]) -> Pin:
    source, target = fields["source"], fields["target"]
    return Pin(
        str(fields["lane"]),
        TopicPartition(str(source["topic"]), int(source["partition"])),
        TopicPartition(str(target["topic"]), int(target["partition"])),
        int(source["from"]),
        int(source["to"]),
        int(target["from"]),
        int(target["to"]),
        codec.decode(b64decode(fields["runs"])),
        bool(source["compacts"]),
        bool(target["compacts"]),
    )


@dataclass(frozen=True, slots=True)
class VerifySpec:
    """Compare pinned lanes once.

    ``link`` and ``run`` name the comparison; where ``keep`` is set, results are kept on the target under the link.
    ``since`` tells up to which source and target offset a lane (by key) was verified before: only the rest of its
    pin is read, and of what lies before the chunk ranges ``again``, which differed the last time.  ``doubts`` are
    lanes that cannot be compared, with the reason.  ``rate_limit`` is in bytes a second, both sides together.
    ``samples`` of each kind are named in a lane; ``values`` shows their contents.
    """

    link: str
    run: str
    source: Context
    target: Context
    pins: Annotated[
        tuple[Annotated[Pin, PlainValidator(_pin), PlainSerializer(_pin_fields)], ...], Field(alias="lanes")
    ]
    reader: ReaderKind = ReaderKind.RECORDS
    levels: Levels = Levels.BOTH
    rate_limit: int | None = None
    samples: int = 20
    values: bool = False
    keep: bool = True
    since: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    again: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    doubts: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """The versioned text."""
        return _FORMAT.dump(self)

    @classmethod
    def from_json(cls, text: str) -> VerifySpec:
        """Read the text; raises JobSpecError."""
        return _FORMAT.load(text)


_FORMAT = JobFormat(JOB, VERSION, TypeAdapter(VerifySpec))
