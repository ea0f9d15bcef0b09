"""What applications write to a simulated source, and what its log holds afterwards, for the judge.

Batches go straight into the leaders' logs, as a producer without faults would put them there: what is tested is who
copies them.  Every record of the load is unlike all others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from anabranch.kafka.simulated import SimulatedCluster
from anabranch.kafka.simulated.log import SimulatedLog
from anabranch.kafka.simulated.partition import NO_LEADER, SimulatedPartition
from anabranch.kafka.simulated.transactions import append_marker
from anabranch.records.decode import decode
from anabranch.records.encode import body_of, seal
from anabranch.records.header import LOG_APPEND_TIME, TRANSACTIONAL, Codec, read_header
from anabranch.records.record import Record, TimestampType
from qa.faults.ledger import Ledger
from qa.faults.topics import LoadTopic, TopicKind
from qa.logcompare import ComparedRecord, digest_of

OLD_MS = 1_370_000_000_000
KEYS = 5
BURST_PRODUCERS = 5
_CREATE = TimestampType.CREATE_TIME


@dataclass(slots=True)
class _Open:
    """A transaction that is under way: its name, its producer, and when it will end."""

    name: str
    producer_id: int
    epoch: int
    until: float
    commits: bool


@dataclass(slots=True)
class Load:
    """Producers of some topics, until ``stop``; ``burst`` writes so many whole transactions of one record at a time."""

    cluster: SimulatedCluster
    topics: tuple[LoadTopic, ...]
    gap_s: float
    burst: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    records: int = 0
    is_over: bool = False
    _open: dict[tuple[str, int], _Open] = field(default_factory=dict)
    _sequences: dict[tuple[int, str, int], int] = field(default_factory=dict)
    _names: int = 0

    def start(self) -> None:
        """Make the topics and begin."""
        replicas = min(3, len(self.cluster.brokers))
        for topic in self.topics:
            if topic.name not in self.cluster.topics:
                self.cluster.create(topic.name, topic.partitions, replicas, topic.configs)
            for partition in range(topic.partitions):
                self._later(topic, partition)

    def stop(self) -> None:
        """Write no more, and end every transaction."""
        self.is_over = True
        for place, one in list(self._open.items()):
            self._end(place, one)

    def _later(self, topic: LoadTopic, partition: int) -> None:
        def write() -> None:
            if not self.is_over:
                self._write(topic, partition)
                self._later(topic, partition)

        self.cluster.timers.call_later(self.cluster.chance.expovariate(1 / self.gap_s), write)

    def _write(self, topic: LoadTopic, index: int) -> None:
        partition = self.cluster.partition(topic.name, index)
        if partition.leader == NO_LEADER or not self.cluster.brokers[partition.leader].is_serving:
            return
        chance = self.cluster.chance
        if self.burst:
            self._write_burst(topic, partition)
            return
        producer_id, epoch, transactional = 1_000_000 + index, 0, False
        if topic.kind is TopicKind.TRANSACTIONAL and chance.random() < 0.7:
            one = self._transaction(topic, index)
            producer_id, epoch, transactional = one.producer_id, one.epoch, True
        count = 1 if topic.kind is TopicKind.SINGLE else chance.randint(1, 12)
        now = OLD_MS + self.records if topic.old else self.cluster.timers.wall_ms()
        records = [self._record(topic, now - chance.randrange(3) + at) for at in range(count)]
        codec = chance.choice([Codec.NONE, Codec.NONE, Codec.LZ4, Codec.ZSTD])
        self._append(topic, partition, records, codec, producer_id, epoch, transactional=transactional)

    def _write_burst(self, topic: LoadTopic, partition: SimulatedPartition) -> None:
        chance = self.cluster.chance
        for _ in range(self.burst):
            producer_id = 2_000_000 + chance.randrange(BURST_PRODUCERS)
            now = self.cluster.timers.wall_ms()
            record = self._record(topic, now)
            self._append(topic, partition, [record], Codec.NONE, producer_id, 0, transactional=True)
            commits = chance.random() < 0.9
            append_marker(self.cluster, partition, producer_id, 0, commit=commits, coordinator_epoch=0)

    def _record(self, topic: LoadTopic, timestamp: int) -> Record:
        chance = self.cluster.chance
        self.records += 1
        key = b"key %d" % chance.randrange(KEYS) if topic.compacted else chance.choice([None, b"", b"k"])
        value = b"%d " % self.records + b"x" * chance.choice([0, 3, 40])
        if topic.compacted and chance.random() < 0.1:
            # A tombstone is unlike all others by its time.
            return Record(0, timestamp + self.records * 10, _CREATE, key, None, ())
        headers = () if chance.random() < 0.8 else (("h", b"1"), ("h", None))
        return Record(0, timestamp, _CREATE, key, value, headers)

    def _append(
        self,
        topic: LoadTopic,
        partition: SimulatedPartition,
        records: list[Record],
        codec: Codec,
        producer_id: int,
        epoch: int,
        *,
        transactional: bool,
    ) -> None:
        key = (producer_id, partition.topic, partition.index)
        sequence = self._sequences.get(key, 0)
        self._sequences[key] = sequence + len(records)
        stamps = [one.timestamp for one in records]
        newest = max(stamps)
        attributes = int(codec) | (TRANSACTIONAL if transactional else 0)
        if topic.kind is TopicKind.APPEND_TIME:
            attributes |= LOG_APPEND_TIME
            newest = self.cluster.timers.wall_ms()
            records = [one._replace(timestamp=newest) for one in records]
        batch = seal(
            body_of(records, range(len(records))),
            count=len(records),
            last_offset_delta=len(records) - 1,
            timestamps=(records[0].timestamp, newest),
            attributes=attributes,
            producer=(producer_id, epoch, sequence),
        )
        log = partition.led.log
        base = log.end
        log.append(batch, read_header(batch), partition.leader_epoch, self.cluster.timers.wall_ms())
        self.cluster.appended(partition)
        if topic.compacted:
            for at, one in enumerate(records):
                self.ledger.note((topic.name, partition.index), base + at, digest(one))

    # -- transactions ----------------------------------------------------------------------------------

    def _transaction(self, topic: LoadTopic, index: int) -> _Open:
        place = (topic.name, index)
        found = self._open.get(place)
        chance, timers = self.cluster.chance, self.cluster.timers
        if found is not None and timers.monotonic() > found.until:
            self._end(place, found)
            found = None
        if found is not None:
            return found
        self._names += 1
        name = f"application-{self._names}"
        longest_ms = self.cluster.number("transaction.max.timeout.ms")
        code, producer_id, epoch = self.cluster.transactions.begin(name, longest_ms)
        code = code or self.cluster.transactions.add(name, producer_id, epoch, {place})
        assert code == 0, f"the source begins no transaction: error {code}"
        longest = 6.0 if chance.random() < 0.1 else 0.3
        made = _Open(name, producer_id, epoch, timers.monotonic() + chance.uniform(0, longest), chance.random() < 0.7)
        self._open[place] = made
        return made

    def _end(self, place: tuple[str, int], one: _Open) -> None:
        self.cluster.transactions.end(one.name, one.producer_id, one.epoch, commit=one.commits)
        del self._open[place]


def digest(record: Record) -> bytes:
    """The judge's digest of all that a copy must keep."""
    headers = [(key if isinstance(key, str) else key.decode(), value) for key, value in record.headers]
    return digest_of(record.timestamp, record.key, record.value, headers)


