"""The coordinator of the sink's transactions: a small server in a thread of the driver's Python process.

Each connection is one attempt of a task, or one commit.  A task's connection stays open until it has reported, so
that its
end tells that the attempt has ended, however that came.  Of a query's starts (Spark's run ids) the newest to come is
the one that is served; the earlier ones are refused from then on.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from anabranch.errors import AnabranchError, ProtocolError
from anabranch.model.topics import TopicPartition
from anabranch.spark.streams.kafka_sink import messages
from anabranch.spark.streams.kafka_sink.errors import CoordinatorRefusedError, StaleRunError
from anabranch.spark.streams.kafka_sink.messages import LINE_LIMIT, Address
from anabranch.spark.streams.kafka_sink.session import SinkSession
from anabranch.spark.streams.kafka_sink.settings import SinkSettings
from anabranch.spark.streams.sinks.port import SinkCounts
from anabranch.streams.transaction import BatchTransaction, TaskAttempt, TaskReport

_GREETING_S = 30.0
_LOOK_S = 0.2
_KEEP_ALIVE = {"TCP_KEEPIDLE": 20, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 6}


class SinkCoordinator:
    """Serves the tasks of this driver's queries; made by ``start``."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._runs: dict[str, str] = {}
        self._over: set[str] = set()
        self._sessions: dict[str, asyncio.Task[SinkSession]] = {}
        self._counts: dict[str, SinkCounts] = {}

    def counts_of(self, query: str) -> SinkCounts:
        """What the starts of a query have written by this coordinator."""
        return self._counts.setdefault(query, SinkCounts(bytes=0))

    @classmethod
    def start(cls, bind: str, host: str) -> tuple[Address, SinkCoordinator]:
        """Listen at ``bind``; tasks find it at ``host``.  The thread ends with the process.  Raises OSError."""
        secret = secrets.token_bytes(32)
        port: Future[int] = Future()
        made = cls(secret)
        threading.Thread(
            target=lambda: asyncio.run(made._run(bind, port)), name="anabranch-kafka coordinator", daemon=True
        ).start()
        return Address(host, port.result(), secret), made

    async def _run(self, bind: str, port: Future[int]) -> None:
        try:
            server = await asyncio.start_server(self._serve, bind, 0, limit=LINE_LIMIT)
        except OSError as error:
            port.set_exception(error)
            return
        port.set_result(server.sockets[0].getsockname()[1])
        async with server:
            await server.serve_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        conversation = _Conversation(self)
        _keep_alive(writer.get_extra_info("socket"))
        try:
            if await self._greet(reader, writer):
                while (question := await messages.read(reader)) is not None:
                    answering = asyncio.ensure_future(conversation.answer(question))
                    ended = asyncio.ensure_future(_end_of(reader))
                    await asyncio.wait((answering, ended), return_when=asyncio.FIRST_COMPLETED)
                    if not answering.done():
                        answering.cancel()  # nobody waits for the answer
                        break
                    ended.cancel()
                    await messages.write(writer, answering.result())
        except (OSError, ValueError):
            pass
        finally:
            await conversation.ended()
            writer.close()

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        number = secrets.token_hex(16)
        await messages.write(writer, {"number": number})
        try:
            async with asyncio.timeout(_GREETING_S):
                said = await messages.read(reader)
        except TimeoutError:
            return False
        if said is None or not hmac.compare_digest(
            str(said.get("proof")), messages.proof(self._secret, "client", number)
        ):
            return False
        await messages.write(writer, {"proof": messages.proof(self._secret, "server", str(said.get("number")))})
        return True

    async def session(self, query: str, run: str, settings: SinkSettings | None) -> SinkSession:
        """The session of a start of a query, opened for the first that asks; ``settings`` None asks for an open one.

        Raises StaleRunError for an earlier start, and what opening raises, to everyone who asks.
        """
        if run in self._over or (self._runs.get(query) != run and settings is None):
            raise StaleRunError(query, "this start of it")
        if self._runs.get(query) != run:
            assert settings is not None
            before = self._sessions.get(query)
            if query in self._runs:
                self._over.add(self._runs[query])
            self._runs[query] = run
            self._sessions[query] = asyncio.ensure_future(_open(query, settings, before, self.counts_of(query)))
        return await asyncio.shield(self._sessions[query])


