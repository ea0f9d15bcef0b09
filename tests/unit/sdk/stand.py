"""A client of the SDK alone: a session that says what a test has it say, and plain clients without brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, ClassVar

import confluent_kafka
import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_INVALID, KafkaError, KafkaException, TopicPartition

from anabranch.model.cluster import Security
from anabranch.model.routing import Route, RouteQuery
from anabranch.sdk import routed
from anabranch.sdk.config import Settings
from anabranch.sdk.following import Following
from anabranch.sdk.session import Standing

Place = tuple[str, int]


@dataclass
class Log:
    """A cluster as its clients see it: what the group has committed, where logs end and start, its id if it tells that.

    ``is_gone`` says that it does not answer, ``unknown`` are topics of which it says nothing.
    """

    committed: dict[Place, int] = field(default_factory=dict)
    ends: dict[Place, int] = field(default_factory=dict)
    starts: dict[Place, int] = field(default_factory=dict)
    id: str = ""
    is_gone: bool = False
    unknown: set[str] = field(default_factory=set)


class PlainConsumer:
    """A consumer that is handed what a test has it read (``comes``); it is assigned nothing by itself."""

    made: ClassVar[list[PlainConsumer]] = []
    logs: ClassVar[dict[str, Log]] = {}

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.log = self.logs.get(str(config.get("bootstrap.servers")), Log())
        self.read: dict[Place, int] = {}
        self.comes: list[Any] = []
        self.assigned: dict[Place, int] = {}
        self.paused: set[Place] = set()
        self.callbacks: dict[str, Any] = {}
        self.subscribed = 0
        self.looked_up: list[str] = []
        if "bootstrap.servers" in config:
            self.made.append(self)

    def subscribe(self, _: list[str], **callbacks: Any) -> None:
        self.callbacks = callbacks
        self.subscribed += 1

    def unsubscribe(self) -> None:
        self.callbacks = {}

    def given(self, *places: Place) -> None:
        """Its group gives it these."""
        self.callbacks["on_assign"](self, [TopicPartition(*place) for place in places])

    def lost(self, *places: Place) -> None:
        """Its session is over, and they are gone with it."""
        self.callbacks["on_lost"](self, [TopicPartition(*place) for place in places])
        self.assigned = {}

    def list_topics(self, topic: str, timeout: float) -> Any:
        self._asks()
        self.looked_up.append(topic)
        return SimpleNamespace(topics={topic: SimpleNamespace(error=None)} if topic not in self.log.unknown else {})

    def _asks(self) -> None:
        if self.log.is_gone:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    def assign(self, partitions: Iterable[Any]) -> None:
        self.assigned = {(one.topic, one.partition): one.offset for one in partitions}

    def incremental_assign(self, partitions: Iterable[Any]) -> None:
        self.assigned |= {(one.topic, one.partition): one.offset for one in partitions}

    def pause(self, partitions: Iterable[Any]) -> None:
        self.paused |= {(one.topic, one.partition) for one in partitions}

    def resume(self, partitions: Iterable[Any]) -> None:
        self.paused -= {(one.topic, one.partition) for one in partitions}

    def position(self, partitions: Iterable[Any]) -> list[Any]:
        return [
            TopicPartition(one.topic, one.partition, self.read.get((one.topic, one.partition), OFFSET_INVALID))
            for one in partitions
        ]

    def committed(self, partitions: Iterable[Any], timeout: float = -1) -> list[Any]:
        self._asks()
        kept = self.log.committed
        return [
            TopicPartition(one.topic, one.partition, kept.get((one.topic, one.partition), OFFSET_INVALID))
            for one in partitions
        ]

    def offsets_for_times(self, partitions: Iterable[Any], timeout: float = -1) -> list[Any]:
        return [
            TopicPartition(
                one.topic,
                one.partition,
                (self.log.starts if one.offset == OFFSET_BEGINNING else self.log.ends).get(
                    (one.topic, one.partition), OFFSET_INVALID
                ),
            )
            for one in partitions
        ]

    def commit(self, offsets: Iterable[Any] | None = None, asynchronous: bool = True, **_: Any) -> list[Any]:
        if offsets is not None:
            self.log.committed |= {(one.topic, one.partition): one.offset for one in offsets}
            return list(offsets)
        self.log.committed |= self.read
        return [TopicPartition(*place, at) for place, at in self.read.items()]

    def cluster_id(self, timeout: float = -1) -> str | None:
        return self.log.id or None

    def memberid(self) -> str:
        return "member"

    def consumer_group_metadata(self) -> object:
        return object()

    def poll(self, timeout: float) -> Any:
        found = self.consume(1, timeout)
        return found[0] if found else None

    def consume(self, number: int, timeout: float) -> list[Any]:
        found, self.comes = self.comes[:number], self.comes[number:]
        self.read |= {(one.topic(), one.partition()): one.offset() + 1 for one in found if one.error() is None}
        return found

    def get_watermark_offsets(self, _: Any, cached: bool) -> None:
        return None

    def seek(self, one: Any) -> None:
        if (one.topic, one.partition) not in self.assigned:
            raise KafkaException(KafkaError(KafkaError._STATE))
        self.read[one.topic, one.partition] = one.offset

    def close(self) -> None:
        pass


class PlainProducer:
    """A producer that keeps what it is handed; ``lost`` acknowledges nothing, and tells it as it is purged.

    ``statistics`` are told by ``poll``.
    """

    made: ClassVar[list[PlainProducer]] = []
    lost: ClassVar[bool] = False

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = dict(config)
        self.topics: list[str] = []
        self.statistics: list[str] = []
        self.waiting: list[Callable[..., None] | None] = []
        self.calls: list[str] = []
        self.offsets: list[Any] = []
        self.made.append(self)

    def produce(self, topic: str, value: Any, key: Any, partition: int, on_delivery: Any, *_: Any) -> None:
        self.topics.append(topic)
        if self.lost:
            self.waiting.append(on_delivery)

    def poll(self, timeout: float) -> int:
        told, self.statistics = self.statistics, []
        for text in told:
            self.config["stats_cb"](text)
        return len(told)

    def purge(self) -> None:
        self.calls.append("purge")

    def flush(self, timeout: float = 0) -> int:
        if "purge" in self.calls:
            self.calls.remove("purge")
            told, self.waiting = self.waiting, []
            for one in told:
                if one is not None:
                    one("purged", None)
        return len(self.waiting)

    def __len__(self) -> int:
        return len(self.waiting)

    def __bool__(self) -> bool:
        return True

    def init_transactions(self, *_: float) -> None:
        self.calls.append("init")

    def begin_transaction(self) -> None:
        self.calls.append("begin")

    def commit_transaction(self, *_: float) -> None:
        self.calls.append("commit")

    def abort_transaction(self, *_: float) -> None:
        self.calls.append("abort")

    def send_offsets_to_transaction(self, positions: list[Any], *_: Any) -> None:
        self.offsets += positions


def route(cluster: str = "old", version: int = 1, *topics: str) -> Route:
    """A route that leads there; a cluster's servers are its name."""
    names = {topic: topic for topic in topics}
    return Route("orders", cluster, (cluster,), Security(), names, True, True, "", version, version)


