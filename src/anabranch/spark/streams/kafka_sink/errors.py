"""What the exactly-once Kafka sink refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anabranch.errors import AnabranchError, ConfigError, ProtocolError, RefusedError


@dataclass(eq=False)
class KafkaSinkOptionError(ConfigError):
    """An option of the sink that is missing, unknown, or holds what it may not."""

    option: str
    problem: str
    fix: str

    _message = "anabranch-kafka: option {option}: {problem}"
    _hint = "{fix}"


@dataclass(eq=False)
class SinkColumnError(ConfigError):
    """A column of the rows that the sink cannot write."""

    column: str
    problem: str

    _message = "anabranch-kafka: column {column}: {problem}"
    _hint = (
        "it takes key, value (string or binary), topic (string), partition (int), timestamp (timestamp) and headers "
        "(array of struct of key string and value binary)"
    )


@dataclass(eq=False)
class SinkRowError(RefusedError):
    """A row that has no place to be written to."""

    problem: str

    _message = "anabranch-kafka: {problem}"


@dataclass(eq=False)
class NotRegisteredError(ConfigError):
    """The format is used without its coordinator."""

    _message = "anabranch-kafka was not registered with this session"
    _hint = "call anabranch.spark.streams.kafka_sink.register(spark) before the query is started"


@dataclass(eq=False)
class NoQueryError(RefusedError):
    """Rows were written by something that is no streaming query."""

    _message = "anabranch-kafka writes the micro-batches of streaming queries, and this is none"
    _hint = "use writeStream; for a batch query use Spark's own format, kafka"


@dataclass(eq=False)
class CoordinatorGoneError(ProtocolError):
    """The driver's coordinator of transactions does not answer."""

    address: str
    reason: str
    retryable: ClassVar[bool] = True

    _message = "the coordinator of the driver at {address} does not answer: {reason}"
    _hint = "executors must reach spark.driver.host at every port; where the driver has ended, start the query again"


@dataclass(eq=False)
class CoordinatorRefusedError(AnabranchError):
    """The driver's coordinator has refused; the words and the advice are those of the error over there."""

    kind: str
    problem: str
    fix: str

    _message = "{problem}"

    @property
    def message(self) -> str:
        return f"{self.problem} ({self.kind})" + (f"; {self.fix}" if self.fix else "")

    @property
    def hint(self) -> str:
        return self.fix


@dataclass(eq=False)
class StaleRunError(RefusedError):
    """A task of an earlier start of the query, or of an earlier batch, which nobody waits for."""

    query: str
    what: str

    _message = "query {query}: {what} is over; what it would write is not wanted"


@dataclass(eq=False)
class LaterBatchError(ProtocolError):
    """A batch came while the one before was not ended."""

    query: str
    batch: int
    open_batch: int

    _message = "query {query}: batch {batch} comes while batch {open_batch} is not ended"
    _hint = "start the query again from its checkpoint"
