"""An application of the SDK: it takes orders, and a group of two consumers bills them.

``python -m examples.demo.shop SERVICE DIRECTORY`` writes what it has done to ``DIRECTORY/shop.json``.  It names a
cluster code and no server; the service leads it.  SIGTERM ends it once all orders are billed.
"""

from __future__ import annotations

import itertools
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from anabranch.sdk import Consumer, Producer
from examples.demo.ledger import Ledger, value_of

CODE, TOPIC, GROUP = "shop", "orders", "billing"
KEYS = tuple(f"store-{number}" for number in range(1, 9))
TICK_S, EACH = 0.1, 2
"""So often each store takes so many orders."""
RATE = len(KEYS) * EACH / TICK_S
CONSUMERS = 2
STOP, LEVEL = threading.Event(), threading.Event()
_LEVEL_S = 60.0


def take_orders(config: dict[str, Any], ledger: Ledger) -> None:
    """Write until it is to stop; a call waits while the application is switched."""
    with Producer({**config, "client.id": "tills", "linger.ms": 20}) as producer:

        def delivered(error: Any, message: Any) -> None:
            route = producer.route
            ledger.acknowledged(message.key(), message.value(), "" if route is None else route.cluster, error)

        for turn in itertools.count():
            if STOP.is_set():
                break
            due = time.monotonic() + TICK_S
            for key, number in itertools.product(KEYS, range(EACH * turn, EACH * (turn + 1))):
                producer.produce(TOPIC, value_of(key, number), key, on_delivery=delivered)
            while (left := due - time.monotonic()) > 0:
                producer.poll(left)
        producer.flush()


def bill(config: dict[str, Any], ledger: Ledger, number: int) -> None:
    """Read until all that was written is read."""
    settings = {"group.id": GROUP, "client.id": f"billing-{number}", "auto.offset.reset": "earliest"}
    with Consumer({**config, **settings, "session.timeout.ms": 6000}) as consumer:
        consumer.subscribe([TOPIC])
        while not LEVEL.is_set():
            for message in consumer.consume(500, 0.1):
                if message.error() is None:
                    ledger.read(message.key(), message.value())


def main() -> None:
    """Run until SIGTERM."""
    signal.signal(signal.SIGTERM, lambda *_: STOP.set())
    service, directory = sys.argv[1], Path(sys.argv[2])
    ledger = Ledger(directory / "shop.json")
    config = {
        "cluster.code": CODE,
        "route.service": service,
        "route.token.file": str(directory / "shop.token"),
        "route.cache.dir": str(directory / "routes"),
        "route.application": "shop",
    }
    writer = threading.Thread(target=take_orders, args=(config, ledger))
    readers = [threading.Thread(target=bill, args=(config, ledger, number)) for number in range(CONSUMERS)]
    for thread in (*readers, writer):
        thread.start()
    while writer.is_alive():
        ledger.tell()
        writer.join(0.2)
    deadline = time.monotonic() + _LEVEL_S
    while not ledger.is_level and time.monotonic() < deadline:
        ledger.tell()
        time.sleep(0.1)
    time.sleep(1.0)  # what was read a second time would come by now
    LEVEL.set()
    for thread in readers:
        thread.join()
    ledger.tell(ended=True)


if __name__ == "__main__":
    main()
