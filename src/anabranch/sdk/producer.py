"""A producer that names a cluster by its code and follows the code's route, with confluent-kafka's own interface.

While a switch is under way ``produce`` waits at a record's boundary: what was handed over before is acknowledged on the
old cluster, what comes after goes to the new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from anabranch.sdk.names import renamed
from anabranch.sdk.peers import consumer_of
from anabranch.sdk.quick import SHUT
from anabranch.sdk.reports import CALLBACKS
from anabranch.sdk.writer import RoutedWriter


class Producer(RoutedWriter):
    """``confluent_kafka.Producer`` with ``cluster.code`` in place of ``bootstrap.servers``.

    ``route_age_s`` is how long ago the route was told; ``route_problem`` why the service leads it nowhere, or None.
    """

    def __init__(self, *args: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, quick in (("produce", self._produce), ("poll", self._poll)):
            if getattr(type(self), name) is getattr(Producer, name):
                self.__dict__[name] = quick  # a call of it is one frame, and not two

    def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = -1,
        callback: Any = None,
        on_delivery: Any = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        """As confluent-kafka's.

        While a switch is under way it waits, at most ``route.block.max.ms``, then raises SwitchingError (a
        ``BufferError``, as for a full queue).  Raises MayNotError, RouteProblemError too.
        """
        self._produce(topic, value, key, partition, callback, on_delivery, timestamp, headers)

    def produce_batch(self, topic: str, messages: list[dict[str, Any]], partition: int = -1, **more: Any) -> int:
        """As confluent-kafka's; it waits as ``produce`` does."""
        counted = self._reports.are_counted and isinstance(messages, list)
        counted = counted and all(isinstance(one, dict) for one in messages)
        each = [self._reports.told_each(one) for one in messages] if counted else messages
        more = self._reports.told_each(more)

        def hand_over(inner: Any, there: str) -> int:
            try:
                return int(inner.produce_batch(there, each, partition, **more))
            finally:
                if counted:  # what is wrong with one of them is told in it
                    for one, told in zip(messages, each, strict=True):
                        one |= {name: said for name, said in told.items() if name not in CALLBACKS}

        found: int = self._with_way(topic, hand_over, self.block_s)
        with self._changed:
            self._detours -= found - 1  # one call handed over so many
        return found

    def poll(self, timeout: float | None = None) -> int:
        """As confluent-kafka's; while a switch is under way it has nothing to serve, and waits."""
        return self._poll(-1 if timeout is None else timeout)

    def flush(self, timeout: float | None = None) -> int:
        """As confluent-kafka's."""
        if self.is_switching:
            self._pause_until_acknowledged(timeout)
        inner = self._inner
        if inner is None:
            return 0
        with self._serves():
            return int(inner.flush(*_given(timeout)))

    def purge(self, *args: Any, **kwargs: Any) -> None:
        """As confluent-kafka's."""
        self._usable().purge(*args, **kwargs)

    def init_transactions(self, timeout: float = -1) -> None:
        """As confluent-kafka's; after a switch it is done there as well, by the next ``begin_transaction``."""
        inner = self._usable(timeout)
        inner.init_transactions(*_given(timeout))
        with self._changed:
            self._is_transactional = True
            self._must_init = self._inner is not inner  # it has gone on meanwhile

    def begin_transaction(self) -> None:
        """As confluent-kafka's; while a switch is under way it waits as ``produce`` does."""
        inner = self._enter_transaction()
        try:
            if self._must_init:
                inner.init_transactions(self._settings.block_s)
                self._must_init = False
            inner.begin_transaction()
        except BaseException:
            self._end_transaction(False)
            raise

    def send_offsets_to_transaction(self, positions: list[Any], group_metadata: Any, timeout: float = -1) -> None:
        """As confluent-kafka's; raises what ``Consumer.of_transaction`` does, and then it is to be aborted."""
        consumer, inner = consumer_of(group_metadata), self._transactional(timeout)
        self._linked.add(consumer)
        if consumer is None:  # one that follows no route
            names = self._cell[0][1]
            there = [renamed(one, names.get(one.topic, one.topic)) for one in positions]
        else:
            there = consumer.of_transaction(group_metadata, positions, self._where())
        inner.send_offsets_to_transaction(there, group_metadata, timeout)

    def commit_transaction(self, timeout: float = -1) -> None:
        """As confluent-kafka's."""
        self._transactional(timeout).commit_transaction(*_given(timeout))
        self._end_transaction(True)

    def abort_transaction(self, timeout: float = -1) -> None:
        """As confluent-kafka's."""
        self._transactional(timeout).abort_transaction(*_given(timeout))
        self._end_transaction(False)

    def _transactional(self, timeout: float) -> Any:
        """The client, which a transaction keeps where it is; one that has begun nowhere yet waits for one."""
        return self._usable(timeout) if self._inner is None else self._inner

    def close(self, *_: Any) -> bool:
        """Flush, and be forgotten by the route service."""
        if self._closed:
            return True
        called_back = self._is_called_back()  # then whoever called back has still to flush
        with self._changed:
            self._closed, self._cell[0], self._waits = True, SHUT, True
            self._changed.notify_all()
        self._gate.await_empty(self._settings.block_s)
        try:
            if self._inner is not None and not called_back:
                self._inner.flush()
        finally:  # whatever a callback raises
            self._session.close()
        with self._changed:
            self._inner = self._inner if called_back else None
            self._sent.end()
        return True

    def __len__(self) -> int:
        inner = self._inner
        return 0 if inner is None else len(inner)

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()


def _given(timeout: float | None) -> tuple[float, ...]:
    return () if timeout is None else (timeout,)