def entries(partition: SimulatedPartition, *, committed: bool, newest: int | None = None) -> list[ComparedRecord]:
    """Every record that a consumer sees up to the high watermark, or to the last stable offset.

    With ``newest`` only those of so many batches at the log's end.
    """
    replica = partition.led
    log: SimulatedLog = replica.log
    upto = partition.stable_end(replica) if committed else replica.high_watermark
    aborted: dict[int, list[tuple[int, int]]] = {}
    for one in log.aborted if committed else ():
        aborted.setdefault(one.producer_id, []).append((one.first, one.last))
    found: list[ComparedRecord] = []
    for stored in log.batches if newest is None else log.batches[-newest:]:
        header = stored.header
        if header.is_control or header.base_offset >= upto:
            continue
        if header.is_transactional and _is_aborted(aborted.get(header.producer_id, ()), header.base_offset):
            continue
        found += [one for one in _entries_of(stored.data) if log.start <= one.offset < upto]
    return found


def _is_aborted(transactions: Sequence[tuple[int, int]], offset: int) -> bool:
    """Whether one of a producer's aborted transactions, which follow each other, holds an offset."""
    at = bisect_right(transactions, offset, key=lambda one: one[0]) - 1
    return at >= 0 and offset < transactions[at][1]


def forget_batches() -> None:
    """Forget the batches of a life that is over: of a hundred lives they are gigabytes."""
    _entries_of.cache_clear()


@lru_cache(maxsize=16_384)
def _entries_of(batch: bytes) -> tuple[ComparedRecord, ...]:
    """A batch's records; whoever looks on asks for the same ones again and again."""
    view = memoryview(batch)
    return tuple(
        ComparedRecord(
            one.offset,
            digest(one),
            f"{one.key!r:.30}={one.value!r:.40}",
            one.key,
            one.key is not None and one.value is None,
        )
        for one in decode(view, 0, read_header(view))
    )
