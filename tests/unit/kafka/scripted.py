"""A cluster whose brokers answer as a test says; requests and answers go through their bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka.protocol.metadata import FindCoordinatorResponse, MetadataResponse

from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.connection import Connection, Transport
from anabranch.kafka.frames import Frame, FramePool
from qa.timeouts import TIMEOUT_S

COORDINATOR, METADATA = 10, 3
_KEYS, _NEWEST = 100, 99


@dataclass(frozen=True)
class Asked:
    """One request as its broker read it; ``node`` None is any broker."""

    request: Any
    node: int | None
    version: int


class ScriptedConnection(Connection):
    """To one broker of a scripted cluster."""

    def __init__(self, cluster: Scripted, node: int | None) -> None:
        super().__init__(cluster.transport, str(node), "h", cluster.pool)
        self.versions = dict.fromkeys(range(_KEYS), (0, _NEWEST)) | dict(cluster.versions)
        self._cluster, self._number = cluster, node

    async def call(self, request: Any, timeout: float = TIMEOUT_S, cap: int | None = None) -> Any:
        version = self.version(request, cap)
        read = type(request).decode(request.encode(version=version), version=version)
        answer = self._cluster.answered(Asked(read, self._number, version))
        return type(answer).decode(answer.encode(version=version), version=version)


class Scripted(Cluster):
    """``answer`` says what a request is answered, or raises; where it says None, broker 1 coordinates all, and the
    metadata has the brokers and no topic."""

    def __init__(
        self,
        answer: Callable[[Asked], Any],
        brokers: tuple[int, ...] = (1,),
        versions: Mapping[int, tuple[int, int]] | None = None,
    ) -> None:
        super().__init__(Transport("scripted", "User:me"), [])
        self.asked: list[Asked] = []
        self.versions = versions or {}
        self._answer, self._brokers = answer, brokers

    def answered(self, asked: Asked) -> Any:
        """What the broker answers."""
        if asked.request.API_KEY not in {COORDINATOR, METADATA}:
            self.asked.append(asked)
        found = self._answer(asked)
        if found is not None:
            return found
        if asked.request.API_KEY == METADATA:
            rows = [
                MetadataResponse.MetadataResponseBroker(node_id=node, host=f"h{node}", port=9092)
                for node in self._brokers
            ]
            return MetadataResponse(brokers=rows, controller_id=self._brokers[0], cluster_id="id")
        assert asked.request.API_KEY == COORDINATOR, asked
        return coordinators(asked, dict.fromkeys(names_in(asked), 1))

    async def connection(self, node: int, purpose: str = "main") -> Connection:
        return ScriptedConnection(self, node)

    async def any_connection(self) -> Connection:
        return ScriptedConnection(self, None)


def names_in(asked: Asked) -> list[str]:
    """The groups whose coordinators are asked for."""
    return list(asked.request.coordinator_keys) if asked.version >= 4 else [asked.request.key]


def coordinators(asked: Asked, told: Mapping[str, int]) -> Any:
    """The answer about coordinators: the broker of each group, or a code below 0."""
    row = FindCoordinatorResponse.Coordinator
    if asked.version >= 4:
        rows = [
            row(key=name, node_id=max(at, -1), host="h", port=9092, error_code=max(-at, 0)) for name, at in told.items()
        ]
        return FindCoordinatorResponse(coordinators=rows)
    ((_, at),) = told.items()
    return FindCoordinatorResponse(node_id=max(at, -1), host="h", port=9092, error_code=max(-at, 0))


def frame_of(answer: Any, version: int) -> Frame:
    """An answer as it arrives: correlation id, no tags, body."""
    body = b"\0\0\0\1\0" + answer.encode(version=version)
    frame = FramePool().take(len(body))
    frame.view[:] = body
    return frame


def answering(*answers: Any, **more: Any) -> Scripted:
    """A cluster that gives these answers one after the other, or raises them; who coordinates is not one of them."""
    left = deque(answers)

    def answer(asked: Asked) -> Any:
        if asked.request.API_KEY in {COORDINATOR, METADATA}:
            return None
        found = left.popleft()
        if isinstance(found, AnabranchError):
            raise found
        return found

    return Scripted(answer, **more)
