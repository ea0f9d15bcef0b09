"""What is wrong with a migration as it is asked for, before any cluster is looked at: every reason at once.

Invariants, of a migration in which nothing is wrong
    M1  each topic, group, job and cluster code belongs to one wave: a wave is switched without asking another one.
    M2  each wave can keep its producers from writing, and its consumers from reading, in each way that it names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.migration.access.scope import EVERYBODY
from anabranch.migration.legs import LONGEST_LINK, NAME, longest_link, same_links
from anabranch.migration.spec import AccessCarryOver, FenceKind, JobKind, Migration, Readers, Wave, WaveOrder
from anabranch.model.filters import INTERNAL
from anabranch.model.reasons import Reason, Severity, errors

_PRINCIPAL = re.compile(r"[A-Za-z]+:.+")


@dataclass(eq=False)
class InvalidMigrationError(RefusedError):
    """A migration that contradicts itself; ``reasons`` are all of its faults, ``where`` its file, if it is one."""

    name: str
    reasons: tuple[Reason, ...]
    where: str = ""

    @property
    def message(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}migration {self.name!r} cannot be: {'; '.join(reason.what for reason in self.reasons)}"

    @property
    def hint(self) -> str:
        return self.reasons[0].fix


def check_sound(migration: Migration, where: str = "") -> tuple[Reason, ...]:
    """What is worth a look in a migration that has no faults; raises InvalidMigrationError for one that has."""
    found = check(migration)
    if faults := errors(found):
        raise InvalidMigrationError(migration.name, faults, where)
    return found


def check(migration: Migration) -> tuple[Reason, ...]:
    """Every fault of a migration, and what is worth a look."""
    waves = (one for wave in migration.waves for one in _wave(wave, migration.access))
    return (*_names(migration), *_shared(migration), *_access(migration.access), *waves)


def _error(what: str, fix: str = "") -> Reason:
    return Reason.found(Severity.ERROR, what, fix)


def _names(migration: Migration) -> Iterator[Reason]:
    named = [("the migration", migration.name), *((f"wave {wave.name!r}", wave.name) for wave in migration.waves)]
    for what, name in named:
        if not NAME.fullmatch(name):
            yield _error(f"{what} has no legal name: {name!r}", "use lower case letters, digits, - and _, at most 40")
    if (longest := longest_link(migration)) and len(longest) > LONGEST_LINK:
        what = f"link {longest} would have a name of {len(longest)} characters, and may have {LONGEST_LINK}"
        yield _error(what, "give the migration or its waves shorter names")
    for one, other in same_links(wave.name for wave in migration.waves):
        yield _error(f"links of wave {one} would have names of links of wave {other}", "call one of them otherwise")
    if migration.source == migration.target:
        yield _error(f"{migration.source} is source and target", "name two contexts: `anabranch context list`")
    if migration.source_id and migration.source_id == migration.target_id:
        yield _error(f"source and target have one cluster id, {migration.source_id}", "correct source_id or target_id")
    if not migration.waves:
        yield _error("it has no wave", "name topics and groups below waves, or begin with `anabranch migrate discover`")
    for wave in _twice(wave.name for wave in migration.waves):
        yield _error(f"wave {wave!r} is there twice", "give each a name of its own")


def _shared(migration: Migration) -> Iterator[Reason]:
    """M1."""
    kinds: tuple[tuple[str, Callable[[Wave], Iterable[str]]], ...] = (
        ("topic", lambda wave: wave.topics),
        ("group", lambda wave: wave.groups),
        ("job", lambda wave: (job.name for job in wave.jobs)),
        ("path", lambda wave: (path for job in wave.jobs for path in sorted({job.checkpoint, job.moved} - {""}))),
        ("code", lambda wave: wave.codes),
    )
    for kind, of in kinds:
        waves: dict[str, list[str]] = defaultdict(list)
        for wave in migration.waves:
            for name in of(wave):
                waves[name].append(wave.name)
        for name, holders in sorted(waves.items()):
            if len(set(holders)) > 1:
                where = ", ".join(sorted(set(holders)))
                yield _error(
                    f"{kind} {name} belongs to waves {where}: applications that share it must be switched together",
                    "name it in one of them, or make one wave of these",
                )
            elif len(holders) > 1:
                yield _error(f"{kind} {name} is named {len(holders)} times in wave {holders[0]}", "name it once")


def _access(access: AccessCarryOver) -> Iterator[Reason]:
    for principal in dict.fromkeys((*access.principals, *access.principals.values())):
        if not _PRINCIPAL.fullmatch(principal):
            yield _error(f"access: {principal!r} is no principal", "write it as the brokers do: User:NAME")
        elif principal == EVERYBODY:
            yield _error("access: everybody is mapped to somebody", "map each principal by its own name")


def _wave(wave: Wave, access: AccessCarryOver) -> Iterator[Reason]:
    what = f"wave {wave.name}"
    if not wave.topics:
        yield _error(f"{what} has no topic", "name what its applications read and write")
    for topic in wave.topics:
        if INTERNAL.fullmatch(topic):
            yield _error(f"{what}: topic {topic} is never copied", "leave it out: each cluster has its own")
    yield from _fences(wave, access)
    for job in wave.jobs:
        if job.kind is JobKind.FLINK and not job.moved:
            yield _error(
                f"{what}: job {job.name}: a Flink snapshot is not rewritten in its place", "say where to put it: moved"
            )
        if job.moved and job.moved.rstrip("/") == job.checkpoint.rstrip("/"):
            yield _error(f"{what}: job {job.name}: moved is where the checkpoint is", "name another path")
    if wave.order is not WaveOrder.PRODUCERS_FIRST and not (wave.groups or wave.jobs):
        yield Reason.found(
            Severity.WARNING,
            f"{what} has neither groups nor jobs: whoever reads its topics is not moved",
            "name them, or be sure that nobody reads",
        )


def _fences(wave: Wave, access: AccessCarryOver) -> Iterator[Reason]:
    """M2."""
    what = f"wave {wave.name}"
    if not wave.fences:
        yield _error(
            f"{what} has no fence, so its producers could write on", "name some of: routes, acl, hook, observe"
        )
    for fence in _twice(fence.value for fence in wave.fences):
        yield _error(f"{what}: fence {fence} is named twice", "name it once")
    needs = (
        (FenceKind.ROUTES, wave.codes, "codes", "the cluster codes that its applications name"),
        (FenceKind.HOOK, wave.hooks.fence, "hooks.fence", "the command that stops its producers"),
    )
    for fence, given, field, means in needs:
        if fence in wave.fences and not given:
            yield _error(f"{what}: fence {fence.value} needs {field}", f"name {means}, or leave the fence out")
    denies = wave.readers is Readers.DENY
    if denies and not wave.groups:
        yield _error(f"{what}: readers deny needs groups", "name those in which reading is denied, or leave it out")
    if denies and wave.order is WaveOrder.PRODUCERS_FIRST:
        yield _error(f"{what}: readers deny is not for order {wave.order.value}", "take another order, or leave it out")
    if wave.principals and FenceKind.ACL not in wave.fences and not denies and access == AccessCarryOver():
        what_for = "principals are for fence acl, readers deny or access"
        yield _error(f"{what}: {what_for}", "add one of these, or leave them out")
    for principal in wave.principals:
        if not _PRINCIPAL.fullmatch(principal):
            yield _error(f"{what}: {principal!r} is no principal", "write it as the brokers do: User:NAME")


def _twice(names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    found: set[str] = set()
    for name in names:
        (found if name in seen else seen).add(name)
    return sorted(found)
