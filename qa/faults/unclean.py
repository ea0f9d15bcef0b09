"""An unclean election on real brokers: what one replica alone acknowledged is taken back by another that had it not."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Sequence

from anabranch.errors import ClusterError
from anabranch.sandbox import SandboxCluster
from qa import brokers
from qa.faults.leaders import Leaders, Place, Replicas
from qa.timeouts import LONG_TIMEOUT_S

_TIMEOUT_S = LONG_TIMEOUT_S
_LOOK_S = 0.3


def elect_uncleanly(
    cluster: SandboxCluster, leaders: Leaders, topics: Sequence[str], hold: float, chance: random.Random
) -> str:
    """Let broker A of two acknowledge alone for at least ``hold`` seconds, kill it, and elect B, which stood still.

    A comes back and truncates.  Returns what happened, empty where the partitions could not be brought there.  The
    other partitions of the cluster keep a majority of their replicas but for the moment in between.
    """
    first, second = chance.sample([broker.node_id for broker in cluster.brokers], 2)
    brokers.retry(lambda: leaders.let_one_do(topics))
    inner = {"bootstrap.servers": cluster.internal_bootstrap}
    places: list[Place] = []

    def led_by_first(state: dict[Place, Replicas]) -> bool:
        if all(
            now.leader == first and now.replicas == (first, second) and now.in_sync == {first, second}
            for now in state.values()
        ):
            return True
        leaders.assign(dict.fromkeys(state, (first, second)))
        leaders.elect(state)
        return False

    if not _until(leaders, topics, led_by_first):
        return ""
    ahead, behind = cluster.broker(first), cluster.broker(second)
    behind.pause()
    try:
        alone = _until(leaders, topics, lambda state: all(now.in_sync == {first} for now in state.values()))
        if not alone:
            return ""
        places = sorted(brokers.retry(lambda: leaders.look(topics)))
        before = acknowledged = brokers.log_ends(inner, places)
        deadline = time.monotonic() + _TIMEOUT_S
        while acknowledged == before and time.monotonic() < deadline:
            time.sleep(max(hold, _LOOK_S))  # so that there is something to take back
            acknowledged = brokers.log_ends(inner, places)
        ahead.kill()
    finally:
        behind.resume()

    def led_by_second(state: dict[Place, Replicas]) -> bool:
        if state and all(now.leader == second for now in state.values()):
            return True
        leaders.elect(state, unclean=True)
        return False

    try:
        elected = _until(leaders, topics, led_by_second)
        kept = brokers.log_ends(inner, places) if elected else {}
    finally:
        ahead.start()
        cluster.wait_ready()
    if not elected:
        return ""
    lost = sum(max(0, acknowledged[place] - kept[place]) for place in places)
    return f"from broker {first} to {second}, about {lost} acknowledged offsets taken back"


def _until(leaders: Leaders, topics: Sequence[str], holds: Callable[[dict[Place, Replicas]], bool]) -> bool:
    deadline = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline:
        with contextlib.suppress(ClusterError):  # nobody answers yet
            if holds(leaders.look(topics)):
                return True
        time.sleep(_LOOK_S)
    return False
