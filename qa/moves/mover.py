"""Groups that read on the source, are moved at a random moment, and go on on the target, while everything is struck."""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from anabranch.sandbox import SandboxCluster
from qa import brokers
from qa.faults.ledger import Ledger, Place
from qa.faults.topics import LoadTopic
from qa.logcompare import ComparedRecord, read_log
from qa.moves.judge import Judgement, judge
from qa.moves.readers import GroupReader, ends_with, read_by_console
from qa.moves.readings import Reads
from qa.timeouts import LONG_TIMEOUT_S, SCALE, TIMEOUT_S

SETTLE_S = LONG_TIMEOUT_S
AT_ONCE = 4
_CONSOLE_SHARE = 0.15
_BEGINS_S = TIMEOUT_S
_ANSWER_S = 30.0 * SCALE
_MORE = 5
"""How often a reader that stands at the end asks for more before nothing more comes: each time for up to 0.2 s."""
_PROTOCOLS = ("classic", "consumer")

Move = Callable[[str], str]
"""Move a group as a user would, now: empty, or why it was refused."""
Again = Callable[[Mapping[Place, int]], Mapping[Place, int]]
"""How many records MirrorMaker 2's answers would have a group read again, whose commits these are."""


@dataclass(slots=True)
class Trial:
    """One group: who read it where, how its move went, and the judgement."""

    group: str
    topic: LoadTopic
    reader: str
    commits: dict[Place, int] = field(default_factory=dict)
    tries: int = 0
    refused: set[str] = field(default_factory=set)
    moved: bool = False
    again: int = 0
    rewinds: int = 0
    judgement: Judgement | None = None
    failure: str = ""

    @property
    def wrong(self) -> str:
        """What went wrong with it, as a sentence; empty where nothing did."""
        if self.failure:
            return f"{self.group} on {self.topic.name}: {self.failure}"
        if self.judgement is None or self.judgement.wrong:
            said = "was never judged" if self.judgement is None else "; ".join(self.judgement.samples)
            return f"{self.group} on {self.topic.name} by {self.reader}: {said}"
        return ""


