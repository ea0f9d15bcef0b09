"""A partition on its brokers: who leads it, who follows, what is replicated, who waits for that.

Source: ``Partition.scala``, ``ReplicaFetcherThread`` and KIP-101/279 for the truncation of followers.

Invariants
    P1  what lies below ``high_watermark`` is on every replica in sync, and is not lost by an election among those.
    P2  a leader's epoch is higher than that of every leader before it.
    P3  a follower's log is a prefix of its leader's, once it has followed it: it truncates what the leader has not.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from anabranch.kafka.simulated.log import SimulatedLog
from anabranch.kafka.simulated.settings import TopicSettings

NOT_LEADER, TIMED_OUT, TOO_FEW, TOO_FEW_AFTER = 6, 7, 19, 20
FENCED_EPOCH, UNKNOWN_EPOCH, OFFLINE = 74, 75, 5
NO_LEADER = -1


@dataclass(slots=True)
class Replica:
    """One broker's copy; ``caught_up_at`` is when it last had all that its leader had."""

    log: SimulatedLog
    high_watermark: int = 0
    caught_up_at: float = 0.0


@dataclass(slots=True)
class ReplicationWait:
    """Somebody who waits until ``end`` is replicated; is told 0, or why it is not known to be."""

    end: int
    tell: Callable[[int], None]
    is_over: bool = False

    def over(self, code: int) -> None:
        """Tell, once."""
        if not self.is_over:
            self.is_over = True
            self.tell(code)


@dataclass(slots=True)
class SimulatedPartition:
    """One partition; ``changed`` is called where there may be more to read."""

    topic: str
    topic_id: uuid.UUID
    index: int
    settings: TopicSettings
    assigned: list[int]
    replicas: dict[int, Replica] = field(default_factory=dict)
    leader: int = NO_LEADER
    leader_epoch: int = 0
    isr: list[int] = field(default_factory=list)
    waiting: list[ReplicationWait] = field(default_factory=list)
    watchers: list[Callable[[], None]] = field(default_factory=list)
    is_gone: bool = False

    @property
    def led(self) -> Replica:
        """The leader's replica; only where there is a leader."""
        return self.replicas[self.leader]

    @property
    def high_watermark(self) -> int:
        """Up to where the leader's log is replicated."""
        return self.led.high_watermark

    def stable_end(self, replica: Replica) -> int:
        """Up to where a read-committed consumer may read."""
        unstable = replica.log.unstable(replica.high_watermark)
        return replica.high_watermark if unstable is None else min(unstable, replica.high_watermark)

    def epoch_refusal(self, current: int) -> int:
        """The code for a request that names a leader epoch (-1: none) which is not the current one."""
        if current < 0 or current == self.leader_epoch:
            return 0
        return FENCED_EPOCH if current < self.leader_epoch else UNKNOWN_EPOCH

    # -- replication -----------------------------------------------------------------------------------

    def lacks_replicas(self) -> bool:
        """Whether too few replicas are in sync for an append that all of them must have."""
        return len(self.isr) < min(self.settings.number("min.insync.replicas"), len(self.assigned))

    def follow(self, node: int, now: float, now_ms: int) -> bool:
        """A follower fetches once: truncates what its leader has not, takes what it lacks; True where it got something.

        The high watermark that it is told is the one from before this fetch.
        """
        leader, mine = self.led, self.replicas[node]
        before = leader.high_watermark
        got = self._truncate_to_leader(mine)
        if mine.log.end < leader.log.start:
            mine.log.truncate(mine.log.start)
            mine.log.start = mine.log.end = leader.log.start
            mine.log.epochs = []
        for stored in leader.log.read(mine.log.end, leader.log.end, 1 << 30):
            if stored.header.base_offset >= mine.log.end:
                mine.log.end = stored.header.base_offset  # after a gap that compaction left
                mine.log.put(stored, now_ms)
                got = True
        mine.log.end = max(mine.log.end, leader.log.end)
        mine.log.start = max(mine.log.start, min(leader.log.start, mine.log.end))
        mine.high_watermark = min(before, mine.log.end)
        mine.caught_up_at = now
        if node not in self.isr and mine.log.end >= leader.high_watermark:
            self.isr.append(node)
        self.advance()
        return got

    def _truncate_to_leader(self, mine: Replica) -> bool:
        leader = self.led.log
        while mine.log.end > 0 and mine.log.epochs:
            epoch = mine.log.epochs[-1][0]
            found, end = leader.epoch_end(epoch, self.leader_epoch)
            if found < 0:
                mine.log.truncate(leader.start)
                return True
            ours = mine.log.epoch_end(found, self.leader_epoch + 1)[1] if found != epoch else mine.log.end
            keep = min(end, ours)
            if keep >= mine.log.end:
                return False
            mine.log.truncate(keep)
            if found == epoch:
                return True
        return False

    def advance(self) -> None:
        """The high watermark is the least end of the replicas in sync; those who waited for it are told."""
        if self.leader == NO_LEADER:
            return
        leader = self.led
        end = min((self.replicas[node].log.end for node in self.isr), default=leader.log.end)
        leader.high_watermark = max(leader.high_watermark, end)
        for one in self.waiting:
            if one.end <= leader.high_watermark:
                one.over(TOO_FEW_AFTER if self.lacks_replicas() else 0)
        self.waiting = [one for one in self.waiting if not one.is_over]
        self.wake()

    def wake(self) -> None:
        """Tell whoever polls this partition to look again."""
        watchers, self.watchers = self.watchers, []
        for watcher in watchers:
            watcher()

    # -- leaders ---------------------------------------------------------------------------------------

    def lead(self, node: int, now: float, *, unclean: bool = False) -> None:
        """Make a broker the leader, in a new epoch; an unclean one makes its own log the only one in sync."""
        self.leader, self.leader_epoch = node, self.leader_epoch + 1
        self.isr = [node] if unclean else [node, *(one for one in self.isr if one != node)]
        replica = self.led
        replica.high_watermark = min(replica.high_watermark, replica.log.end)
        if unclean:
            replica.high_watermark = replica.log.end
        replica.log.began(self.leader_epoch)
        for one in self.replicas.values():
            one.caught_up_at = now
        self.fail_waiting(NOT_LEADER)
        self.advance()

    def lose_leader(self) -> None:
        """Nobody leads any more."""
        self.leader = NO_LEADER
        self.leader_epoch += 1
        self.fail_waiting(NOT_LEADER)
        self.wake()

    def fail_waiting(self, code: int) -> None:
        """Tell everybody who waits for replication that it is not known."""
        waiting, self.waiting = self.waiting, []
        for one in waiting:
            one.over(code)


@dataclass(slots=True)
class SimulatedTopic:
    """A topic; ``known`` says from when on each broker knows it."""

    name: str
    id: uuid.UUID
    settings: TopicSettings
    partitions: list[SimulatedPartition]
    known: dict[int, float]
