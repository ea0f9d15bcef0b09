"""Where a client stands as it leaves a cluster, and that this cluster has what is to be committed.

Invariants
    U5  of a cluster that is lost a client hands over what it has given out, where commits are automatic, or else what
        the cluster is known to have committed for it.
    U6  partitions that its group has taken away from it are another member's, or nobody's: it commits and hands over
        nothing of them, and what the group has committed stands.  Of those that it lost since its cluster was not heard
        of it has nothing to hand over once that answers, and what is of U5 where it is lost.
    U7  where nothing was given out it stands where it began.  Of an application that commits, and has not in some
        partition, it hands over where it began there: what was given out is not done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException

from anabranch.sdk.cache import LOG
from anabranch.sdk.names import Place, place_of

ASK_S = 10.0
"""How long a cluster is waited for that is asked what is committed."""
_TAKEN_AWAY = {
    KafkaError._ASSIGNMENT_LOST,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.FENCED_INSTANCE_ID,
    KafkaError.FENCED_MEMBER_EPOCH,
}
"""By which a commit is refused of a client whose group goes on without it: it did not poll, or was not heard of."""


@dataclass(frozen=True, slots=True)
class Left:
    """Where the client stood as it left a cluster: ``positions`` and what was committed there, by the names there.

    ``began`` is where it had begun there, as far as that was an offset, or, where it went on after a switch that was
    given up, from where on nothing was committed; ``last`` where it stood in partitions that it lost with its group's
    session, which counts where the cluster does not answer any more.
    """

    cluster: str = ""
    positions: Mapping[Place, int] = field(default_factory=dict)
    committed: Mapping[Place, int] = field(default_factory=dict)
    began: Mapping[Place, int] = field(default_factory=dict)
    last: Mapping[Place, int] = field(default_factory=dict)

    def handed(self, commits_itself: bool, is_lost: bool = False) -> dict[Place, int]:
        """The positions that a switch is handed (U7); ``commits_itself`` says whether the application commits."""
        found = self._handed(commits_itself)
        return {**self.last, **found} if is_lost else found

    def _handed(self, commits_itself: bool) -> dict[Place, int]:
        found = dict(self.positions)
        if commits_itself or any(at >= 0 for at in self.committed.values()):
            for place in [one for one in found if self.committed.get(one, OFFSET_INVALID) < 0]:
                del found[place]
                if place in self.began:
                    found[place] = self.began[place]
        return found


def committed_by(inner: Any, partitions: list[Any]) -> dict[Place, int]:
    """What the client's group has committed, below 0 where nothing; raises KafkaException."""
    found: dict[Place, int] = {}
    for one in inner.committed(partitions, ASK_S):
        if one.error is not None:
            raise KafkaException(one.error)
        found[place_of(one)] = one.offset
    return found


def stood(
    inner: Any, cluster: str, positions: list[Any], grouped: list[Any], commits: bool, joins: bool = False
) -> Left:
    """Where it stands, once all that was to be committed is: the broker takes commits in their order (U6).

    ``grouped`` are the partitions in which its group commits, also such as it has no more, ``commits`` whether what was
    given out is committed now, ``joins`` whether it has them as a member.  Raises KafkaException.
    """
    has_them = not (joins and grouped) or inner.memberid() is not None
    if commits and has_them:
        has_them = _commit(inner, joins)
    committed = committed_by(inner, grouped) if grouped else {}
    if not has_them:
        LOG.warning("the group goes on without this consumer: what it has not committed on %s is read again", cluster)
        return Left(cluster, {}, committed)
    found: dict[Place, int] = {}
    for one in positions:
        at = one.offset if one.offset >= 0 else committed.get(place_of(one), OFFSET_INVALID)
        if at >= 0:
            found[place_of(one)] = at
    return Left(cluster, found, committed)


def _commit(inner: Any, joins: bool) -> bool:
    """Commit what was given out; whether the client still has the partitions of it."""
    try:
        for one in inner.commit(asynchronous=False):
            if one.error is not None:
                raise KafkaException(one.error)
    except KafkaException as error:
        code = error.args[0].code()
        if joins and code in _TAKEN_AWAY:
            return False
        if code != KafkaError._NO_OFFSET:
            raise
    return True


def stood_alone(
    cluster: str,
    partitions: list[Any],
    committed: Mapping[Place, int],
    given_out: list[Any] | None,
    began: Mapping[Place, int],
) -> Left:
    """Where it stands as far as is known without the cluster (U5); ``given_out`` where all commits are automatic."""
    if given_out is not None:
        return Left(cluster, {place_of(one): one.offset for one in given_out if one.offset >= 0})
    ours = {place_of(one) for one in partitions}
    known = {place: at for place, at in committed.items() if place in ours}
    begun = {place: at for place, at in began.items() if place in ours}
    return Left(cluster, {**begun, **known}, known, begun)
