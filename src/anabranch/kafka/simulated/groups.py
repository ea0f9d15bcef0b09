"""The group coordinators of a cluster, as one: members, rebalances, commits, and commits in open transactions.

Source: ``GroupMetadataManager`` and ``OffsetMetadataManager`` in Apache Kafka (group-coordinator), KIP-394 for members
that join twice, KIP-447 for transactional commits, KIP-848.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from anabranch.kafka.simulated.timers import Timer

if TYPE_CHECKING:
    from anabranch.kafka.simulated.cluster import SimulatedCluster

ILLEGAL_GENERATION, INCONSISTENT_PROTOCOL, UNKNOWN_MEMBER, REBALANCING = 22, 23, 25, 27
MEMBER_ID_REQUIRED, NON_EMPTY, NOT_FOUND, UNSTABLE, SUBSCRIBED = 79, 68, 69, 88, 86
FENCED_MEMBER, STALE_EPOCH = 110, 113
READER_SESSION_S = 45.0
UNKNOWN_TOPIC, METADATA_TOO_LARGE, INVALID_SESSION = 3, 12, 26
Place = tuple[str, int]


class CommittedOffset(NamedTuple):
    """A committed position."""

    offset: int
    metadata: str
    leader_epoch: int


class GroupPhase(Enum):
    """A group's state; the values are the protocol's words."""

    EMPTY = "Empty"
    JOINING = "PreparingRebalance"
    SYNCING = "CompletingRebalance"
    STABLE = "Stable"


class JoinResult(NamedTuple):
    """The answer to a member that joins; ``members`` only for the leader: (id, instance, metadata)."""

    code: int
    generation: int = -1
    protocol_type: str = ""
    protocol: str = ""
    leader: str = ""
    member: str = ""
    members: tuple[tuple[str, str | None, bytes], ...] = ()


@dataclass(slots=True)
class ClassicMember:
    """One member of a classic group."""

    id: str
    instance: str | None
    client_id: str
    host: str
    session_ms: int
    rebalance_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    joining: Callable[[JoinResult], None] | None = None
    syncing: Callable[[int, str, str, bytes], None] | None = None
    assignment: bytes = b""
    expiry: Timer | None = None


@dataclass(slots=True)
class ConsumerMember:
    """One member of a group of KIP-848: what it subscribes to, what it owns, what is assigned to it."""

    id: str
    client_id: str
    host: str
    epoch: int = 0
    topics: tuple[str, ...] = ()
    owned: frozenset[Place] = frozenset()
    assigned: frozenset[Place] = frozenset()
    expiry: Timer | None = None


class HeartbeatResult(NamedTuple):
    """The answer to a heartbeat of KIP-848; ``assignment`` is None where nothing changed."""

    code: int
    member: str = ""
    epoch: int = 0
    assignment: frozenset[Place] | None = None


@dataclass(slots=True)
class SimulatedGroup:
    """One group, with members or without."""

    name: str
    protocol_type: str = ""
    protocol: str = ""
    phase: GroupPhase = GroupPhase.EMPTY
    generation: int = 0
    leader: str = ""
    kind: str = "classic"
    members: dict[str, ClassicMember] = field(default_factory=dict)
    consumer_members: dict[str, ConsumerMember] = field(default_factory=dict)
    promised: set[str] = field(default_factory=set)
    commits: dict[Place, CommittedOffset] = field(default_factory=dict)
    pending: dict[int, dict[Place, CommittedOffset]] = field(default_factory=dict)
    rebalance: Timer | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it has no member of either kind."""
        return not self.members and not self.consumer_members

    @property
    def state(self) -> str:
        """The protocol's word for it."""
        if self.kind == "consumer":
            return "Stable" if self.consumer_members else "Empty"
        return self.phase.value


