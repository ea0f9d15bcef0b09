"""What takeovers know of the target as a whole, and how they reach one partition of it."""

from __future__ import annotations

from anabranch.copier.target.partition import TargetPartition
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import BrokerRefusedError, PermissionDeniedError
from anabranch.model.acls import AclOperation
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneAssignment
from anabranch.protocol.guard import DEFAULT_EXPIRATION_MS
from anabranch.state.topics.control import MappedRanges
from anabranch.state.topics.journal import GapRecords, Journal

PURPOSE = "produce"
_LONGEST_EXPIRATION_MS = 2**31 - 1
_AGAIN_MS = 60_000
"""Brokers take another expiration while they run, and rights are taken away: no takeover goes by what is older."""


class TargetAccess:
    """Opens target partitions; ``expiration_ms`` is None while the target does not tell it.

    ``by_coordinator`` says that this principal may not write markers, and fences through transaction coordinators.
    """

    def __init__(self, cluster: Cluster, journal: Journal, gap_records: GapRecords, ranges: MappedRanges) -> None:
        self.cluster = cluster
        self.expiration_ms: int | None = None
        self.longest_expiration_ms = 0
        self._journal = journal
        self._gap_records = gap_records
        self._ranges = ranges
        self._asked_ms = self._rights_asked_ms = 0
        self._by_coordinator: bool | None = None

    @property
    def by_coordinator(self) -> bool:
        """Known once a partition was opened."""
        return bool(self._by_coordinator)

    async def ask_rights(self) -> None:
        """Ask whether this principal may write markers; what was told within a minute still holds."""
        if self._by_coordinator is None or now_ms() - self._rights_asked_ms >= _AGAIN_MS:
            operations = await admin.cluster_operations(self.cluster)
            marking = (AclOperation.ALTER, AclOperation.CLUSTER_ACTION)
            self._by_coordinator = not any(one.allowed_by(operations) for one in marking)
            self._rights_asked_ms = now_ms()

    async def open(self, assignment: LaneAssignment, start: int, purpose: str = PURPOSE) -> TargetPartition:
        """Connect to a partition's leader; ``start`` is where the lane stands, for what may have to be said of it.

        Raises OwnershipEnded, LaneStopped, ClusterError.
        """
        if self._by_coordinator is None:
            await self.ask_rights()
        return await TargetPartition.open(
            self.cluster,
            self._journal,
            self._gap_records,
            self._ranges,
            assignment,
            purpose,
            start,
            self.by_coordinator,
        )

    async def expiration(self, target: TargetPartition) -> int:
        """``producer.id.expiration.ms`` of the target; the longest possible where it is not told."""
        if self.expiration_ms is None or now_ms() - self._asked_ms >= _AGAIN_MS:
            try:
                configs = await admin.broker_configs(self.cluster, target.leader)
            except (PermissionDeniedError, BrokerRefusedError):
                self.expiration_ms = None
                return _LONGEST_EXPIRATION_MS
            entry = configs.get("producer.id.expiration.ms")
            self.expiration_ms = int(entry.value) if entry and entry.value else DEFAULT_EXPIRATION_MS
            self.longest_expiration_ms = max(self.longest_expiration_ms, self.expiration_ms)
            self._asked_ms = now_ms()
        return self.expiration_ms
