"""The options of the exactly-once Kafka sink."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.config.jobspec import context_of, entry_of
from anabranch.errors import AnabranchError
from anabranch.model.cluster import ClusterContext
from anabranch.records.header import Codec
from anabranch.spark.streams.kafka_sink.errors import KafkaSinkOptionError
from anabranch.spark.streams.kafka_sink.security_options import NAMED, context_of_options

FORMAT = "anabranch-kafka"
TIMEOUT_MS = 600_000
"""How long a batch's transaction may be open.  A broker allows 15 minutes unless it is told otherwise."""
_OWN = frozenset({"topic", "context", "transactional.id", "first.batch"})
_SPARKS = frozenset({"checkpointlocation", "path", "queryname"})
_PRODUCERS = frozenset(
    {"kafka.compression.type", "kafka.transaction.timeout.ms", "kafka.acks", "kafka.enable.idempotence"}
)


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """Where and how a sink writes.

    ``topic`` is None where a column names it, ``transactional_id`` where the query's own id makes it.
    ``first_batch`` is the batch of which a person says that it was not written yet.
    """

    context: ClusterContext
    topic: str | None = None
    codec: Codec = Codec.NONE
    transactional_id: str | None = None
    timeout_ms: int = TIMEOUT_MS
    first_batch: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SinkSettings:
        """Read the options of ``writeStream``; raises KafkaSinkOptionError."""
        found = {name.lower(): value for name, value in options.items()}
        known = _OWN | _PRODUCERS | NAMED
        for name in found:
            if name not in known | _SPARKS:
                raise KafkaSinkOptionError(name, "unknown", f"it knows {', '.join(sorted(known))}")
        for name, wanted in (("kafka.acks", ("all", "-1")), ("kafka.enable.idempotence", ("true",))):
            if found.get(name, wanted[0]) not in wanted:
                raise KafkaSinkOptionError(
                    name, f"{found[name]!r} loses records", f"leave it out: it is always {wanted[0]}"
                )
        timeout = found.get("kafka.transaction.timeout.ms")
        first = found.get("first.batch")
        return cls(
            _context(found),
            found.get("topic") or None,
            _codec(found.get("kafka.compression.type", "none")),
            found.get("transactional.id") or None,
            TIMEOUT_MS if timeout is None else _number("kafka.transaction.timeout.ms", timeout, 1),
            None if first is None else _number("first.batch", first, 0),
        )

    def id_of(self, query: str) -> str:
        """The transactional id, which is the name of the sink's group as well."""
        return self.transactional_id or f"anabranch-sink-{query}"

    def to_fields(self) -> dict[str, Any]:
        """As JSON, for the coordinator; ``from_fields`` reads it."""
        return {
            "context": entry_of(self.context),
            "topic": self.topic,
            "codec": int(self.codec),
            "transactional_id": self.transactional_id,
            "timeout_ms": self.timeout_ms,
            "first_batch": self.first_batch,
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> SinkSettings:
        """What ``to_fields`` wrote."""
        more = {**fields, "context": context_of(fields["context"]), "codec": Codec(fields["codec"])}
        return cls(**more)


def _context(options: Mapping[str, str]) -> ClusterContext:
    text = options.get("context")
    if text is None:
        return context_of_options(options)
    if "kafka.bootstrap.servers" in options:
        raise KafkaSinkOptionError("context", "kafka.bootstrap.servers is given too", "give one of them")
    try:
        return context_of(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise KafkaSinkOptionError(
            "context", f"it is no JSON of a context: {error}", "give name, bootstrap, security"
        ) from error
    except AnabranchError as error:
        raise KafkaSinkOptionError("context", error.message, error.hint) from error


def _codec(name: str) -> Codec:
    try:
        return Codec[name.upper()]
    except KeyError:
        names = ", ".join(codec.name.lower() for codec in Codec)
        raise KafkaSinkOptionError("kafka.compression.type", f"{name!r} is none", f"one of {names}") from None


def _number(option: str, text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise KafkaSinkOptionError(option, f"{text!r} is no whole number from {least} on", "write it in digits")
    return number
