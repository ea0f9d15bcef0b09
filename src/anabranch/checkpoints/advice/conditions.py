"""Conditions that several ways share."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.checkpoints.advice.effects import from_commits, one_group_cannot
from anabranch.checkpoints.advice.facts import Attempt, Facts, refusals
from anabranch.checkpoints.advice.values import Condition, ConditionStatus
from anabranch.checkpoints.job import CheckpointFormat
from anabranch.checkpoints.position import Position, SymbolicOffset, offset_text
from anabranch.checkpoints.route import TranslatedPosition
from anabranch.model.lane import LaneMode
from anabranch.model.reasons import Reason, ReasonKind

#: Reasons that pass: by waiting for the link, by stopping the job, by finishing its batch.
PASSING = frozenset({ReasonKind.NOT_COPIED, ReasonKind.IN_DOUBT, ReasonKind.RUNNING, ReasonKind.UNCOMMITTED})
ROUTE_FIX = "say where the positions lead: --link, --maps, --offsets or --start"


def refused(what: str, reasons: Sequence[Reason]) -> tuple[Condition, ...]:
    """One condition for each kind of reason, or that none is against it."""
    if not reasons:
        return (Condition(what, ConditionStatus.MET),)
    found: dict[ReasonKind, list[Reason]] = {}
    for one in reasons:
        found.setdefault(one.why, []).append(one)
    conditions = []
    for why, same in found.items():
        more = f" (and {len(same) - 1:,} more)" if len(same) > 1 else ""
        status = ConditionStatus.LATER if why in PASSING else ConditionStatus.UNMET
        conditions.append(Condition(what, status, f"{same[0].what}{more}", same[0].fix))
    return tuple(conditions)


def rewritable(what: str, attempt: Attempt | None) -> tuple[Condition, ...]:
    """Whether a planned rewrite could be done."""
    if attempt is None:
        return (Condition(what, ConditionStatus.UNKNOWN, "no route was given", ROUTE_FIX),)
    return refused(what, attempt.rewrite.refusals)


def exact_answers(facts: Facts) -> tuple[Condition, ...]:
    """Whether each position is known on the target."""
    what = "every position is known on the target, exactly"
    if not facts.routed:
        return (Condition(what, ConditionStatus.UNKNOWN, "no route was given", ROUTE_FIX),)
    if not facts.reading():
        return (Condition(what, ConditionStatus.UNMET, "the checkpoint stores no position that is to be moved"),)
    known = facts.exact()
    if known is not None:
        return (Condition(what, ConditionStatus.MET, f"{plural(len(known), 'position')}"),)
    found = refused(what, list(refusals(facts.answers.get(one) for one in facts.reading())))
    if found[0].status is not ConditionStatus.MET:
        return found
    return (Condition(what, ConditionStatus.UNMET, "some positions are stored without an offset"),)


def same_everywhere(facts: Facts) -> tuple[Condition, ...]:
    """Whether each stored position has the same topic, partition and offset on the target."""
    what = "every position has the same topic, partition and offset on the target"
    if not facts.routed:
        return (Condition(what, ConditionStatus.UNKNOWN, "no route was given", ROUTE_FIX),)
    moving = facts.moving()
    differing = [one for one in moving if _differs(facts, one)]
    if differing:
        first = differing[0]
        moved = facts.answers[first]
        assert isinstance(moved, TranslatedPosition)
        there = str(moved.partition) if moved.offset is None else f"{moved.partition} at {moved.offset:,}"
        here = str(first.partition) if first.offset is None else f"{first.partition} at {offset_text(first.offset)}"
        why = f"{here} is {there} on the target; {len(differing):,} of {plural(len(moving), 'position')} differ"
        return (Condition(what, ConditionStatus.UNMET, why),)
    found = refused(what, list(refusals(facts.answers.get(one) for one in moving)))
    if found[0].status is ConditionStatus.MET and not moving:
        return (Condition(what, ConditionStatus.UNMET, "the checkpoint stores no position that is to be moved"),)
    return found


def identity_lanes(facts: Facts) -> Condition:
    """Whether all partitions are copied by lanes that keep offsets, so that what is equal now stays so."""
    what = "every lane keeps offsets"
    partitions = sorted({one.partition for one in facts.moving()})
    lanes = [facts.lanes[at] for at in partitions if at in facts.lanes]
    if not lanes:
        fix = "" if any(flag == "--link" for flag in facts.flags) else "name the link: --link LINK --target NAME"
        return Condition(what, ConditionStatus.UNKNOWN, "no lane of a link was looked at", fix)
    mapped = [
        (at, facts.lanes[at]) for at in partitions if at in facts.lanes and facts.lanes[at].mode != LaneMode.IDENTITY
    ]
    if mapped:
        at, lane = mapped[0]
        why = f"{len(mapped):,} of {plural(len(lanes), 'lane')} are mapped; {at}: {lane.why}"
        return Condition(what, ConditionStatus.UNKNOWN, why, "equal now, and may not be when the job has been stopped")
    if len(lanes) < len(partitions):
        return Condition(what, ConditionStatus.UNKNOWN, f"{len(partitions) - len(lanes):,} partitions have no lane yet")
    return Condition(what, ConditionStatus.MET, f"{plural(len(lanes), 'identity lane')}")


def group_has_offsets(facts: Facts) -> tuple[Condition, ...]:
    """Whether a consumer group on the target can tell the job where to begin."""
    what = "a group on the target has committed where the job resumes"
    clash = one_group_cannot(facts)
    if clash:
        return (Condition(what, ConditionStatus.UNMET, clash),)
    if facts.exact() is not None:
        return (Condition(what, ConditionStatus.MET, "one is begun there at exactly the stored positions"),)
    if facts.group is None:
        return (Condition(what, ConditionStatus.UNKNOWN, "no group was named", "name the job's group: --group NAME"),)
    effect = from_commits(facts, facts.group)
    if effect.repeated is not None:
        return (Condition(what, ConditionStatus.MET, effect.why),)
    if not facts.group.commits and not facts.group.target_commits:
        fix = "the job commits offsets at its checkpoints unless that was turned off, or it has no group.id"
        return (Condition(what, ConditionStatus.UNMET, f"group {facts.group.name} has committed nothing", fix),)
    return (Condition(what, ConditionStatus.UNKNOWN, effect.why),)


def explicit_offsets(facts: Facts) -> tuple[Condition, ...]:
    """Whether offsets that were given, and not translated here, are the job's."""
    if "--offsets" not in facts.flags:
        return ()
    what = "the explicit offsets are the job's positions"
    fix = "`anabranch offsets translate` writes exact ones of a link; or name the link here: --link"
    return (Condition(what, ConditionStatus.UNKNOWN, "a file's offsets are taken as they are", fix),)


