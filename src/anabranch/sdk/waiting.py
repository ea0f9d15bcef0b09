"""Calls of confluent-kafka that wait for the cluster: waited for no longer than it is thought to be there.

Invariant: calls are made one after another, in the order in which they came, by a thread that is kept for them; once
one is waited for no more, those after it are made by another thread.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException

V = TypeVar("V")
_LOOK_S = 0.1


class Waiting:
    """``is_lost`` says whether the cluster is not there any more."""

    def __init__(self, is_lost: Callable[[], bool]) -> None:
        self._is_lost = is_lost
        self._asked: queue.SimpleQueue[Any] | None = None
        self._lock = threading.Lock()

    def answer(self, ask: Callable[[], V]) -> V:
        """What ``ask`` answers; raises what it raises, and KafkaException where the cluster is lost meanwhile."""
        told: queue.SimpleQueue[tuple[V] | BaseException] = queue.SimpleQueue()
        with self._lock:
            asked = self._asked
            if asked is None:
                asked = self._asked = queue.SimpleQueue()
                threading.Thread(target=_make, args=(asked,), name="anabranch-commit", daemon=True).start()
                weakref.finalize(self, asked.put, None)
            asked.put((ask, told))
        while True:
            with contextlib.suppress(queue.Empty):
                found = told.get(timeout=_LOOK_S)
                if isinstance(found, BaseException):
                    raise found
                return found[0]
            if self._is_lost():
                with self._lock:
                    if self._asked is asked:
                        self._asked = None
                        asked.put(None)
                raise KafkaException(KafkaError(KafkaError._WAIT_COORD, "the cluster does not answer"))


def _make(asked: queue.SimpleQueue[Any]) -> None:
    while (one := asked.get()) is not None:
        ask, told = one
        try:
            told.put((ask(),))
        except BaseException as error:
            told.put(error)
        del one, ask, told
