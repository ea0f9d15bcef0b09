"""What should come of clicks, by plain Python over what another client reads, and what is there in either sink."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from qa.page_views.script import LATE_MINUTES, MINUTES, TABLE
from qa.timeouts import TIMEOUT_S

Place = tuple[datetime, str]
"""A window's begin, and a page."""
Numbers = tuple[int, int]
"""Page views, and unique visitors."""
_WINDOW = timedelta(minutes=MINUTES)
_LATE = timedelta(minutes=LATE_MINUTES)


def committed(config: Mapping[str, Any], topic: str) -> Iterator[Mapping[str, Any]]:
    """The JSON of each record that a reader of committed records finds in a topic now."""
    mine = {"group.id": "counts", "enable.auto.commit": False, "enable.partition.eof": True, "log_level": 0}
    consumer = Consumer({**config, **mine, "isolation.level": "read_committed"})
    try:
        left = set(consumer.list_topics(topic, TIMEOUT_S).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in left])
        while left:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"nothing more from partitions {left} of {topic}"
            error = message.error()
            if error is None:
                yield json.loads(message.value() or b"null")
            elif error.name() == "_PARTITION_EOF":
                left.discard(int(message.partition() or 0))
            elif not error.retriable() and error.name() not in ("_TRANSPORT", "_ALL_BROKERS_DOWN"):
                raise KafkaException(error)
    finally:
        consumer.close()


class BatchCounts:
    """The same counts over all clicks of a topic at once."""

    def __init__(self, config: Mapping[str, Any], topic: str) -> None:
        users: dict[Place, Counter[int]] = defaultdict(Counter)
        self.clicks, self.newest = 0, datetime.min.replace(tzinfo=UTC)
        for click in committed(config, topic):
            at = datetime.fromisoformat(click["at"])
            users[_begin(at), click["page"]][click["user_id"]] += 1
            self.newest = max(self.newest, at)
            self.clicks += 1
        self.windows: dict[Place, Numbers] = {place: (one.total(), len(one)) for place, one in users.items()}

    @property
    def final(self) -> Counter[tuple[Place, Numbers]]:
        """Those windows to which no click comes any more."""
        over = self.newest - _LATE - _WINDOW
        return Counter({(place, numbers): 1 for place, numbers in self.windows.items() if place[0] <= over})


def in_database(uri: str) -> dict[Place, Numbers]:
    """The rows of the table."""
    with psycopg.connect(uri) as connection:
        rows = connection.execute(f"SELECT since AT TIME ZONE 'UTC', page, pv, uv FROM {TABLE}").fetchall()
    return {(since.replace(tzinfo=UTC), page): (pv, uv) for since, page, pv, uv in rows}


def in_topic(config: Mapping[str, Any], topic: str) -> Counter[tuple[Place, Numbers]]:
    """The records of the topic of final windows, each as often as it is there."""
    return Counter(
        ((datetime.fromisoformat(row["since"]).astimezone(UTC), row["page"]), (row["pv"], row["uv"]))
        for row in committed(config, topic)
    )


def difference(found: Mapping[Place, Numbers], wanted: Mapping[Place, Numbers], most: int = 5) -> list[str]:
    """Where two differ, in words; nothing where they are equal."""
    places = sorted(place for place in found.keys() | wanted.keys() if found.get(place) != wanted.get(place))
    told = [
        f"{since:%d %H:%M} {page}: {found.get((since, page))}, not {wanted.get((since, page))}"
        for since, page in places
    ]
    return told[:most] + ([f"and {len(told) - most} more"] if len(told) > most else [])


def _begin(at: datetime) -> datetime:
    return at - (at - datetime.fromtimestamp(0, UTC)) % _WINDOW