def fits(facts: Facts, waits_s: float | None, why: str) -> tuple[Condition, ...]:
    """Whether a way fits into the allowed downtime, if one was given."""
    if facts.downtime_s is None:
        return ()
    what = f"it fits into the {facts.downtime_s:g} s that are allowed"
    if waits_s is None:
        return (Condition(what, ConditionStatus.UNKNOWN, why),)
    status = ConditionStatus.MET if waits_s <= facts.downtime_s else ConditionStatus.UNMET
    return (Condition(what, status, f"about {waits_s:.0f} s: {why}"),)


def empty_targets(facts: Facts) -> Condition:
    """Whether producers may write into the target topics without mixing with copied records."""
    what = "the target topics hold no copied records, and nothing copies into them"
    moving = {one.partition for one in facts.moving()}
    lane = next((facts.lanes[at] for at in sorted(moving) if at in facts.lanes), None)
    if lane is not None:
        why = f"link {lane.link} copies into {lane.target.topic}: records of producers would be mixed with copied ones"
        return Condition(what, ConditionStatus.UNMET, why, "use topics that no link fills")
    logs = {at: log for at, log in facts.new.items() if at.topic in set(facts.targets())}
    full = sum(log.end - log.start for log in logs.values())
    if full:
        return Condition(what, ConditionStatus.UNMET, f"they hold {full:,} records", "use empty topics")
    if logs:
        return Condition(what, ConditionStatus.MET, f"{plural(len(logs), 'partition')}, all empty")
    return Condition(
        what,
        ConditionStatus.UNKNOWN,
        "the target was not looked at",
        "have it looked at: --start earliest --target NAME",
    )


def committed(facts: Facts) -> tuple[Condition, ...]:
    """Whether no batch of a Spark query is half done."""
    if facts.page.format is not CheckpointFormat.SPARK:
        return ()
    what = "no batch has begun without being committed"
    number = facts.page.uncommitted
    if number is None:
        return (Condition(what, ConditionStatus.MET, f"batch {facts.page.number} is committed"),)
    fix = "finish it on the old cluster: start once with trigger(once=True), or see --finish-command"
    return (Condition(what, ConditionStatus.LATER, f"batch {number} was not committed", fix),)


def one_cluster(facts: Facts) -> tuple[Condition, ...]:
    """Whether all topics go to one cluster, where links lead to several: a start position is of one."""
    if not facts.clusters:
        return ()
    why = "; ".join(f"{', '.join(one.sources)} to {one.name}" for one in facts.clusters)
    fix = "ask for the links of one cluster at a time, with --stay for the topics of the others"
    return (Condition("all topics go to one cluster", ConditionStatus.UNMET, why, fix),)


def positions_known(facts: Facts) -> tuple[Condition, ...]:
    """Why positions of sources are not known, whatever the way; empty if they are."""
    what = "the checkpoint has the positions of every source"
    return refused(what, facts.unread) if facts.unread else ()


def no_state(facts: Facts) -> Condition:
    """Whether nothing is lost with the checkpoint but its positions."""
    what = "the job keeps no state that would be lost"
    stateful = facts.stateful()
    if not stateful:
        return Condition(what, ConditionStatus.MET, "no operator has any")
    known = [one.state_bytes for one in stateful if one.state_bytes is not None]
    amount = f" with {sum(known):,} bytes" if known else ""
    return Condition(what, ConditionStatus.UNMET, f"{plural(len(stateful), 'stateful operator')}{amount}")


def plural(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _differs(facts: Facts, position: Position) -> bool:
    answer = facts.answers.get(position)
    if not isinstance(answer, TranslatedPosition):
        return False
    if position.offset is SymbolicOffset.EARLIEST:  # looked up on either cluster, and nothing was read yet
        return answer.partition != position.partition
    return answer.partition != position.partition or answer.offset != position.offset
