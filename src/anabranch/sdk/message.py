"""Messages that know on which cluster they were read, and under which name the application asked for them."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Message


def _hash(one: RoutedMessage) -> int:
    return hash(one.raw)


class RoutedMessage(Message):
    """A message with confluent-kafka's methods; ``raw`` is the one of the client, ``era`` counts its clusters.

    One is made for each message that is read, so it is made in a hurry: of the library's own there is nothing in it.
    """

    __slots__ = ("_topic", "era", "raw")

    def __init__(self, raw: Any, era: int, topic: str | None) -> None:  # without that of the library, on purpose
        self.raw, self.era, self._topic = raw, era, topic

    def topic(self) -> Any:
        return self._topic

    def partition(self) -> Any:
        return self.raw.partition()

    def offset(self) -> Any:
        return self.raw.offset()

    def key(self) -> Any:
        return self.raw.key()

    def value(self) -> Any:
        return self.raw.value()

    def deserialized_key(self) -> Any:
        return self.raw.key()

    def deserialized_value(self) -> Any:
        return self.raw.value()

    def headers(self) -> Any:
        return self.raw.headers()

    def error(self) -> Any:
        return self.raw.error()

    def timestamp(self) -> Any:
        return self.raw.timestamp()

    def latency(self) -> Any:
        return self.raw.latency()

    def leader_epoch(self) -> Any:
        return self.raw.leader_epoch()

    def delivery_count(self) -> Any:
        return self.raw.delivery_count()

    def set_headers(self, headers: Any) -> None:
        self.raw.set_headers(headers)

    def set_key(self, key: Any) -> None:
        self.raw.set_key(key)

    def set_topic(self, topic: Any) -> None:
        self._topic = topic

    def set_value(self, value: Any) -> None:
        self.raw.set_value(value)

    def set_error(self, error: Any) -> None:
        self.raw.set_error(error)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RoutedMessage) or (self.era, self._topic) != (other.era, other._topic):
            return False
        return bool(self.raw == other.raw)

    def __ne__(self, other: object) -> bool:  # the library has one of its own
        return not self == other

    # As confluent-kafka's: later ones compare by contents and have none.
    __hash__: Any = None if Message.__hash__ is None else _hash

    def __len__(self) -> int:
        return len(self.raw)

    def __reduce__(self) -> Any:
        return self.raw.__reduce__()
