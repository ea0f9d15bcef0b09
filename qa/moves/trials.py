"""Moves in an episode: random groups over logs of every kind, under load, kills and moving leaders."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from qa.faults import EpisodeResult, EpisodeSpec, FaultKind, run_episode
from qa.faults.testbed import LINK, LinkTestbed
from qa.faults.topics import LoadTopic, TopicKind
from qa.inconclusive import EXIT_CODE
from qa.moves.aligning import Aligner
from qa.moves.mover import Movers, Trial

#: Logs that a group can be followed over: of a topic that the target's cleaner goes over it misses what is superseded.
TOPICS = (
    LoadTopic("history", 2, old=True),
    LoadTopic("live", 2, old=False),
    LoadTopic("payments", 2, old=False, kind=TopicKind.TRANSACTIONAL),
    LoadTopic("balances", 2, old=False, kind=TopicKind.COMPACTED),
    LoadTopic("clicks", 1, old=False, kind=TopicKind.SINGLE),
    LoadTopic("stamped", 1, old=False, kind=TopicKind.APPEND_TIME),
)
KINDS = (FaultKind.WORKER_KILL, FaultKind.DRIVER_KILL, FaultKind.TARGET_KILL, FaultKind.WORKER_STOP)


@dataclass(slots=True)
class Moves:
    """The sums over trials; ``again`` counts the records that MirrorMaker 2's answers would have had read again.

    ``wanted`` are the kinds of faults that were to strike, ``injections`` says how often each did.
    """

    trials: int = 0
    moved: int = 0
    before: int = 0
    after: int = 0
    wrong_records: int = 0
    refusals: int = 0
    again: int = 0
    rewinds: int = 0
    by_reader: dict[str, int] = field(default_factory=dict)
    by_topic: dict[str, int] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)
    wanted: set[FaultKind] = field(default_factory=set)
    injections: dict[FaultKind, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    @property
    def never_injected(self) -> list[FaultKind]:
        """Kinds of faults that were wanted, and that never struck in any episode."""
        return [kind for kind in FaultKind if kind in self.wanted and not self.injections.get(kind)]

    @property
    def exit_code(self) -> int:
        """1 where anything was wrong, 3 where nothing was and some kind of fault never struck."""
        if self.wrong or self.wrong_records:
            return 1
        return EXIT_CODE if self.never_injected else 0

    def add(self, trials: Sequence[Trial], verdict: EpisodeResult) -> None:
        """Count the trials of one episode."""
        for trial in trials:
            self.trials += 1
            self.moved += trial.moved
            self.refusals += max(0, trial.tries - 1)
            self.again += trial.again
            self.rewinds += trial.rewinds
            self.by_reader[trial.reader] = self.by_reader.get(trial.reader, 0) + 1
            self.by_topic[trial.topic.kind] = self.by_topic.get(trial.topic.kind, 0) + 1
            if trial.judgement is not None:
                self.before += trial.judgement.before
                self.after += trial.judgement.after
                self.wrong_records += trial.judgement.wrong
        for mode, count in verdict.proof.modes.items():
            self.modes[mode] = self.modes.get(mode, 0) + count
        self.wanted.update(verdict.spec.kinds)
        for kind, count in verdict.injections.items():
            self.injections[kind] = self.injections.get(kind, 0) + count
        self.wrong += verdict.found

    def join(self, other: Moves) -> None:
        """Add the sums of another episode."""
        self.trials += other.trials
        self.moved += other.moved
        self.before += other.before
        self.after += other.after
        self.wrong_records += other.wrong_records
        self.refusals += other.refusals
        self.again += other.again
        self.rewinds += other.rewinds
        for mine, more in (
            (self.by_reader, other.by_reader),
            (self.by_topic, other.by_topic),
            (self.modes, other.modes),
        ):
            for name, count in more.items():
                mine[name] = mine.get(name, 0) + count
        self.wanted |= other.wanted
        for kind, count in other.injections.items():
            self.injections[kind] = self.injections.get(kind, 0) + count
        self.wrong += other.wrong

    def lines(self) -> list[str]:
        """The sums for people."""
        return [
            f"{self.moved} of {self.trials} groups were moved over lanes {self.modes}, after {self.refusals} refusals",
            f"  readers {self.by_reader}, topics {self.by_topic}",
            f"  {self.before} records were read on the source, {self.after} on the target: "
            f"{self.wrong_records} missing, repeated, reordered or foreign; "
            f"{self.rewinds} times a group that had lost its coordinator began at its own last commit",
            f"  MirrorMaker 2's best answers would have had {self.again} records read again",
            *([f"  never injected: {', '.join(self.never_injected)}"] if self.never_injected else []),
            *(f"  WRONG: {one}" for one in self.wrong),
        ]


def run_moves(seed: int, count: int, tell: Callable[[str], None], *, seconds: float = 60.0, brokers: int = 1) -> Moves:
    """One episode with ``count`` moves; raises what the sandbox raises."""
    chance = random.Random(f"trials/{seed}")
    kinds = KINDS if brokers == 1 else (*KINDS, FaultKind.TARGET_MOVE)
    spec = EpisodeSpec(
        seed=seed,
        seconds=seconds,
        gap=chance.choice([4.0, 8.0]),
        kinds=kinds,
        target_brokers=brokers,
        expiration_ms=chance.choice([60_000, None]),
        lease_seconds=chance.choice([5, 10]),
        rate=300,
        topics=TOPICS,
    )
    movers: list[Movers] = []

    def beside(stand: LinkTestbed) -> Movers:
        aligner = Aligner(stand.source_context, stand.target_context, LINK)
        made = Movers(
            stand.source,
            stand.target,
            TOPICS,
            count,
            seconds,
            seed,
            aligner.move,
            aligner.again,
            console=True,
        )
        movers.append(made)
        return made

    verdict = run_episode(spec, tell, beside=beside)
    for line in verdict.lines():
        tell(line)
    sums = Moves()
    sums.add(movers[0].trials, verdict)
    return sums