class GroupCoordinator:
    """Every group of a cluster."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._numbers = 0
        self.known: dict[str, SimulatedGroup] = {}

    # -- members ---------------------------------------------------------------------------------------

    def join(
        self,
        name: str,
        member: ClassicMember,
        protocol_type: str,
        must_be_known: bool,
        reply: Callable[[JoinResult], None],
    ) -> None:
        """A consumer joins; it is answered once everybody has, or the rebalance's time is over."""
        group = self.known.setdefault(name, SimulatedGroup(name))
        if group.consumer_members or group.kind == "share":
            reply(JoinResult(INCONSISTENT_PROTOCOL))
            return
        group.kind = "classic"
        if group.members and group.protocol_type != protocol_type:
            reply(JoinResult(INCONSISTENT_PROTOCOL))
            return
        if not member.id:
            self._numbers += 1
            member.id = f"{member.client_id or 'member'}-{self._numbers:08x}"
            if must_be_known:
                group.promised.add(member.id)
                reply(JoinResult(MEMBER_ID_REQUIRED, member=member.id))
                return
        elif member.id not in group.members and member.id not in group.promised:
            reply(JoinResult(UNKNOWN_MEMBER, member=member.id))
            return
        group.promised.discard(member.id)
        before = group.members.get(member.id)
        if before is not None and before.expiry is not None:
            before.expiry.cancel()
        group.protocol_type = protocol_type
        member.joining = reply
        group.members[member.id] = member
        self._expect(group, member)
        if group.phase is not GroupPhase.JOINING:
            self._begin(group)
        self._try_complete(group)

    def sync(
        self,
        name: str,
        generation: int,
        member: str,
        assignments: Mapping[str, bytes],
        reply: Callable[[int, str, str, bytes], None],
    ) -> None:
        """A member asks for its assignment, and the leader brings everybody's."""
        group, found = self._member(name, member)
        if group is None or found is None:
            reply(UNKNOWN_MEMBER, "", "", b"")
            return
        if generation != group.generation:
            reply(ILLEGAL_GENERATION, "", "", b"")
            return
        if group.phase is GroupPhase.JOINING:
            reply(REBALANCING, "", "", b"")
            return
        self._expect(group, found)
        if group.phase is GroupPhase.STABLE:
            reply(0, group.protocol_type, group.protocol, found.assignment)
            return
        found.syncing = reply
        if member == group.leader:
            group.phase = GroupPhase.STABLE
            for one in group.members.values():
                one.assignment = assignments.get(one.id, b"")
                waiting, one.syncing = one.syncing, None
                if waiting is not None:
                    waiting(0, group.protocol_type, group.protocol, one.assignment)

    def heartbeat(self, name: str, generation: int, member: str) -> int:
        """A member is alive; the code tells it to join again."""
        group, found = self._member(name, member)
        if group is None or found is None:
            return UNKNOWN_MEMBER
        self._expect(group, found)
        if generation != group.generation:
            return ILLEGAL_GENERATION
        return REBALANCING if group.phase is GroupPhase.JOINING else 0

    def leave(self, name: str, member: str) -> int:
        """A member goes."""
        group, found = self._member(name, member)
        if group is None or found is None:
            return UNKNOWN_MEMBER
        self._remove(group, found)
        return 0

    def _member(self, name: str, member: str) -> tuple[SimulatedGroup | None, ClassicMember | None]:
        group = self.known.get(name)
        return group, None if group is None else group.members.get(member)

    def _expect(self, group: SimulatedGroup, member: ClassicMember) -> None:
        if member.expiry is not None:
            member.expiry.cancel()

        def expired() -> None:
            if group.members.get(member.id) is member:
                if member.joining is not None:  # who waits for others is alive
                    self._expect(group, member)
                else:
                    self._remove(group, member)

        member.expiry = self._cluster.timers.call_later(member.session_ms / 1000, expired)

    def _remove(self, group: SimulatedGroup, member: ClassicMember) -> None:
        group.members.pop(member.id, None)
        if member.expiry is not None:
            member.expiry.cancel()
        if not group.members:
            group.phase, group.leader, group.generation = GroupPhase.EMPTY, "", group.generation + 1
            group.protocol = ""
            if group.rebalance is not None:
                group.rebalance.cancel()
                group.rebalance = None
            return
        if group.phase is not GroupPhase.JOINING:
            self._begin(group)
        self._try_complete(group)

    def _begin(self, group: SimulatedGroup) -> None:
        group.phase = GroupPhase.JOINING
        for one in group.members.values():
            waiting, one.syncing = one.syncing, None
            if waiting is not None:
                waiting(REBALANCING, "", "", b"")
        longest = max(member.rebalance_ms for member in group.members.values()) / 1000

        def over() -> None:
            for member in list(group.members.values()):
                if member.joining is None:
                    group.members.pop(member.id)
                    if member.expiry is not None:
                        member.expiry.cancel()
            if group.members:
                self._complete(group)
            else:
                group.phase = GroupPhase.EMPTY

        group.rebalance = self._cluster.timers.call_later(longest, over)

    def _try_complete(self, group: SimulatedGroup) -> None:
        if group.phase is GroupPhase.JOINING and all(member.joining is not None for member in group.members.values()):
            self._complete(group)

    def _complete(self, group: SimulatedGroup) -> None:
        if group.rebalance is not None:
            group.rebalance.cancel()
            group.rebalance = None
        members = list(group.members.values())
        offered = [{name for name, _ in member.protocols} for member in members]
        common = set.intersection(*offered)
        group.protocol = next((name for name, _ in members[0].protocols if name in common), "")
        group.leader = members[0].id
        group.generation += 1
        group.phase = GroupPhase.SYNCING
        told = tuple((one.id, one.instance, dict(one.protocols).get(group.protocol, b"")) for one in members)
        for one in members:
            reply, one.joining = one.joining, None
            self._expect(group, one)
            if reply is not None:
                reply(
                    JoinResult(
                        0,
                        group.generation,
                        group.protocol_type,
                        group.protocol,
                        group.leader,
                        one.id,
                        told if one.id == group.leader else (),
                    )
                )

    # -- members of KIP-848 ----------------------------------------------------------------------------

    def beat(self, name: str, reader: ConsumerMember, epoch: int) -> HeartbeatResult:
        """A member joins (epoch 0), goes on, or leaves (-1, -2); partitions wait until their holder gave them up."""
        group = self.known.setdefault(name, SimulatedGroup(name))
        if group.members or group.kind == "share":
            return HeartbeatResult(NOT_FOUND)
        known = group.consumer_members.get(reader.id)
        if epoch < 0:
            if known is None:
                return HeartbeatResult(UNKNOWN_MEMBER)
            self._dismiss(group, known)
            return HeartbeatResult(0, reader.id, epoch)
        if known is None and epoch > 0:
            return HeartbeatResult(UNKNOWN_MEMBER)
        group.kind, group.protocol_type, group.protocol = "consumer", "consumer", "uniform"
        if not reader.id:
            self._numbers += 1
            reader.id = f"reader-{self._numbers:08x}"
        if known is None:
            known = group.consumer_members[reader.id] = reader
            group.generation += 1
        elif epoch > known.epoch:
            return HeartbeatResult(FENCED_MEMBER)
        if reader.topics and reader.topics != known.topics:
            known.topics = reader.topics
            group.generation += 1
        if reader is not known:
            known.owned = reader.owned if epoch else frozenset()
        self._expect_reader(group, known)
        targets = self._targets(group)
        free = targets[known.id] - {
            place for one in group.consumer_members.values() if one is not known for place in one.owned | one.assigned
        }
        before, known.assigned = known.assigned, frozenset(free)
        if known.owned <= free:
            known.epoch = group.generation
        return HeartbeatResult(
            0, known.id, known.epoch, known.assigned if known.assigned != before or not epoch else None
        )

    def _targets(self, group: SimulatedGroup) -> dict[str, frozenset[Place]]:
        targets: dict[str, set[Place]] = {reader: set() for reader in group.consumer_members}
        topics = sorted({topic for one in group.consumer_members.values() for topic in one.topics})
        for topic in topics:
            found = self._cluster.topics.get(topic)
            mine = sorted(one.id for one in group.consumer_members.values() if topic in one.topics)
            for index in range(len(found.partitions) if found is not None else 0):
                targets[mine[index % len(mine)]].add((topic, index))
        return {one: frozenset(places) for one, places in targets.items()}

    def _expect_reader(self, group: SimulatedGroup, reader: ConsumerMember) -> None:
        if reader.expiry is not None:
            reader.expiry.cancel()
        reader.expiry = self._cluster.timers.call_later(READER_SESSION_S, lambda: self._dismiss(group, reader))

    def _dismiss(self, group: SimulatedGroup, reader: ConsumerMember) -> None:
        if group.consumer_members.pop(reader.id, None) is not None:
            group.generation += 1
        if reader.expiry is not None:
            reader.expiry.cancel()

    # -- commits ---------------------------------------------------------------------------------------

    def commit_refusal(self, name: str, generation: int, member: str) -> int:
        """Why somebody may not commit for a group; 0 where it may."""
        group = self.known.get(name)
        if group is None:
            return 0 if generation < 0 else ILLEGAL_GENERATION
        if group.kind == "share":
            return NOT_FOUND
        if generation < 0 and not member and group.is_empty:
            return 0
        if group.consumer_members:
            reader = group.consumer_members.get(member)
            if reader is None:
                return UNKNOWN_MEMBER
            return 0 if generation == reader.epoch else STALE_EPOCH
        if member not in group.members:
            return UNKNOWN_MEMBER
        if generation != group.generation:
            return ILLEGAL_GENERATION
        return 0

    def commit(self, name: str, commits: Mapping[Place, CommittedOffset]) -> dict[Place, int]:
        """Commit what can be; the code of each."""
        longest = self._cluster.number("offset.metadata.max.bytes")
        codes: dict[Place, int] = {}
        for place, one in commits.items():
            topic = self._cluster.topics.get(place[0])
            if topic is None or place[1] >= len(topic.partitions):
                codes[place] = UNKNOWN_TOPIC
            elif len(one.metadata) > longest:
                codes[place] = METADATA_TOO_LARGE
            else:
                codes[place] = 0
                self.known.setdefault(name, SimulatedGroup(name)).commits[place] = one
        return codes

    def commit_later(self, name: str, producer_id: int, commits: Mapping[Place, CommittedOffset]) -> None:
        """Commit when a transaction is committed."""
        group = self.known.setdefault(name, SimulatedGroup(name))
        group.pending.setdefault(producer_id, {}).update(commits)

    def end_transaction(self, name: str, producer_id: int, *, commit: bool) -> None:
        """A transaction ended."""
        group = self.known.get(name)
        found = None if group is None else group.pending.pop(producer_id, None)
        if group is not None and found is not None and commit:
            group.commits.update(found)

    def is_pending(self, name: str, place: Place) -> bool:
        """Whether a commit is waiting for its transaction's end."""
        group = self.known.get(name)
        return group is not None and any(place in one for one in group.pending.values())

    def delete(self, name: str) -> int:
        """Delete a group without members."""
        group = self.known.get(name)
        if group is None:
            return NOT_FOUND
        if not group.is_empty:
            return NON_EMPTY
        del self.known[name]
        return 0

    def forget_topic(self, topic: str) -> None:
        """A topic was deleted, and with it what was committed of it."""
        for group in self.known.values():
            group.commits = {place: one for place, one in group.commits.items() if place[0] != topic}
