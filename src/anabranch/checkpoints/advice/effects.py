"""What would be read again, or never: sums over the positions, None where one of them cannot be counted."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.checkpoints.advice.facts import Answer, Facts, GroupFacts
from anabranch.checkpoints.advice.values import Effect
from anabranch.checkpoints.position import Position, offset_text
from anabranch.checkpoints.route import Moved
from anabranch.model.reasons import Reason
from anabranch.model.topics import TopicPartition

EXACT = Effect(0, 0, "every record once")
UNTOLD = Effect(None, None, "give a route (--link, --maps, --offsets or --start) to count")


def naive(facts: Facts) -> Effect:
    """Only the servers are changed: the old offsets are read on the new cluster."""
    if not facts.routed:
        return UNTOLD
    repeated: int | None = 0
    lost: int | None = 0
    said: list[str] = []
    for one in facts.reading():
        answer = facts.answers.get(one)
        if not isinstance(answer, Moved):
            return Effect(None, None, f"{one.partition} cannot be determined: {_why(answer)}")
        repeated = _plus(repeated, answer.repeated)
        lost = _plus(lost, answer.skipped)
        if answer.partition.topic != one.partition.topic:
            said.append(f"{one.partition.topic} is {answer.partition.topic} on the target")
        elif answer.naive:
            said.append(f"{one.partition}: {answer.naive}")
    told = list(dict.fromkeys(said))
    more = [f"and {len(told) - 2:,} more"] if len(told) > 2 else []
    return Effect(repeated, lost, "; ".join((*told[:2], *more)))


def by_route(facts: Facts) -> Effect:
    """The job goes on where the route says: exactly, unless that is a start position."""
    if not facts.started:
        return EXACT
    lag = facts.lag()
    after = 0
    for position, offset in (facts.exact() or {}).items():
        log = facts.new.get(_partition(facts.answers[position]))
        after += 0 if log is None else max(0, log.end - offset)
    unread = "what the job has not read on the old cluster is given up"
    why = f"a start position does not follow from where the job stands: {unread}" if lag != 0 else "all was read"
    return Effect(None if after else 0, lag, why)


def from_commits(facts: Facts, group: GroupFacts) -> Effect:
    """The job goes on where its group stands on the target, or would after its commits were moved there."""
    exact = facts.exact()
    if exact is None:
        return _from_source_commits(facts, group)
    repeated = lost = 0
    for position, offset in exact.items():
        moved = facts.answers[position]
        assert isinstance(moved, Moved)
        stands = group.there.get(moved.partition)
        if stands is None:
            answer = group.answers.get(position.partition)
            if not isinstance(answer, Moved) or answer.offset is None:
                return Effect(None, None, f"group {group.name} has no exact position for {moved.partition}")
            stands = answer.offset
        repeated += max(0, offset - stands)
        lost += max(0, stands - offset)
    return Effect(repeated, lost, f"by the commits of group {group.name}")


def _from_source_commits(facts: Facts, group: GroupFacts) -> Effect:
    """The same by the offsets of the old cluster alone."""
    repeated = lost = 0
    for one in facts.reading():
        commit = group.commits.get(one.partition)
        if commit is None or not isinstance(one.offset, int):
            return Effect(None, None, f"group {group.name} has committed nothing for {one.partition}")
        repeated += max(0, one.offset - commit)
        lost += max(0, commit - one.offset)
    return Effect(repeated, lost, f"by the commits of group {group.name} on the old cluster")


def from_beginning(facts: Facts) -> Effect:
    """Everything that the target topics hold before the positions is read again."""
    exact = facts.exact()
    if exact is None:
        return UNTOLD if not facts.routed else Effect(None, None, "the positions on the target are not all exact")
    return _before({_partition(facts.answers[one]): offset for one, offset in exact.items()}, facts)


def _before(offsets: Mapping[TopicPartition, int], facts: Facts) -> Effect:
    total = 0
    for partition, offset in offsets.items():
        log = facts.new.get(partition)
        if log is None:
            return Effect(None, 0, f"{partition} was not looked at on the target")
        total += max(0, offset - log.start)
    return Effect(total, 0, "what the target topics hold before the positions")


def one_group_cannot(facts: Facts) -> str:
    """Which partition two sources read at different offsets, so that one group cannot stand for both; "" for none."""
    seen: dict[TopicPartition, Position] = {}
    for one in facts.reading():
        other = seen.setdefault(one.partition, one)
        if other.offset != one.offset:
            both = f"{offset_text(other.offset)} and {offset_text(one.offset)}"
            return f"sources {other.source} and {one.source} read {one.partition} at {both}"
    return ""


def _partition(answer: Answer) -> TopicPartition:
    assert isinstance(answer, Moved)
    return answer.partition


def _plus(total: int | None, more: int | None) -> int | None:
    return None if total is None or more is None else total + more


def _why(answer: Answer) -> str:
    return answer.what if isinstance(answer, Reason) else "no route leads there"
