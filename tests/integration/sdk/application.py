"""An application that may be killed at any moment: it writes numbered records of each key, reads them as a group, and
keeps in a file what was acknowledged, what it has read and what it has committed.

``python -m tests.integration.sdk.application CONFIG.json``
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException

from anabranch.sdk import Consumer, Producer, StaleMessageError

STOP = threading.Event()
EACH = 20
"""So many records are read for each commit."""


class Log:
    """Lines that are in the file once they are told."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def tell(self, *words: object) -> None:
        """One line, written in one go."""
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


def write(config: dict[str, Any], topic: str, life: int, keys: str, log: Log) -> None:
    """Records of each key, numbered from the beginning of this life."""

    def delivered(error: Any, message: Any) -> None:
        log.tell("refused" if error is not None else "acknowledged", message.value().decode())

    with Producer({**config, "linger.ms": 2}) as producer:
        for number in itertools.count():
            if STOP.is_set():
                return
            for key in keys:
                producer.produce(topic, f"{key}:{life}:{number}", key, on_delivery=delivered)
            producer.poll(0.01)


def read(config: dict[str, Any], topic: str, log: Log) -> None:
    """Read, and commit now and then what was read; ended, it leaves the rest to others."""
    settings = {"auto.offset.reset": "earliest", "enable.auto.commit": False, "session.timeout.ms": 6000}
    with Consumer({**config, **settings}) as consumer:
        consumer.subscribe([topic])
        last: Any = None
        for number in itertools.count():
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                last = message
                log.tell("read", message.value().decode())
            if last is not None and (STOP.is_set() or number % EACH == 0):
                commit(consumer, last, log)
                last = None
            if STOP.is_set():
                return


def commit(consumer: Consumer, message: Any, log: Log) -> None:
    """Commit a message and all before it in its partition; of before a switch none is."""
    try:
        done = consumer.commit(message=message, asynchronous=False)
    except (StaleMessageError, KafkaException):
        return
    if all(one.error is None for one in done):
        log.tell("committed", message.value().decode())


def main() -> None:
    """Run until SIGTERM, or SIGKILL."""
    signal.signal(signal.SIGTERM, lambda *_: STOP.set())
    given = json.loads(Path(sys.argv[1]).read_text())
    log = Log(Path(given["log"]))
    log.tell("life", given["life"])
    common = given["config"]
    keys = given.get("keys", "abc")
    thread = threading.Thread(target=write, args=(common, given["topic"], given["life"], keys, log))
    thread.start()
    read({**common, "group.id": given["group"]}, given["topic"], log)
    thread.join()


if __name__ == "__main__":
    main()
