"""The same for asyncio, with the interface of ``confluent_kafka.aio``; needs a confluent-kafka that has it (2.13).

Invariants
    A1  the event loop never waits for a switch, a broker or the route service: what may wait runs in the executor.
    A2  of two messages of one task the first is handed over first, on whichever side of a switch.
    A3  a call that is cancelled while it waits hands nothing over later.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, Self

from confluent_kafka import KafkaException
from confluent_kafka.aio import AIOConsumer as PlainConsumer
from confluent_kafka.aio import _common

from anabranch.model.clock import monotonic
from anabranch.sdk.config import split
from anabranch.sdk.consumer import Consumer
from anabranch.sdk.errors import SwitchingError
from anabranch.sdk.producer import Producer

_SERVE_S = 0.1


class AIOConsumer(PlainConsumer):
    """``confluent_kafka.aio.AIOConsumer`` with ``cluster.code`` in place of ``bootstrap.servers``."""

    def __init__(self, consumer_conf: dict[str, Any], max_workers: int = 100, executor: Executor | None = None) -> None:
        loop = asyncio.get_running_loop()
        _common.wrap_common_callbacks(loop, consumer_conf)
        _common.wrap_conf_callback(loop, consumer_conf, "on_commit")
        self._closed = False
        self._owns_executor = executor is None
        self._consumer = Consumer(consumer_conf)
        self.executor = executor or ThreadPoolExecutor(max_workers=max_workers)

    @property
    def route_age_s(self) -> float:
        """How long ago the service told the route."""
        return self._consumer.route_age_s


class AIOProducer:
    """``confluent_kafka.aio.AIOProducer`` with ``cluster.code`` in place of ``bootstrap.servers``.

    Messages are handed over at once, librdkafka makes batches of them: ``batch_size`` and ``buffer_timeout`` are taken
    and change nothing.  Headers are taken.
    """

    def __init__(
        self,
        producer_conf: dict[str, Any],
        max_workers: int = 4,
        executor: Executor | None = None,
        **_: Any,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        split(producer_conf)
        _common.wrap_common_callbacks(self._loop, producer_conf)
        self._conf = producer_conf
        self._owns_executor = executor is None
        self.executor = executor or ThreadPoolExecutor(max_workers=max(2, max_workers))
        self._producer: Producer | None = None
        self._making, self._in_turn = asyncio.Lock(), asyncio.Lock()
        self._open = 0
        self._serving: asyncio.Task[None] | None = None
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __len__(self) -> int:
        return 0 if self._producer is None or self._is_closed else len(self._producer)

    @property
    def route_age_s(self) -> float:
        """How long ago the service told the route."""
        return 0.0 if self._producer is None else self._producer.route_age_s

    async def produce(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int = -1,
        timestamp: int = 0,
        headers: Any = None,
    ) -> asyncio.Future[Any]:
        """Hand a message over; the future is of its delivery.  Raises what ``Producer.produce`` raises."""
        producer = await self._made()
        delivered: asyncio.Future[Any] = self._loop.create_future()

        def told(error: Any, message: Any) -> None:
            self._loop.call_soon_threadsafe(self._settle, delivered, error, message)

        self._open += 1
        handed = False
        try:
            rest = (value, key, partition, told, timestamp, headers)
            handed = not self._in_turn.locked() and self._handed(producer, topic, *rest)
            if not handed:
                async with self._in_turn:
                    handed = await self._hand_over_slowly(producer, topic, *rest)
        except asyncio.CancelledError:
            delivered.cancel()
            raise
        finally:
            self._open -= not handed  # else by its delivery
        if handed:
            self._serve_on(producer)
        return delivered

    def _serve_on(self, producer: Producer) -> None:
        if self._serving is None or self._serving.done():
            self._serving = self._loop.create_task(self._serve(producer))

    async def poll(self, timeout: float = 0, *args: Any, **kwargs: Any) -> int:
        """As confluent-kafka's."""
        return int(await self._call("poll", timeout, *args, **kwargs))

    async def flush(self, *args: Any, **kwargs: Any) -> Any:
        """As confluent-kafka's."""
        return await self._call("flush", *args, **kwargs)

    async def purge(self, *args: Any, **kwargs: Any) -> Any:
        """As confluent-kafka's."""
        return await self._call("purge", *args, **kwargs)

    async def list_topics(self, *args: Any, **kwargs: Any) -> Any:
        """As confluent-kafka's."""
        return await self._call("list_topics", *args, **kwargs)

    async def cluster_id(self, *args: Any, **kwargs: Any) -> Any:
        """As confluent-kafka's."""
        return await self._call("cluster_id", *args, **kwargs)

    async def init_transactions(self, *args: Any, **kwargs: Any) -> Any:
        """As confluent-kafka's."""
        return await self._call("init_transactions", *args, **kwargs)

    async def begin_transaction(self, *args: Any, **kwargs: Any) -> Any:
        """As confluent-kafka's."""
        return await self._call("begin_transaction", *args, **kwargs)

    async def send_offsets_to_transaction(self, *args: Any, **kwargs: Any) -> Any:
        """As confluent-kafka's."""
        return await self._call("send_offsets_to_transaction", *args, **kwargs)

    async def commit_transaction(self, *args: Any, **kwargs: Any) -> Any:
        """As confluent-kafka's."""
        return await self._call("commit_transaction", *args, **kwargs)

    async def abort_transaction(self, *args: Any, **kwargs: Any) -> Any:
        """As confluent-kafka's."""
        return await self._call("abort_transaction", *args, **kwargs)

    async def set_sasl_credentials(self, *args: Any, **kwargs: Any) -> Any:
        """As confluent-kafka's."""
        return await self._call("set_sasl_credentials", *args, **kwargs)

    async def close(self) -> None:
        """Flush, and be forgotten by the route service."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._producer is not None:
            await self._in_executor(self._producer.close)
        if self._serving is not None:
            self._serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._serving
        if self._owns_executor:
            await self._loop.run_in_executor(None, self.executor.shutdown, True)

    async def _made(self) -> Producer:
        if self._is_closed:
            raise RuntimeError("Producer has been closed")
        if self._producer is None:
            async with self._making:
                if self._producer is None:
                    self._producer = await self._in_executor(lambda: Producer(self._conf))
        return self._producer

    async def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        producer = await self._made()
        return await self._in_executor(lambda: getattr(producer, name)(*args, **kwargs))

    async def _in_executor(self, task: Callable[[], Any]) -> Any:
        return await self._loop.run_in_executor(self.executor, task)

    def _handed(self, producer: Producer, topic: str, *rest: Any) -> bool:
        """Whether it could be handed over without waiting."""
        try:
            return producer.try_produce(topic, *rest)
        except BufferError:
            return False

    async def _hand_over_slowly(self, producer: Producer, topic: str, *rest: Any) -> bool:
        """Hand over in the executor, a short wait at a time: one that is cancelled ends with the wait that it is in.

        Raises CancelledError only where nothing was handed over; else its message is on its way, as it is told.
        """
        value, key, partition, told, timestamp, headers = rest
        until = monotonic() + producer.block_s

        def hand_over() -> bool:
            try:
                producer.produce_within(_SERVE_S, topic, value, key, partition, told, timestamp, headers)
            except SwitchingError as error:
                if monotonic() >= until:
                    raise SwitchingError(producer.block_s, error.why) from None
                return False
            except BufferError:
                producer.poll(_SERVE_S)
                return False
            return True

        while True:
            step = asyncio.ensure_future(self._in_executor(hand_over))
            cancelled: asyncio.CancelledError | None = None
            while not step.done():
                try:
                    await asyncio.wait([step])
                except asyncio.CancelledError as error:
                    cancelled = error
            if cancelled is not None:
                if step.exception() is None and step.result():
                    self._serve_on(producer)
                    self._open += 1  # the caller takes it off, since it never hears of this one
                raise cancelled
            if step.result():
                return True

    def _settle(self, delivered: asyncio.Future[Any], error: Any, message: Any) -> None:
        self._open -= 1
        if delivered.done():
            return
        if error is not None:
            delivered.set_exception(KafkaException(error))
        else:
            delivered.set_result(message)

    async def _serve(self, producer: Producer) -> None:
        """Serve callbacks as long as messages are on their way."""
        while self._open and not self._is_closed:
            await self._in_executor(lambda: producer.poll(_SERVE_S))
