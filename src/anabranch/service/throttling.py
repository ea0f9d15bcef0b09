"""Throttling the links of migrations: every few seconds, on the instance that acts, for each migration that copies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import structlog

from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.migration.kept import SEEN, StoredMigration
from anabranch.migration.spec import Migration
from anabranch.migration.throttle import OperatorThrottle, ThrottleLimits
from anabranch.migration.throttle_state import ThrottleState, state_fields, state_of
from anabranch.model.clock import now_ms
from anabranch.operations.migrations.copying import copying_links, operator_in, wish_of
from anabranch.operations.migrations.known import migration_in
from anabranch.operations.migrations.throttling import MigrationThrottle, Throttled
from anabranch.service.clusters import ClusterPool
from anabranch.service.migrating import clusters_of
from anabranch.service.stored import Stored

EVERY_S = 5.0

log = structlog.get_logger()


class Throttling:
    """The throttles of an instance; ``acts`` says whether it is the one that acts."""

    def __init__(self, stored: Stored, clusters: ClusterPool, acts: Callable[[], bool]) -> None:
        self._stored = stored
        self._clusters = clusters
        self._acts = acts
        self._kept: dict[str, tuple[Cluster, Cluster, MigrationThrottle]] = {}

    async def watch(self) -> None:
        """Adjust the rates of all migrations that copy, until this is cancelled."""
        while True:
            await asyncio.sleep(EVERY_S)
            if self._acts():
                with _told_of_failure():
                    await self._round()

    async def _round(self) -> None:
        """Each migration by itself: what fails for one, as where its context is gone, holds up no other one."""
        stored = self._stored.migrations
        found = await self._stored.ask(lambda: [(one, stored.runs_of(one.name)) for one in stored.all()])
        for kept, runs in found:
            with _told_of_failure(migration=kept.name):
                migration = migration_in(kept.document, kept.name)
                if links := copying_links(migration, runs):
                    await self._adjust(kept, migration, links)

    async def _adjust(self, kept: StoredMigration, migration: Migration, links: Mapping[str, str]) -> None:
        source, target = clusters_of(self._clusters, migration)
        before = self._kept.get(kept.name)
        if before is None or before[:2] != (source, target):
            before = self._kept[kept.name] = source, target, MigrationThrottle(source, target)
        seen = kept.throttle.get(SEEN)
        state = state_of(seen["state"]) if seen else ThrottleState()
        limits = ThrottleLimits(migration.limits.source_rate, operator_in(kept.throttle), _of_links(kept, links))
        done = await before[2].adjust(state, limits, list(links), now_ms())
        await self._stored.ask(lambda: self._stored.migrations.slow_down(kept.name, SEEN, _told(done)))


@contextmanager
def _told_of_failure(**whose: str) -> Iterator[None]:
    try:
        yield
    except AnabranchError as error:
        log.warning("links were not throttled", why=error.message, **whose)
    except Exception:
        log.exception("links were not throttled", **whose)


def _of_links(kept: StoredMigration, links: Mapping[str, str]) -> dict[str, OperatorThrottle]:
    """What is wanted of single links, by what is wanted of their waves."""
    return {link: operator_in(kept.throttle, wave) for link, wave in links.items() if kept.throttle.get(wish_of(wave))}


def _told(done: Throttled) -> dict[str, Any]:
    """A round as it is kept and shown."""
    decision = done.decision
    return {
        "at_ms": now_ms(),
        "rates": dict(decision.rates),
        "is_paused": decision.is_paused,
        "reasons": list(decision.reasons),
        "factors": [factor.reason for factor in decision.factors],
        "failures": list(done.failures),
        "state": state_fields(done.state),
    }
