"""The store, asked in threads: a database that is slow holds no request up but its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from anabranch.store.accounts import Accounts
from anabranch.store.alerts import StoredAlerts
from anabranch.store.artifacts import StoredArtifacts
from anabranch.store.audit import Audit
from anabranch.store.catalog import StoredCatalog
from anabranch.store.clients import RouteClients
from anabranch.store.database import Database
from anabranch.store.leases import InstanceLeases
from anabranch.store.lineages import StoredLineages
from anabranch.store.routes import RouteVersions
from anabranch.store.runs import StartedRuns
from anabranch.store.streams import StoredStreams
from anabranch.store.switches import Switches
from anabranch.store.waves import StoredMigrations
from anabranch.store.works import Works

T = TypeVar("T")


class Stored:
    """What one database holds."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.accounts = Accounts(database)
        self.works = Works(database)
        self.audit = Audit(database)
        self.leases = InstanceLeases(database)
        self.runs = StartedRuns(database)
        self.versions = RouteVersions(database)
        self.clients = RouteClients(database)
        self.switches = Switches(database)
        self.migrations = StoredMigrations(database)
        self.streams = StoredStreams(database)
        self.alerts = StoredAlerts(database)
        self.artifacts = StoredArtifacts(database)
        self.catalog = StoredCatalog(database)
        self.lineages = StoredLineages(database)

    async def ask(self, question: Callable[[], T]) -> T:
        """The answer of a call that may wait for the database; raises StoreError."""
        return await asyncio.to_thread(question)
