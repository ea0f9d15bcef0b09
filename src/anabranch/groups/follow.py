"""One round of continuous sync: which inactive target groups move forward, to where, and what holds the others.

A group that reads at the log's end has always committed a little more than was copied.  Such a position is not
clipped, for a commit is a point and not a bound: it is kept, and written as soon as the map reaches it; newer
commits wait behind it.  So the target stands at a position that the group really had, at most two rounds old while
the link keeps up, and never at one that the target's log does not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.groups.answer import answer, units
from anabranch.groups.refusals import active_refusal, kind_refusal
from anabranch.groups.world import Route, World
from anabranch.model.groups import Commit, Group
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition

Waiting = Mapping[str, Mapping[TopicPartition, Commit]]


class Following(StrEnum):
    """How a followed group stands: ``in step``; ``waiting`` for records to be copied; ``held`` by a reason; ``active``:
    someone reads on the target, so that its position is its own.
    """

    IN_STEP = "in step"
    WAITING = "waiting"
    HELD = "held"
    ACTIVE = "active"


@dataclass(frozen=True, slots=True)
class Followed:
    """One group after a round: what is to be written, and how it stands then."""

    group: str
    state: Following
    writes: Mapping[TopicPartition, Commit] = field(hash=False)
    why: str = ""


@dataclass(frozen=True, slots=True)
class Round:
    """A round's outcome, and the positions that wait for the next one."""

    groups: tuple[Followed, ...]
    waiting: Waiting = field(hash=False)


def follow(world: World, names: Iterable[str], waiting: Waiting) -> Round:
    """Decide a round for the named groups, given the positions that an earlier round could not translate yet."""
    followed = []
    still: dict[str, Mapping[TopicPartition, Commit]] = {}
    for name in sorted(set(names)):
        one, left = _follow(world, world.source[name], waiting.get(name, {}))
        followed.append(one)
        if left:
            still[name] = left
    return Round(tuple(followed), still)


def _follow(
    world: World, group: Group, waiting: Mapping[TopicPartition, Commit]
) -> tuple[Followed, Mapping[TopicPartition, Commit]]:
    there = world.target.get(group.name)
    kind = kind_refusal(group, "source") or (kind_refusal(there, "target") if there is not None else None)
    if kind is not None:
        return Followed(group.name, Following.HELD, {}, kind.what), {}
    active = active_refusal(there)
    if active is not None:
        return Followed(group.name, Following.ACTIVE, {}, active.what), {}
    if group.name in world.pending:
        first = min(world.pending[group.name])
        return Followed(group.name, Following.WAITING, {}, f"{first} is committed in an open transaction"), waiting
    writes: dict[TopicPartition, Commit] = {}
    left: dict[TopicPartition, Commit] = {}
    held: list[Reason] = []
    for at in sorted(group.commits):
        route, commit = world.routes.get(at), group.commits[at]
        if not isinstance(route, Route):
            if route is not None:
                held.append(Reason(ReasonKind.UNTOLD, f"{at}: {route.reason}", route.fix))
            continue
        found = answer(route, commit, world.link)
        if isinstance(found, Reason) and found.why is ReasonKind.NOT_COPIED:
            older = waiting.get(at)
            left[at] = commit if older is None or older.offset >= commit.offset else older
            found, commit = answer(route, left[at], world.link), left[at]
            if isinstance(found, int):
                left[at] = group.commits[at]
        if isinstance(found, Reason):
            if found.why is not ReasonKind.NOT_COPIED:
                held.append(Reason(found.why, f"{at}: {found.what}", found.fix))
            continue
        if world.metadata_limit is not None and units(commit.metadata) > world.metadata_limit:
            held.append(Reason(ReasonKind.METADATA, f"{at}: {units(commit.metadata):,} characters of metadata"))
            continue
        current = None if there is None else there.commits.get(route.target)
        if current is not None and found < current.offset:
            if at not in left:
                held.append(Reason(ReasonKind.BACKWARDS, f"{at}: {found:,} is before {current.offset:,} on the target"))
            continue
        if current is None or (current.offset, current.metadata) != (found, commit.metadata):
            writes[route.target] = Commit(found, commit.metadata)
    if held:
        more = f", and {len(held) - 1:,} more" if len(held) > 1 else ""
        return Followed(group.name, Following.HELD, writes, held[0].what + more), left
    if left:
        some = f"{min(left)} and {len(left) - 1:,} more" if len(left) > 1 else f"{min(left)}"
        return Followed(group.name, Following.WAITING, writes, f"not copied yet: {some}"), left
    return Followed(group.name, Following.IN_STEP, writes), left