async def _open(
    query: str, settings: SinkSettings, before: asyncio.Task[SinkSession] | None, counts: SinkCounts
) -> SinkSession:
    if before is not None:
        (earlier,) = await asyncio.gather(before, return_exceptions=True)
        if isinstance(earlier, SinkSession):
            await earlier.aborted()
            earlier.close()
    return await SinkSession.open(query, settings, counts)


def _keep_alive(wire: socket.socket) -> None:
    """Have the end of a machine that says nothing any more be noticed within a minute."""
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if (option := getattr(socket, name, None)) is not None:
            wire.setsockopt(socket.IPPROTO_TCP, option, value)


async def _end_of(reader: asyncio.StreamReader) -> None:
    """Return when the other side has ended: it sends nothing while it waits for an answer."""
    while not reader.at_eof():
        await asyncio.sleep(_LOOK_S)


class _Conversation:
    """What one connection asks for."""

    def __init__(self, coordinator: SinkCoordinator) -> None:
        self._coordinator = coordinator
        self._session: SinkSession | None = None
        self._transaction: BatchTransaction | None = None
        self._attempt: TaskAttempt | None = None

    async def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a question; an error is one, too."""
        try:
            match question.get("do"):
                case "begin":
                    return await self._begin(question)
                case "layout":
                    return {"partitions": await self._parts()[0].layout(question["topics"])}
                case "claim":
                    return await self._claim()
                case "turns":
                    return await self._turns(question)
                case "finish":
                    return await self._finish(question)
                case "commit":
                    return await self._commit(question)
                case "abort":
                    return await self._abort(question)
        except AnabranchError as error:
            return messages.refusal(error)
        return messages.refusal(CoordinatorRefusedError("question", "it is not understood", ""))

    async def ended(self) -> None:
        """The connection is over."""
        if self._session is not None and self._transaction is not None and self._attempt is not None:
            await self._session.lose(self._transaction, self._attempt)

    async def _begin(self, question: Mapping[str, Any]) -> dict[str, Any]:
        settings = SinkSettings.from_fields(question["settings"])
        self._session = await self._coordinator.session(question["query"], question["run"], settings)
        self._transaction = self._session.begin(question["batch"])
        self._attempt = TaskAttempt(question["task"], question["execution"])
        return {"due": self._transaction is not None}

    async def _claim(self) -> dict[str, Any]:
        session, transaction, attempt = self._parts()
        report = await session.claim(transaction, attempt)
        producer = session.producer
        numbers = [producer.transactional_id, producer.producer_id, producer.epoch]
        return {"producer": numbers, "report": None if report is None else _fields(report)}

    async def _turns(self, question: Mapping[str, Any]) -> dict[str, Any]:
        session, transaction, attempt = self._parts()
        session.counts.retries += question["retries"]
        await session.give_back(transaction, attempt, _written(question))
        wanted = {TopicPartition(topic, number) for topic, number in question["wanted"]}
        found = await session.turns(transaction, attempt, wanted)
        return {"turns": [[turn.partition.topic, turn.partition.partition, turn.sequence] for turn in found]}

    async def _finish(self, question: Mapping[str, Any]) -> dict[str, Any]:
        session, transaction, attempt = self._parts()
        session.counts.retries += question["retries"]
        await session.give_back(transaction, attempt, _written(question))
        return {"report": _fields(await session.finish(transaction, attempt, question["bytes"]))}

    async def _commit(self, question: Mapping[str, Any]) -> dict[str, Any]:
        session = await self._coordinator.session(question["query"], question["run"], None)
        reports = [TaskReport(*fields) for fields in question["reports"]]
        return {"records": await session.commit(question["batch"], reports)}

    async def _abort(self, question: Mapping[str, Any]) -> dict[str, Any]:
        session = await self._coordinator.session(question["query"], question["run"], None)
        await session.abort(question["batch"])
        return {}

    def _parts(self) -> tuple[SinkSession, BatchTransaction, TaskAttempt]:
        if self._session is None or self._transaction is None or self._attempt is None:
            raise NoTransactionError
        return self._session, self._transaction, self._attempt


class NoTransactionError(ProtocolError):
    """A task asks for what belongs to a transaction before it has begun one."""

    _message = "a task wants to write before it has begun"


def _written(question: Mapping[str, Any]) -> list[tuple[TopicPartition, int]]:
    return [(TopicPartition(topic, number), records) for topic, number, records in question["written"]]


def _fields(report: TaskReport) -> list[Any]:
    return [report.transaction, report.task, report.records]
