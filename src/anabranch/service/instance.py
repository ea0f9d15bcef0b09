"""One instance of the service: its parts, put together; they live as long as it does."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

import structlog

from anabranch.config.catalogspec import CatalogSpec
from anabranch.errors import ConfigError
from anabranch.model.clock import now_ms
from anabranch.operations.artifacts.desk import ArtifactDesk, ArtifactSettings
from anabranch.routes.switch import Switch
from anabranch.service.access_audit import AccessAudit
from anabranch.service.acting import Acting, lost_problem
from anabranch.service.alerting import Alerting
from anabranch.service.answer_cache import AnswerCache
from anabranch.service.board import Board, SeenCluster
from anabranch.service.carrying import Carrying
from anabranch.service.clusters import ClusterPool
from anabranch.service.hub import ENDING, Hub
from anabranch.service.identity import Identity
from anabranch.service.launching import Launching
from anabranch.service.limits import RateLimit
from anabranch.service.lineage_sending import LineageSending
from anabranch.service.migrating import Migrating
from anabranch.service.migration_desk import ServiceMigrationDesk
from anabranch.service.oidc import Oidc
from anabranch.service.processes import Processes
from anabranch.service.reach import Reach
from anabranch.service.registry import Registry
from anabranch.service.route_desk import ServiceDesk
from anabranch.service.routing import Routing
from anabranch.service.settings import ServeSettings
from anabranch.service.stored import Stored
from anabranch.service.stream_links import StreamLinks
from anabranch.service.stream_specs import catalog_spec_for
from anabranch.service.streaming import Streaming
from anabranch.service.switch_answers import switch_summary
from anabranch.service.switch_steps import SwitchSteps
from anabranch.service.switching import Switching
from anabranch.service.throttling import Throttling
from anabranch.service.token_checks import TokenChecks
from anabranch.service.trials import Trials
from anabranch.service.watching import Watching
from anabranch.store.errors import StoreError

REQUESTS_PER_S, REQUESTS = 100.0, 400
"""Of one account."""
CLIENT_REQUESTS_PER_S, CLIENT_REQUESTS = 2_000.0, 50_000
"""Of one application's account, which may have thousands of clients that come back at once."""

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
        self.processes = Processes(stored, self.hub, self.clusters)
        self.watching = Watching()
        self.routing = Routing(stored, self.clusters, self._routes_changed)
        self.registry = Registry(stored, self.routing, self.watching, name)
        self.switching = Switching(stored, self.routing, self.registry, self.watching, name, self._switched)
        self.desk = ServiceDesk(stored, self.routing, self.registry, self.switching, self.clusters)
        launching = Launching(self.clusters, settings.jobs, self.processes)
        migration_desk = ServiceMigrationDesk(launching, self.desk, settings.hooks)
        access_audit = AccessAudit(stored, self.hub)
        self.carrying = Carrying(stored, self.clusters, access_audit, name, lambda: self.acting.acts)
        self.migrating = Migrating(
            stored, self.clusters, migration_desk, self.hub, lambda: self.acting.acts, self.carrying.over
        )
        kept = settings.artifacts or ArtifactSettings(str((settings.jobs.directory / "artifacts").absolute()))
        self.artifacts = ArtifactDesk(stored.artifacts, kept)
        self.lineage_sending = LineageSending(settings.openlineage)
        self.streaming = Streaming(
            *(stored, self.routing, self.clusters, settings.jobs, kept.place, self.hub),
            lambda: self.acting.acts,
            lineage=self.lineage_sending,
        )
        self.board = Board(self.clusters, self._read)
        self.stream_links = StreamLinks(self.board)
        told = settings.receivers, addresses.public or ""
        looked_at = stored, self.streaming, self.stream_links
        self.alerting = Alerting(*looked_at, self.hub, *told, lambda: self.acting.acts)
        self.trials = Trials(self.clusters, settings.jobs, kept.place, self._granted, settings.previews)
        self.reach = Reach(
            self.clusters,
            settings.jobs,
            settings.roots,
            self.processes.launched,
            self.desk,
            launching,
            self.migrating,
            self.streaming,
            self.trials,
            self.alerting,
            self.artifacts,
            self.stream_links,
        )
        self.answers = AnswerCache(lambda: self.board.version)
        self.acting = Acting(stored, self.reach, self.hub, name)
        self.switch_steps = SwitchSteps(
            self.switching, stored, self.routing, self.registry, self.clusters, lambda: self.acting.acts
        )
        limits = RateLimit(REQUESTS_PER_S, REQUESTS), RateLimit(CLIENT_REQUESTS_PER_S, CLIENT_REQUESTS)
        self.identity = Identity(stored, *limits)
        self.tokens = TokenChecks(self.identity, lambda request: self.origin(request.headers))
        self.oidc = None if settings.oidc is None else Oidc(settings.oidc)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Watch, act, and end in good order."""
        lost = partial(lost_problem, instance=self.name)
        await self.stored.ask(lambda: self.stored.works.lose(lost, 0, now_ms(), self.name))
        with suppress(ConfigError):  # the store has versions of a newer program: everything else goes on
            await self.routing.refresh()
        await self.registry.load()
        await self.acting.begin()
        await self.switching.look()
        every = (
            self.acting.keep(),
            self.board.watch(),
            self.processes.watch(),
            self.routing.watch(),
            self.registry.keep(),
            self.switching.watch(self.switch_steps.go_on),
            self.migrating.watch(),
            self.streaming.watch(),
            self.alerting.watch(),
            self.lineage_sending.watch(),
            self.trials.watch(),
            self.carrying.watch(),
            Throttling(self.stored, self.clusters, lambda: self.acting.acts).watch(),
        )
        tasks = [asyncio.create_task(one) for one in every]
        try:
            yield
        finally:
            await self.switch_steps.end()
            await self.migrating.end()
            await self.streaming.end()
            await self.trials.close()
            await self.acting.end()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            try:
                await self.registry.write()
            except StoreError as error:
                log.warning("clients were not written", why=error.message)
            self.clusters.close()

    def end_streams(self) -> None:
        """Tell all who listen or watch that this instance ends."""
        self.hub.tell(ENDING, {})
        self.watching.end()
        self.trials.end_all()

    def is_named(self, host: str) -> bool:
        """Whether a request's Host header names this service; any name does where it listens for other machines."""
        return not self.addresses.hosts or host.lower() in self.addresses.hosts

    def origin(self, headers: Mapping[str, str]) -> str:
        """The service's own origin, as a browser names it."""
        return self.addresses.public or f"{self.addresses.scheme}://{headers.get('host', '')}"

    async def _granted(self, account: str, author: str, settings: Mapping[str, str]) -> CatalogSpec:
        """What an account may use in a script of an author, with these settings of Spark."""
        return await catalog_spec_for(self.stored, self.routing, self.clusters, settings, account, author)

    async def _routes_changed(self) -> None:
        """Lead clients by the routes of now, and tell listeners that they are others."""
        await self.registry.lead_again()
        newest = self.routing.newest
        if newest is not None:
            self.hub.tell("routes", {"version": newest.version, "author": newest.author, "at_ms": newest.at_ms})

    def _switched(self, switch: Switch) -> None:
        """Tell listeners how far a switch has come."""
        self.hub.tell("switch", switch_summary(switch))

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
