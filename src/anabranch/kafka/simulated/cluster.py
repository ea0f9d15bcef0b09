"""A cluster in memory: its brokers, its topics, its controller, and what its brokers do by themselves.

The controller is always there and knows everything at once; brokers learn of new topics later, and one that was
stopped goes on for a moment with what it knew.  Followers fetch by themselves, a little after their leader has more.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from anabranch.kafka.simulated import cleaner
from anabranch.kafka.simulated.access import Authorizer
from anabranch.kafka.simulated.apis import APIS
from anabranch.kafka.simulated.broker import BrokerPower, SimulatedBroker
from anabranch.kafka.simulated.groups import GroupCoordinator
from anabranch.kafka.simulated.log import SimulatedLog
from anabranch.kafka.simulated.partition import NO_LEADER, Replica, SimulatedPartition, SimulatedTopic
from anabranch.kafka.simulated.settings import BROKER_DEFAULTS, TopicSettings
from anabranch.kafka.simulated.timers import Timers
from anabranch.kafka.simulated.transactions import TransactionCoordinator
from anabranch.kafka.simulated.versions import VERSIONS
from anabranch.model.cluster import SaslMechanism
from anabranch.model.quotas import QuotaEntity

INTERNAL = frozenset({"__consumer_offsets", "__transaction_state"})


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """What a cluster is made of; ``addresses`` has a host and port for each broker, numbered from 1.

    ``users`` are names and passwords, and make the clients' listener one of SASL; with ``authorizer`` only ``admin``
    may do what no rule allows.  ``settle_s`` is how long brokers need at most to learn of a new topic, ``lag_s`` how
    long a follower needs at most until it fetches what its leader has.  ``scram`` are the mechanisms for which the
    cluster keeps credentials of its users.
    """

    name: str
    version: str = "4.3.1"
    addresses: Sequence[tuple[str, int]] = (("broker-1", 9092),)
    overrides: Mapping[str, str] = field(default_factory=dict)
    users: Mapping[str, str] = field(default_factory=dict)
    authorizer: bool = False
    settle_s: float = 0.02
    lag_s: float = 0.004
    seed: int = 0
    scram: Sequence[SaslMechanism] = ()


class SimulatedCluster:
    """Brokers, topics, coordinators; everything happens on the thread of its timers."""

    def __init__(self, timers: Timers, plan: ClusterPlan) -> None:
        self.plan = plan
        self.timers = timers
        self.version = VERSIONS[plan.version]
        self.handlers = APIS
        self.chance = random.Random(plan.seed)
        self.settings = {**BROKER_DEFAULTS, **plan.overrides}
        self.id = f"simulated-{plan.name}"
        self.topics: dict[str, SimulatedTopic] = {}
        self.by_id: dict[uuid.UUID, SimulatedTopic] = {}
        self.brokers = {
            number: SimulatedBroker(self, number, *address) for number, address in enumerate(plan.addresses, start=1)
        }
        self.access = Authorizer(plan.users, plan.authorizer, plan.scram)
        self.quotas: dict[QuotaEntity, dict[str, float]] = {}
        self.transactions = TransactionCoordinator(self)
        self.groups = GroupCoordinator(self)
        self.unanswered: list[str] = []
        self.throttles: list[int] = []
        """Milliseconds with which the next fetches are answered, and nothing else: as where a quota is exceeded."""
        self.produce_throttle_ms = 0
        """Milliseconds that each Produce answer tells that its client is throttled."""
        self._following: set[tuple[uuid.UUID, int, int]] = set()
        self._fencing: dict[int, int] = {}
        self._every("producer.id.expiration.check.interval.ms", self._expire)
        self._every("log.retention.check.interval.ms", self._retain)
        self._every("log.cleaner.backoff.ms", self._clean)
        self._every("replica.lag.time.max.ms", self._shrink, 0.5)
        self._every("transaction.abort.timed.out.transaction.cleanup.interval.ms", self.transactions.time_out)

    # -- what it does by itself ------------------------------------------------------------------------

    def number(self, name: str) -> int:
        """A broker's setting that is a number."""
        return int(self.settings[name])

    def _every(self, setting: str, what: Callable[[], None], share: float = 1.0) -> None:
        def again() -> None:
            what()
            self.timers.call_later(self.number(setting) / 1000 * share, again)

        self.timers.call_later(self.number(setting) / 1000 * share, again)

    def partitions(self) -> Iterable[SimulatedPartition]:
        """Every partition of every topic."""
        return (partition for topic in self.topics.values() for partition in topic.partitions)

    def _replicas(self) -> Iterable[tuple[SimulatedPartition, Replica]]:
        for partition in self.partitions():
            for node, replica in partition.replicas.items():
                if self.brokers[node].power is BrokerPower.ON:
                    yield partition, replica

    def _expire(self) -> None:
        expiration, now = self.number("producer.id.expiration.ms"), self.timers.wall_ms()
        for _, replica in self._replicas():
            replica.log.producers.expire(now, expiration)

    def _retain(self) -> None:
        now = self.timers.wall_ms()
        for _, replica in self._replicas():
            replica.log.retain(now, replica.high_watermark)

    def _clean(self) -> None:
        now = self.timers.wall_ms()
        for _, replica in self._replicas():
            cleaner.clean(replica.log, now, replica.high_watermark)

    def _shrink(self) -> None:
        longest, now = self.number("replica.lag.time.max.ms") / 1000, self.timers.monotonic()
        for partition in self.partitions():
            if partition.leader == NO_LEADER or self.brokers[partition.leader].power is not BrokerPower.ON:
                continue
            for node in [one for one in partition.isr if one != partition.leader]:
                replica = partition.replicas[node]
                behind = replica.log.end < partition.led.log.end or self.brokers[node].power is not BrokerPower.ON
                if behind and now - replica.caught_up_at > longest:
                    partition.isr.remove(node)
                    partition.advance()

    # -- topics ----------------------------------------------------------------------------------------

    def create(
        self, name: str, partitions: int | Sequence[Sequence[int]], replicas: int, configs: Mapping[str, str]
    ) -> SimulatedTopic:
        """Make a topic; ``partitions`` is how many, or the brokers of each."""
        nodes = sorted(self.brokers)
        if isinstance(partitions, int):
            first = self.chance.randrange(len(nodes))
            places = [
                [nodes[(first + number + at) % len(nodes)] for at in range(replicas)] for number in range(partitions)
            ]
        else:
            places = [list(replicas) for replicas in partitions]
        settings = TopicSettings(self.version, self.settings, configs)
        made = SimulatedTopic(name, uuid.UUID(int=self.chance.getrandbits(128), version=4), settings, [], {})
        now = self.timers.monotonic()
        made.known = {node: now + self.chance.uniform(0, self.plan.settle_s) for node in nodes}
        self.topics[name] = self.by_id[made.id] = made
        self.extend(made, places)
        return made

    def extend(self, topic: SimulatedTopic, places: Sequence[Sequence[int]]) -> None:
        """Give a topic more partitions."""
        now = self.timers.monotonic()
        for nodes in places:
            partition = SimulatedPartition(topic.name, topic.id, len(topic.partitions), topic.settings, list(nodes))
            partition.replicas = {node: Replica(SimulatedLog(topic.settings), 0, now) for node in nodes}
            partition.isr = [node for node in nodes if self.is_alive(node)] or list(nodes)
            topic.partitions.append(partition)
            if self.is_alive(partition.isr[0]):
                partition.leader_epoch = -1
                partition.lead(partition.isr[0], now)
        for broker in self.brokers.values():
            broker.changed()

    def delete(self, name: str) -> None:
        """Delete a topic, with everything in it."""
        topic = self.topics.pop(name)
        del self.by_id[topic.id]
        for partition in topic.partitions:
            partition.is_gone = True
            partition.fail_waiting(3)
            partition.wake()
        self.groups.forget_topic(name)

    def partition(self, topic: str, index: int) -> SimulatedPartition:
        """One partition; raises KeyError or IndexError where it is not there."""
        return self.topics[topic].partitions[index]

    # -- replication -----------------------------------------------------------------------------------

    def appended(self, partition: SimulatedPartition) -> None:
        """A leader's log has grown."""
        partition.advance()
        for node in partition.replicas:
            if node != partition.leader:
                self._follow_later(partition, node, self.chance.uniform(0.0, self.plan.lag_s))

    def _follow_later(self, partition: SimulatedPartition, node: int, seconds: float) -> None:
        key = (partition.topic_id, partition.index, node)
        if key in self._following:
            return
        self._following.add(key)

        def follow() -> None:
            self._following.discard(key)
            if partition.is_gone or partition.leader in {NO_LEADER, node}:
                return
            if (
                self.brokers[node].power is not BrokerPower.ON
                or self.brokers[partition.leader].power is not BrokerPower.ON
            ):
                return
            got = partition.follow(node, self.timers.monotonic(), self.timers.wall_ms())
            if got or partition.replicas[node].high_watermark < partition.high_watermark:
                self._follow_later(partition, node, 0.5 if not got else self.chance.uniform(0.0, self.plan.lag_s))

        self.timers.call_later(seconds, follow)

    # -- brokers come and go ---------------------------------------------------------------------------

    def is_alive(self, node: int) -> bool:
        """Whether the controller takes a broker for one that serves."""
        return not self.brokers[node].is_fenced

    def lost(self, node: int, seconds: float) -> None:
        """A broker is silent: it is fenced after its session, unless it speaks before."""
        self._fencing[node] = token = self._fencing.get(node, 0) + 1

        def fence() -> None:
            if self._fencing[node] == token and self.brokers[node].power is not BrokerPower.ON:
                self.fence(node)

        if seconds > 0:
            self.timers.call_later(seconds, fence)
        else:
            fence()

    def fence(self, node: int) -> None:
        """Take a broker for away: others lead what it led."""
        self.brokers[node].is_fenced = True
        for partition in self.partitions():
            if node not in partition.replicas:
                continue
            if len(partition.isr) > 1 and node in partition.isr:
                partition.isr.remove(node)
            if partition.leader == node:
                self.elect(partition)
            elif partition.leader != NO_LEADER:
                partition.advance()

    def returned(self, node: int, *, restarted: bool) -> None:
        """A broker is there again."""
        self._fencing[node] = self._fencing.get(node, 0) + 1
        was_fenced, self.brokers[node].is_fenced = self.brokers[node].is_fenced, False
        now = self.timers.monotonic()
        for partition in self.partitions():
            replica = partition.replicas.get(node)
            if replica is None:
                continue
            if restarted:
                replica.log.rebuild()
                replica.log.producers.expire(self.timers.wall_ms(), self.number("producer.id.expiration.ms"))
                replica.log.producers.reloaded()
            if partition.leader == node and not was_fenced:
                if restarted and self.version.epoch_rises:
                    partition.lead(node, now)
                continue
            if partition.leader == NO_LEADER:
                self.elect(partition)
            if partition.leader not in {NO_LEADER, node}:
                self._follow_later(partition, node, self.chance.uniform(0.0, self.plan.lag_s))
        for partition in self.partitions():  # whom others follow may have been away
            if partition.leader == node:
                for other in partition.replicas:
                    if other != node:
                        self._follow_later(partition, other, self.chance.uniform(0.0, self.plan.lag_s))

    def elect(self, partition: SimulatedPartition) -> None:
        """Find a leader among the replicas in sync; among the others where the topic allows that."""
        now = self.timers.monotonic()
        clean = [node for node in partition.assigned if node in partition.isr and self.is_alive(node)]
        if clean:
            partition.lead(clean[0], now)
        else:
            others = [node for node in partition.assigned if self.is_alive(node)]
            if not others or partition.settings.value("unclean.leader.election.enable") != "true":
                if partition.leader != NO_LEADER:
                    partition.lose_leader()
                return
            partition.lead(others[0], now, unclean=True)
        for node in partition.replicas:
            if node != partition.leader:
                self._follow_later(partition, node, self.chance.uniform(0.0, self.plan.lag_s))

    def move_leader(self, partition: SimulatedPartition, node: int, *, unclean: bool = False) -> bool:
        """Have another broker lead, if it may; returns whether it does now."""
        if node == partition.leader or node not in partition.replicas or not self.is_alive(node):
            return False
        if node not in partition.isr and not unclean:
            return False
        partition.lead(node, self.timers.monotonic(), unclean=unclean)
        for other in partition.replicas:
            if other != node:
                self._follow_later(partition, other, self.chance.uniform(0.0, self.plan.lag_s))
        return True

    # -- coordinators ----------------------------------------------------------------------------------

    def coordinator(self, key: str) -> int:
        """The broker that coordinates a group or a transactional id; 0 where none is there."""
        alive = [node for node in sorted(self.brokers) if self.is_alive(node)]
        return alive[sum(key.encode()) % len(alive)] if alive else 0
