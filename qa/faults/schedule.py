"""Which faults are injected, when and for how long: a pure function of a seed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    """The kinds of faults that a link must survive."""

    DRIVER_KILL = "driver killed"
    WORKER_KILL = "worker killed"
    WORKER_STOP = "worker stopped and continued"
    EXECUTOR_KILL = "executor killed"
    SOURCE_KILL = "source broker killed"
    SOURCE_PAUSE = "source broker paused"
    TARGET_KILL = "target broker killed"
    TARGET_PAUSE = "target broker paused"
    SOURCE_CUT = "source network cut"
    SOURCE_STALL = "source network stalled"
    SOURCE_DELAY = "source network delayed"
    TARGET_CUT = "target network cut"
    TARGET_STALL = "target network stalled"
    TARGET_DELAY = "target network delayed"
    SECOND_RUN = "second run of the link"
    SOURCE_MOVE = "source leaders moved"
    TARGET_MOVE = "target leaders moved"
    TARGET_UNCLEAN = "unclean election on the target"


#: What takes several brokers on that side.
REPLICATED_SOURCE_KINDS: tuple[FaultKind, ...] = (FaultKind.SOURCE_MOVE,)
REPLICATED_TARGET_KINDS: tuple[FaultKind, ...] = (FaultKind.TARGET_MOVE, FaultKind.TARGET_UNCLEAN)
_NOT_LOCAL = {FaultKind.EXECUTOR_KILL, *REPLICATED_SOURCE_KINDS, *REPLICATED_TARGET_KINDS}
LOCAL_KINDS: tuple[FaultKind, ...] = tuple(kind for kind in FaultKind if kind not in _NOT_LOCAL)

_COSTLY = frozenset({FaultKind.DRIVER_KILL, FaultKind.SECOND_RUN, FaultKind.TARGET_UNCLEAN})

# Seconds that a fault lasts, as ranges of which one is drawn: shorter and longer than the worker's gate (5 s), a
# broker's session (3 s) and, in a long run, than a request's timeout (30 s).
_SHORT: Mapping[FaultKind, Sequence[tuple[float, float]]] = {
    FaultKind.WORKER_STOP: ((0.3, 2.0), (5.5, 8.0), (9.0, 13.0)),
    FaultKind.SOURCE_KILL: ((0.0, 3.0),),
    FaultKind.SOURCE_PAUSE: ((0.5, 6.0),),
    FaultKind.TARGET_KILL: ((0.0, 3.0),),
    FaultKind.TARGET_PAUSE: ((0.5, 2.5), (4.0, 7.0)),
    FaultKind.SOURCE_CUT: ((0.1, 3.0),),
    FaultKind.SOURCE_STALL: ((0.5, 6.0),),
    FaultKind.SOURCE_DELAY: ((2.0, 6.0),),
    FaultKind.TARGET_CUT: ((0.1, 3.0),),
    FaultKind.TARGET_STALL: ((0.5, 2.5), (5.5, 8.0)),
    FaultKind.TARGET_DELAY: ((2.0, 6.0),),
    FaultKind.SECOND_RUN: ((14.0, 22.0),),
    FaultKind.SOURCE_MOVE: ((3.0, 8.0),),
    FaultKind.TARGET_MOVE: ((4.0, 15.0),),
    # How long one replica acknowledges alone; bringing it there takes longer.
    FaultKind.TARGET_UNCLEAN: ((0.3, 2.0),),
}
_LONG: Mapping[FaultKind, Sequence[tuple[float, float]]] = {
    FaultKind.WORKER_STOP: ((20.0, 45.0),),
    FaultKind.SOURCE_PAUSE: ((12.0, 40.0),),
    FaultKind.TARGET_PAUSE: ((12.0, 40.0),),
    FaultKind.SOURCE_STALL: ((12.0, 40.0),),
    FaultKind.TARGET_STALL: ((12.0, 40.0),),
}


@dataclass(frozen=True, slots=True)
class Injection:
    """One fault: its kind, when it begins and how long it lasts, in seconds, and a number to choose a victim by."""

    at: float
    kind: FaultKind
    hold: float
    pick: int


def schedule(
    seed: int, seconds: float, kinds: Sequence[FaultKind], gap: float, long_share: float = 0.0
) -> list[Injection]:
    """Faults within ``seconds``, on average ``gap`` seconds apart, in order of time.

    Kinds come in shuffled rounds.  A driver's kill and a second run cost a Spark start each, in which there is no
    worker to fail, and an unclean election takes half a minute: after the first round they come in every third
    one.  ``long_share`` is the share of holds that outlast a request's timeout.

    Invariant: equal arguments give equal faults; every one begins and ends within ``seconds``.
    """
    chance = random.Random(seed)
    injections: list[Injection] = []
    at, queue, rounds = chance.uniform(0.2, 1.0) * gap, list[FaultKind](), 0
    while at < seconds and kinds:
        if not queue:
            queue = [kind for kind in kinds if rounds % 3 == 0 or kind not in _COSTLY] or list(kinds)
            rounds += 1
            chance.shuffle(queue)
            # The longest first: a second run needs its time to start.
            queue.sort(key=lambda kind: kind is not FaultKind.SECOND_RUN)
        kind = queue.pop(0)
        ranges = _SHORT.get(kind, ((0.0, 0.0),))
        if kind in _LONG and chance.random() < long_share:
            ranges = _LONG[kind]
        hold = min(chance.uniform(*chance.choice(ranges)), max(0.0, seconds - at))
        injections.append(Injection(at, kind, hold, chance.randrange(1 << 30)))
        at += chance.uniform(0.3, 1.7) * gap
    return injections