class Movers:
    """``count`` trials, each in a thread, spread over ``seconds``, a few at a time; ``finish`` judges them all."""

    def __init__(
        self,
        source: SandboxCluster,
        target: SandboxCluster,
        topics: Sequence[LoadTopic],
        count: int,
        seconds: float,
        seed: int,
        move: Move,
        again: Again,
        *,
        console: bool = False,
    ) -> None:
        self._source, self._target = source, target
        self._move, self._again = move, again
        self._console = console
        self._seconds = seconds
        self._quiet = threading.Event()
        self._halted = threading.Event()
        self._ends: dict[Place, bytes] = {}
        self._room = threading.Semaphore(AT_ONCE)
        self._before: dict[str, Reads] = {}
        self._after: dict[str, Reads] = {}
        chance = random.Random(f"moves/{seed}")
        self.trials: list[Trial] = []
        self._threads: list[threading.Thread] = []
        for number in range(count):
            topic = topics[number % len(topics)]
            reader = chance.choice(_PROTOCOLS)
            if console and chance.random() < _CONSOLE_SHARE:
                reader = "console"
            trial = Trial(f"moved-{seed}-{number}", topic, reader)
            self.trials.append(trial)
            own = random.Random(f"moves/{seed}/{number}")
            self._threads.append(threading.Thread(target=self._run, args=(trial, own), daemon=True))

    def start(self) -> None:
        """Begin; trials start at random moments."""
        for thread in self._threads:
            thread.start()

    def halt(self) -> None:
        """Give up without judging."""
        self._halted.set()
        self._quiet.set()

    def finish(self, ledger: Ledger) -> list[str]:
        """Once nothing is written any more and the link has caught up: let the groups read to the end, and judge."""
        logs: dict[Place, list[ComparedRecord]] = {}
        for topic in {trial.topic for trial in self.trials}:
            for number in range(topic.partitions):
                partition = (topic.name, number)
                logs[partition] = read_log(self._source.client_config(), *partition, committed=True)
                if copied := read_log(self._target.client_config(), *partition, committed=True):
                    self._ends[partition] = copied[-1].digest
        self._quiet.set()
        for trial, thread in zip(self.trials, self._threads, strict=True):
            thread.join(SETTLE_S)
            if thread.is_alive():
                trial.failure = f"did not end within {SETTLE_S:.0f} s"
        for trial in self.trials:
            if trial.moved and not trial.failure:
                source = {partition: log for partition, log in logs.items() if partition[0] == trial.topic.name}
                trial.judgement = judge(
                    source,
                    self._before[trial.group],
                    self._after[trial.group],
                    ledger if trial.topic.compacted else None,
                )
        return [trial.wrong for trial in self.trials if trial.wrong]

    # -- one trial -------------------------------------------------------------------------------------

    def _run(self, trial: Trial, chance: random.Random) -> None:
        if self._halted.wait(chance.uniform(0.0, self._seconds * 0.6)):
            return
        try:
            with self._room:
                self._read_on_source(trial, chance)
                self._be_moved(trial)
            if trial.moved:
                self._read_on_target(trial, chance)
        except Exception as error:
            trial.failure = f"{type(error).__name__}: {error}"

    def _read_on_source(self, trial: Trial, chance: random.Random) -> None:
        name = trial.topic.name
        if trial.reader == "console":
            count = chance.randint(20, 2000)
            bootstrap = self._source.client_config()["bootstrap.servers"]
            offsets = read_by_console(bootstrap, trial.group, name, count)
            reads: Reads = defaultdict(list)
            for partition in range(trial.topic.partitions):
                log = read_log(self._source.client_config(), name, partition, committed=True)
                reads[(name, partition)] = [entry for entry in log if (partition, entry.offset) in offsets]
        else:
            reader = GroupReader(self._source.client_config(), trial.group, name, trial.reader)
            wanted = chance.randint(1, 4000)
            seconds, begins = chance.uniform(4.0, 15.0), time.monotonic() + _BEGINS_S
            while not reader.count and time.monotonic() < begins and not self._halted.is_set():
                time.sleep(0.05)  # a group that has just been made has no coordinator yet
            deadline = time.monotonic() + seconds
            while reader.count < wanted and time.monotonic() < deadline and not self._halted.is_set():
                time.sleep(0.05)
            reader.leave(committing=chance.random() < 0.6)
            reads = reader.reads
            trial.rewinds += reader.rewinds
        trial.commits = commits_of(self._source, trial.group, trial.topic)
        # What was read past the last commit is read again by any consumer, moved or not.
        self._before[trial.group] = {
            partition: [entry for entry in entries if entry.offset < trial.commits.get(partition, 0)]
            for partition, entries in reads.items()
        }

    def _be_moved(self, trial: Trial) -> None:
        """As a person would: again and again until it is not refused."""
        if not trial.commits:
            trial.moved = True  # it never committed: there is no position to move
            return
        deadline: float | None = None
        while not self._halted.is_set():
            trial.tries += 1
            refused = self._move(trial.group)
            if not refused:
                trial.moved = True
                trial.again = sum(self._again(trial.commits).values())
                return
            trial.refused.add(refused)
            if self._quiet.is_set() and deadline is None:
                deadline = time.monotonic() + SETTLE_S / 3
            if deadline is not None and time.monotonic() > deadline:
                trial.failure = f"was never moved: {refused}"
                return
            self._halted.wait(1.0)

    def _read_on_target(self, trial: Trial, chance: random.Random) -> None:
        """From the move on; with the room of others, so that it reads while the link copies."""
        reader = GroupReader(self._target.client_config(), trial.group, trial.topic.name, chance.choice(_PROTOCOLS))
        try:
            self._quiet.wait()
            before = self._before[trial.group]
            # A partition whose last record was read on the source has nothing left but its end.
            left = {
                partition: None if ends_with(before.get(partition, ()), digest) else digest
                for partition, digest in self._ends.items()
                if partition[0] == trial.topic.name
            }
            deadline = time.monotonic() + SETTLE_S / 2
            # What is repeated behind the end would come with what it asks for next.  A consumer that rejoins its group
            # just then has forgotten what it reads again.
            since = reader.rounds
            while reader.rounds < since + _MORE or not reader.has_reached(left):
                if time.monotonic() > deadline or self._halted.is_set() or reader.failure is not None:
                    break
                if not reader.has_reached(left):
                    since = reader.rounds
                time.sleep(0.1)
        finally:
            reader.leave(committing=True)
        self._after[trial.group] = reader.reads
        trial.rewinds += reader.rewinds


def commits_of(cluster: SandboxCluster, group: str, topic: LoadTopic) -> dict[Place, int]:
    """What a group has committed for a topic, as librdkafka reads it."""
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    consumer = Consumer({**cluster.client_config(), "group.id": group, "enable.auto.commit": False, "log_level": 0})
    asked = [TopicPartition(topic.name, partition) for partition in range(topic.partitions)]

    def ask() -> dict[Place, int]:
        answer = consumer.committed(asked, _ANSWER_S)
        for one in answer:
            if one.error is not None:
                raise KafkaException(one.error)
        return {(one.topic, one.partition): one.offset for one in answer if one.offset >= 0}

    try:
        return brokers.retry(ask)
    finally:
        consumer.close()
