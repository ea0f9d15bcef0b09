"""How tasks and commits talk to the driver's coordinator: a line of JSON for each question and each answer.

Whoever connects proves that it has the secret, and the coordinator proves it to them, each for a number that the
other has just drawn; the secret itself is never sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.errors import AnabranchError
from anabranch.spark.streams.kafka_sink.errors import CoordinatorGoneError, CoordinatorRefusedError

LINE_LIMIT = 16 << 20
_OPEN_S = 30.0


@dataclass(frozen=True, slots=True)
class Address:
    """Where the coordinator is, and the secret that opens it; goes to the tasks within the data source's class."""

    host: str
    port: int
    secret: bytes

    def __repr__(self) -> str:
        return f"{self.host}:{self.port}"


def proof(secret: bytes, side: str, number: str) -> str:
    """What only who has the secret can say about a number."""
    return hmac.new(secret, f"{side}:{number}".encode(), hashlib.sha256).hexdigest()


async def read(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next message; None at the end."""
    line = await reader.readline()
    if not line.endswith(b"\n"):
        return None
    found = json.loads(line)
    return found if isinstance(found, dict) else None


async def write(writer: asyncio.StreamWriter, message: Mapping[str, Any]) -> None:
    """Send one."""
    writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
    await writer.drain()


def refusal(error: AnabranchError) -> dict[str, Any]:
    """An error as an answer."""
    return {"error": {"kind": type(error).__name__, "problem": error.message, "fix": error.hint}}


class CoordinatorClient:
    """A connection to the coordinator; its end tells the coordinator that whoever opened it has ended."""

    def __init__(self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._address = address
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, address: Address) -> CoordinatorClient:
        """Connect; raises CoordinatorGoneError."""
        try:
            async with asyncio.timeout(_OPEN_S):
                reader, writer = await asyncio.open_connection(address.host, address.port, limit=LINE_LIMIT)
                greeting = await read(reader)
                if greeting is None:
                    raise CoordinatorGoneError(repr(address), "it says nothing")
                drawn = secrets.token_hex(16)
                await write(writer, {"proof": proof(address.secret, "client", greeting["number"]), "number": drawn})
                answer = await read(reader)
        except (OSError, TimeoutError, ValueError, KeyError) as error:
            raise CoordinatorGoneError(repr(address), str(error) or type(error).__name__) from error
        if answer is None or not hmac.compare_digest(str(answer.get("proof")), proof(address.secret, "server", drawn)):
            writer.close()
            raise CoordinatorGoneError(repr(address), "it is another program, or another start of the driver")
        return cls(address, reader, writer)

    async def ask(self, **question: Any) -> dict[str, Any]:
        """The answer; raises CoordinatorRefusedError, CoordinatorGoneError."""
        try:
            await write(self._writer, question)
            answer = await read(self._reader)
        except (OSError, ValueError) as error:
            raise CoordinatorGoneError(repr(self._address), str(error)) from error
        if answer is None:
            raise CoordinatorGoneError(repr(self._address), "it has closed the connection")
        if (told := answer.get("error")) is not None:
            raise CoordinatorRefusedError(told["kind"], told["problem"], told["fix"])
        return answer

    def close(self) -> None:
        """End it."""
        self._writer.close()
