"""A rehearsal of a wave: the same migration on topics and groups that are made for it, and that nobody else uses.

A stream job of the wave is rehearsed on a copy of its checkpoint, which lies beside it in a directory of its own.

Invariant
    M10 it names no topic, group, checkpoint, link or code of the wave itself: whatever becomes of it, no application
        hears of it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from anabranch.migration.legs import LONGEST_LINK, Leg
from anabranch.migration.spec import (
    AccessCarryOver,
    FenceKind,
    Hooks,
    JobKind,
    Migration,
    StreamJob,
    Wave,
    WaveOrder,
)

BEGIN = "rehearsal."
_NAME = 40
_LONGEST_TOPIC = 249
_OTHER_SIGNS = re.compile(r"[^A-Za-z0-9._-]")
CHECKPOINT, MOVED = "checkpoint", "moved"
"""In a job's own directory: the copy of its checkpoint, and where a switch puts it that moves the real one."""


@dataclass(frozen=True, slots=True)
class ScratchJob:
    """A job of the wave, and the one that is rehearsed in its place."""

    real: StreamJob
    made: StreamJob

    @property
    def directories(self) -> tuple[str, ...]:
        """The directories of its own, in which all lies that is made for it."""
        places = (self.made.checkpoint, self.made.moved)
        return tuple(dict.fromkeys(place.rpartition("/")[0] for place in places if place))


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What is rehearsed: ``topics`` and ``groups`` by the real names, ``jobs``, and what is not, in words.

    ``real`` is the way there of the wave itself.
    """

    migration: Migration
    real: Leg
    topics: dict[str, str]
    groups: dict[str, str]
    jobs: tuple[ScratchJob, ...]
    left_out: tuple[str, ...]

    @property
    def leg(self) -> Leg:
        """The way there."""
        return Leg(self.migration, self.migration.waves[0])

    @property
    def checkpoints(self) -> dict[str, str]:
        """The places of copies by those of the real checkpoints."""
        return {job.real.checkpoint: job.made.checkpoint for job in self.jobs}


def rehearsal_of(migration: Migration, wave: Wave) -> Rehearsal:
    """The rehearsal of a wave; the same at each call, so that what a killed one has left is found."""
    topics = {topic: _scratch(migration, topic) for topic in wave.topics}
    groups = {group: _scratch(migration, group) for group in wave.groups}
    jobs = tuple(_scratch_job(migration, job) for job in wave.jobs)
    fences = tuple(one for one in wave.fences if one is FenceKind.OBSERVE or (_denies(wave) and one is FenceKind.ACL))
    made = Wave(
        wave.name,
        tuple(topics.values()),
        tuple(groups.values()),
        tuple(job.made for job in jobs),
        principals=wave.principals if FenceKind.ACL in fences else (),
        order=WaveOrder.TOGETHER,
        fences=fences or (FenceKind.OBSERVE,),
        hooks=Hooks(),
    )
    limits = replace(migration.limits, job_quiet_ms=0)  # nobody writes to copies
    scratch = replace(
        migration, name=_name(migration), waves=(made,), limits=limits, approvers=(), access=AccessCarryOver()
    )
    if len(scratch.name) > _NAME or len(Leg(scratch, made, 1).link) > LONGEST_LINK:
        scratch = replace(scratch, name=_short_name(migration))
    return Rehearsal(scratch, Leg(migration, wave), topics, groups, jobs, tuple(_left_out(migration, wave)))


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


def _scratch_job(migration: Migration, job: StreamJob) -> ScratchJob:
    """Beside each of its places, where the real one is read and written, too."""
    name = _OTHER_SIGNS.sub("_", job.name)
    if name != job.name:
        name += f"-{hashlib.sha256(job.name.encode()).hexdigest()[:8]}"
    directory = _scratch(migration, name)

    def beside(place: str, inside: str) -> str:
        if job.kind is JobKind.FLINK:
            place = place.removesuffix("/_metadata")  # by which a snapshot may be named, too
        head, slash, _ = place.rstrip("/").rpartition("/")
        return f"{head}{slash}{directory}/{inside}"

    moved = beside(job.moved, MOVED) if job.moved else ""
    return ScratchJob(job, StreamJob(job.name, job.kind, beside(job.checkpoint, CHECKPOINT), moved))


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
    if wave.denies_readers:
        yield "readers deny: nobody reads in groups that are made for this"
    if wave.codes:
        yield f"codes {', '.join(wave.codes)}: applications are not led"
    if wave.hooks.release:
        yield f"hook {wave.hooks.release}: it would let real applications go on"
    if wave.order is not WaveOrder.TOGETHER:
        yield f"order {wave.order.value}: all of it is switched at once"
    for job in wave.jobs:
        yield f"state of job {job.name}: it holds no positions, and is not copied"
