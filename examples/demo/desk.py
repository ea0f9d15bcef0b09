"""An application as it always was: confluent-kafka and bootstrap servers; it writes payments, and a group audits them.

``python -m examples.demo.desk DIRECTORY old=SERVERS new=SERVERS``.  It is stopped and started by a hook of the
migration, as a script of its owner's would; then its clients are closed, and opened on the other cluster.  What it has
done is in ``DIRECTORY/desk.json``.  SIGTERM ends it once all payments are audited.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer

from examples.demo.control import STOPPED, Control
from examples.demo.ledger import Ledger, value_of

TOPIC, GROUP = "payments", "audit"
KEYS = ("desk-north", "desk-south", "desk-east", "desk-west")
TICK_S, EACH = 0.25, 4
"""So often each desk takes so many payments."""
RATE = len(KEYS) * EACH / TICK_S
OVER = threading.Event()
_TICK_S = 0.02
_LEVEL_S = 60.0


class Desk:
    """The application on one cluster after the other."""

    def __init__(self, control: Control, ledger: Ledger, clusters: dict[str, str]) -> None:
        self._control = control
        self._ledger = ledger
        self._clusters = clusters
        self._numbers: Counter[str] = Counter()

    def run(self) -> None:
        """Go where it is told to, until it is over."""
        while not OVER.is_set():
            where = self._control.wanted()
            if where == STOPPED:
                self._control.tell(STOPPED)
                time.sleep(_TICK_S)
            else:
                self._work(where)
        self._ledger.tell(ended=True)

    def _work(self, cluster: str) -> None:
        """Write and read on a cluster, until it is to leave it; then all is acknowledged and committed."""
        servers = {"bootstrap.servers": self._clusters[cluster]}
        producer = Producer({**servers, "enable.idempotence": True, "linger.ms": 20, "client.id": "desk"})
        consumer = Consumer({**servers, "group.id": GROUP, "client.id": "audit", "auto.offset.reset": "earliest"})
        consumer.subscribe([TOPIC])

        def delivered(error: Any, message: Any) -> None:
            self._ledger.acknowledged(message.key(), message.value(), cluster, error)

        self._control.tell(cluster)
        due = time.monotonic()
        while not OVER.is_set() and self._control.wanted() == cluster:
            if time.monotonic() >= due:
                due += TICK_S
                for key in KEYS * EACH:
                    producer.produce(TOPIC, value_of(key, self._numbers[key]), key, on_delivery=delivered)
                    self._numbers[key] += 1
            producer.poll(0)
            self._audit(consumer, _TICK_S)
            self._ledger.tell()
        producer.flush()
        deadline = time.monotonic() + _LEVEL_S
        while OVER.is_set() and not self._ledger.is_level and time.monotonic() < deadline:
            self._audit(consumer, 0.1)
        consumer.close()  # commits what it has given out

    def _audit(self, consumer: Consumer, seconds: float) -> None:
        for message in consumer.consume(100, seconds):
            if message.error() is None:
                self._ledger.read(message.key(), message.value())


def main() -> None:
    """Run until SIGTERM."""
    signal.signal(signal.SIGTERM, lambda *_: OVER.set())
    directory = Path(sys.argv[1])
    clusters = dict(word.split("=", 1) for word in sys.argv[2:])
    Desk(Control(directory), Ledger(directory / "desk.json"), clusters).run()


if __name__ == "__main__":
    main()
