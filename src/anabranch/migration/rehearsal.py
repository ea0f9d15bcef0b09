"""A rehearsal of a wave: the same migration on topics and groups that are made for it, and that nobody else uses.

Invariant
    M10 it names no topic, group, link or code of the wave itself: whatever becomes of it, no application hears of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from anabranch.migration.legs import LONGEST_LINK, Leg
from anabranch.migration.spec import AccessCarryOver, FenceKind, Hooks, Migration, Readers, Wave, WaveOrder

BEGIN = "rehearsal."
_NAME = 40
_LONGEST_TOPIC = 249


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What is rehearsed: ``topics`` and ``groups`` by the real names, and what is not, in words."""

    migration: Migration
    topics: dict[str, str]
    groups: dict[str, str]
    left_out: tuple[str, ...]

    @property
    def leg(self) -> Leg:
        """The way there."""
        return Leg(self.migration, self.migration.waves[0])


def rehearsal_of(migration: Migration, wave: Wave) -> Rehearsal:
    """The rehearsal of a wave; the same at each call, so that what a killed one has left is found."""
    topics = {topic: _scratch(migration, topic) for topic in wave.topics}
    groups = {group: _scratch(migration, group) for group in wave.groups}
    fences = tuple(one for one in wave.fences if one is FenceKind.OBSERVE or (_denies(wave) and one is FenceKind.ACL))
    made = Wave(
        wave.name,
        tuple(topics.values()),
        tuple(groups.values()),
        principals=wave.principals if FenceKind.ACL in fences else (),
        order=WaveOrder.TOGETHER,
        fences=fences or (FenceKind.OBSERVE,),
        hooks=Hooks(),
    )
    scratch = replace(migration, name=_name(migration), waves=(made,), approvers=(), access=AccessCarryOver())
    if len(scratch.name) > _NAME or len(Leg(scratch, made, 1).link) > LONGEST_LINK:
        scratch = replace(scratch, name=_short_name(migration))
    return Rehearsal(scratch, topics, groups, tuple(_left_out(migration, wave)))


def _name(migration: Migration) -> str:
    return f"rehearse-{migration.name}"


def _short_name(migration: Migration) -> str:
    """Where the whole name leaves no room for a wave's; two migrations have two of these."""
    return f"rehearse-{hashlib.sha256(migration.name.encode()).hexdigest()[:8]}"


def _scratch(migration: Migration, name: str) -> str:
    """One that is too long is cut, and ends with a hash: of two that begin alike none becomes the other."""
    made = f"{BEGIN}{migration.name}.{name}"
    if len(made) <= _LONGEST_TOPIC:
        return made
    end = f"-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return made[: _LONGEST_TOPIC - len(end)] + end


def _denies(wave: Wave) -> bool:
    """Whether the fence names whom it denies; whom rules of the real topics allow has none of topics that are made."""
    return bool(wave.principals)


def _left_out(migration: Migration, wave: Wave) -> Iterator[str]:
    if migration.access.sync:
        yield "access rules and quotas: none are carried over"
    for fence in wave.fences:
        if fence is FenceKind.ACL and not _denies(wave):
            yield "fence acl: the wave names no principals, and nobody has rights on topics that are made for this"
        elif fence is FenceKind.ROUTES:
            yield f"fence routes: clients of {', '.join(wave.codes)} are not asked to pause"
        elif fence is FenceKind.HOOK:
            yield f"hook {wave.hooks.fence}: it would stop real producers"
    if wave.readers is Readers.DENY:
        yield "readers deny: nobody reads in groups that are made for this"
    if wave.codes:
        yield f"codes {', '.join(wave.codes)}: applications are not led"
    if wave.hooks.release:
        yield f"hook {wave.hooks.release}: it would let real applications go on"
    if wave.order is not WaveOrder.TOGETHER:
        yield f"order {wave.order.value}: all of it is switched at once"
    for job in wave.jobs:
        yield f"job {job.name}: its checkpoint holds positions of the real topics"
