"""Where a client stands as it leaves a cluster, and that this cluster has what is to be committed.

Invariants
    U5  of a cluster that is lost a client hands over what it has given out, where commits are automatic, or else what
        the cluster is known to have committed for it.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException

from anabranch.sdk.names import Place, place_of

ASK_S = 10.0
"""How long a cluster is waited for that is asked what is committed."""
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class Left:
    """Where the client stood as it left a cluster: ``positions`` and what was committed there, by the names there."""

    cluster: str = ""
    positions: Mapping[Place, int] = field(default_factory=dict)
    committed: Mapping[Place, int] = field(default_factory=dict)


def committed_by(inner: Any, partitions: list[Any]) -> dict[Place, int]:
    """What the client's group has committed, below 0 where nothing; raises KafkaException."""
    found: dict[Place, int] = {}
    for one in inner.committed(partitions, ASK_S):
        if one.error is not None:
            raise KafkaException(one.error)
        found[place_of(one)] = one.offset
    return found


def stood(inner: Any, cluster: str, positions: list[Any], grouped: list[Any], commits: bool) -> Left:
    """Where it stands, once all that was to be committed is: the broker takes commits in their order.

    ``grouped`` are the partitions in which its group commits, ``commits`` whether what was given out is committed now.
    Raises KafkaException.
    """
    if commits:
        _commit(inner)
    committed = committed_by(inner, grouped) if grouped else {}
    found: dict[Place, int] = {}
    for one in positions:
        at = one.offset if one.offset >= 0 else committed.get(place_of(one), OFFSET_INVALID)
        if at >= 0:
            found[place_of(one)] = at
    return Left(cluster, found, committed)


def _commit(inner: Any) -> None:
    try:
        for one in inner.commit(asynchronous=False):
            if one.error is not None:
                raise KafkaException(one.error)
    except KafkaException as error:
        if error.args[0].code() != KafkaError._NO_OFFSET:
            raise


def stood_alone(
    cluster: str, partitions: list[Any], committed: Mapping[Place, int], given_out: list[Any] | None
) -> Left:
    """Where it stands as far as is known without the cluster (U5); ``given_out`` only where commits are automatic."""
    if given_out is not None:
        return Left(cluster, {place_of(one): one.offset for one in given_out if one.offset >= 0})
    ours = {place_of(one) for one in partitions}
    return Left(cluster, {place: at for place, at in committed.items() if place in ours})


def unless_lost(stand: Callable[[], Left], is_lost: Callable[[], bool]) -> Left:
    """Where it stands, waited for no longer than the cluster is thought to be there.

    confluent-kafka answers nothing until the group's session is over where it is not.  Raises KafkaException.
    """
    done: queue.Queue[Left | Exception] = queue.Queue()

    def run() -> None:
        try:
            done.put(stand())
        except Exception as error:
            done.put(error)

    threading.Thread(target=run, name="anabranch-commit", daemon=True).start()
    while True:
        with contextlib.suppress(queue.Empty):
            found = done.get(timeout=_LOOK_S)
            if isinstance(found, Exception):
                raise found
            return found
        if is_lost():
            raise KafkaException(KafkaError(KafkaError._WAIT_COORD, "the cluster does not answer"))
