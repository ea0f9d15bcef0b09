"""One instance of the service: its parts, put together; they live as long as it does."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from anabranch.model.clock import now_ms
from anabranch.operations.documents import plain
from anabranch.service.acting import Acting
from anabranch.service.answer_cache import AnswerCache
from anabranch.service.board import Board, SeenCluster
from anabranch.service.clusters import ClusterPool
from anabranch.service.errors import OperationLostError
from anabranch.service.hub import Hub
from anabranch.service.identity import Identity
from anabranch.service.limits import RateLimit
from anabranch.service.oidc import Oidc
from anabranch.service.problems import problem_of
from anabranch.service.processes import Processes
from anabranch.service.reach import Reach
from anabranch.service.settings import ServeSettings
from anabranch.service.stored import Stored

REQUESTS_PER_S, REQUESTS = 100.0, 400
"""Of one account."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Addresses:
    """By which names the service may be asked; a page that a stranger's name server points here is not among them."""

    scheme: str
    hosts: frozenset[str]
    public: str | None


class Instance:
    """The parts of one instance."""

    def __init__(self, settings: ServeSettings, stored: Stored, name: str, addresses: Addresses) -> None:
        self.settings = settings
        self.stored = stored
        self.name = name
        self.addresses = addresses
        self.hub = Hub()
        self.requests: Counter[int] = Counter()
        self.clusters = ClusterPool(settings.contexts)
        self.processes = Processes(stored, self.hub)
        self.reach = Reach(self.clusters, settings.jobs, settings.roots, self.processes.launched)
        self.board = Board(self.clusters, self._read)
        self.answers = AnswerCache(lambda: self.board.version)
        self.acting = Acting(stored, self.reach, self.hub, name)
        self.identity = Identity(stored, RateLimit(REQUESTS_PER_S, REQUESTS))
        self.oidc = None if settings.oidc is None else Oidc(settings.oidc)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Watch, act, and end in good order."""
        lost = plain(problem_of(OperationLostError(self.name)))
        await self.stored.ask(lambda: self.stored.works.lose(lost, 0, now_ms(), self.name))
        tasks = [asyncio.create_task(one) for one in (self.acting.keep(), self.board.watch(), self.processes.watch())]
        try:
            yield
        finally:
            await self.acting.end()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.clusters.close()

    def is_named(self, host: str) -> bool:
        """Whether a request's Host header names this service; any name does where it listens for other machines."""
        return not self.addresses.hosts or host.lower() in self.addresses.hosts

    def origin(self, headers: Mapping[str, str]) -> str:
        """The service's own origin, as a browser names it."""
        return self.addresses.public or f"{self.addresses.scheme}://{headers.get('host', '')}"

    def _read(self, cluster: SeenCluster) -> None:
        """Tell listeners that a cluster's links were read: who shows them asks again."""
        self.hub.tell(
            "cluster",
            {
                "name": cluster.name,
                "read_at_ms": cluster.read_at_ms,
                "problem": None if cluster.problem is None else cluster.problem.detail,
                "links": sorted(cluster.links),
            },
        )