class Told:
    """In place of a session: the service leads to ``cluster`` and holds by ``hold``; ``ready`` is what it was told.

    ``names`` are what topics are called there, ``servers`` by what it is reached, where that is not its name.
    """

    last: ClassVar[Told]

    def __init__(self, _: Settings, query: RouteQuery, follower: Following) -> None:
        self.query = query
        self.follower = follower
        self.cluster, self.version, self.hold = "old", 1, ""
        self.ready_for: list[tuple[str, dict[str, int], dict[str, int]]] = []
        self.registered = 0
        self.names: dict[str, str] = {}
        self.servers = ""
        Told.last = self

    def leads(self) -> Route:
        """Where it leads now."""
        made = route(self.cluster, self.version, *self.query.topics)
        names = {topic: self.names.get(topic, topic) for topic in made.topics}
        return replace(made, topics=names, bootstrap=(self.servers,) if self.servers else made.bootstrap)

    def tell(self) -> None:
        """Tell the route of now, which no switch has led to."""
        self.version += 1
        self.follower.on_route(self.leads(), self.hold)

    def register(self, query: RouteQuery | None = None) -> Standing:
        self.query = query or self.query
        self.registered += 1
        self.follower.on_route(self.leads(), self.hold)
        return Standing(self.leads(), self.hold, 0.0)

    def prepare(self, switch: str, lost: bool = False) -> None:
        """A switch begins."""
        self.hold = switch
        self.follower.on_prepare(switch, 2**62, lost)

    def go(self, cluster: str, starts: Mapping[str, int] | None = None) -> None:
        """It has been made."""
        switch, self.hold, self.cluster, self.version = self.hold, "", cluster, self.version + 1
        self.follower.on_go(switch, self.leads(), starts or {})

    def cancel(self) -> None:
        """It was given up."""
        switch, self.hold = self.hold, ""
        self.follower.on_cancel(switch, "a test")

    def follow(self) -> None:
        pass

    def ready(
        self, switch: str, positions: Mapping[str, int], uncertain: Mapping[str, int], static_member: str = ""
    ) -> None:
        self.ready_for.append((switch, dict(positions), dict(uncertain)))

    def close(self, timeout_s: float = 0.0) -> None:
        pass


SETTINGS = {"cluster.code": "orders", "route.service": "http://127.0.0.1:1", "route.token.env": "NONE"}


def put_in(patch: pytest.MonkeyPatch) -> None:
    """Have clients be made with these."""
    patch.setattr(routed, "Session", Told)
    patch.setattr(confluent_kafka, "Consumer", PlainConsumer)
    patch.setattr(confluent_kafka, "Producer", PlainProducer)
    patch.setattr(PlainConsumer, "made", [])
    patch.setattr(PlainConsumer, "logs", {"old": Log(), "new": Log()})
    patch.setattr(PlainProducer, "made", [])
    patch.setattr(PlainProducer, "lost", False)
