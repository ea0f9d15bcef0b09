"""Carry access rules and quotas over to the target: planned, applied, kept up with what changes on the source.

What is made is written down before, in ``__anabranch_access`` on the target: the record lies where its rules lie, as
undo records of groups do, so that whoever comes next, from whichever machine, deletes nothing that was not made here.

The races: a rule that somebody else makes between the look and the making counts as made here, and so does one that
two waves, applied at once by two people, each take for their own; the next look finds what is missing then.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from anabranch.errors import RefusedError
from anabranch.kafka.acls import AclsRefusedError, create_acls, delete_acls, describe_acls
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.kafka.quotas import alter_quotas, describe_quotas
from anabranch.migration.access.diff import AccessDiff, QuotaChange, changed, diff, once_made, refused, while_made
from anabranch.migration.access.scope import access_scope
from anabranch.migration.access.values import Access, Made, QuotaKey, WaveName, all_made, quota_values
from anabranch.migration.access.wave import WantedAccess, WaveAccess, access_reasons, wanted_access, wave_access
from anabranch.migration.legs import Leg
from anabranch.migration.spec import Migration
from anabranch.model.acls import Acl, ResourceType
from anabranch.model.counted import counted
from anabranch.model.plans import REQUEST, check_holds, plan_hash
from anabranch.model.quotas import QuotaEntity
from anabranch.model.reasons import Reason, Severity
from anabranch.operations.documents import plain
from anabranch.operations.migrations.access_seen import AccessSeen, look, look_there, stored_links
from anabranch.state.topics.access import AccessRecord

MayChange = Callable[[AccessDiff], Awaitable[bool]]
"""Whether what was found to do may still be done."""

_TOLD_S, _PAUSE_S = 5.0, 0.02


@dataclass(frozen=True, slots=True)
class AccessPlan:
    """What is done on the target for each wave that has not been switched yet; the hash covers what is done alone."""

    migration: str
    source: str
    target: str
    waves: tuple[WaveAccess, ...]
    reasons: tuple[Reason, ...]
    hash: str
    request: Migration = field(metadata=REQUEST)

    @property
    def changes(self) -> bool:
        """Whether there is something to do."""
        return any(wave.changes.changes for wave in self.waves)


@dataclass(frozen=True, slots=True)
class AccessReport:
    """What was done on the target."""

    target: str
    created: tuple[Acl, ...]
    deleted: tuple[Acl, ...]
    quotas: tuple[QuotaChange, ...]


async def plan(source: Cluster, target: Cluster, migration: Migration, only: Collection[str] = ()) -> AccessPlan:
    """Look at both clusters for a migration that has no faults; changes nothing.

    ``only`` are the waves that it is planned for, by default all of them.

    A wave whose way back is stored has been switched: the source leads no more, and nothing is carried over for it.
    Raises WrongClusterError, NoAuthorizerError of the target, UnknownAclsError, ClusterError.
    """
    links = await stored_links(source)
    legs = [Leg(migration, wave) for wave in migration.chosen(only)]
    done = [leg.wave.name for leg in legs if leg.next.link in links]
    seen = await look(source, target, migration)
    waves = _waves(source, seen, [leg for leg in legs if leg.wave.name not in done])
    reasons = [one for wave in waves for one in access_reasons(wave, source.name, target.name)]
    reasons += [_switched(wave, target.name) for wave in done]
    reasons += _unnamed(seen.record, migration)
    hash_ = plan_hash(await source.cluster_id(), await target.cluster_id(), migration.name, *map(_rests_on, waves))
    return AccessPlan(
        migration.name, source.name, target.name, tuple(waves), (*reasons, *seen.reasons), hash_, migration
    )


async def apply(source: Cluster, target: Cluster, planned: AccessPlan) -> AccessReport:
    """Do what was planned, if it still holds; done again it does nothing.

    Raises PlanChangedError, AclsRefusedError, QuotasRefusedError, ControlLostError, ClusterError.
    """
    now = await plan(source, target, planned.request)
    check_holds(f"access of migration {planned.migration!r}", planned, now)
    record = AccessRecord(target)
    await record.sync()
    return await _make(target, record, {WaveName(now.migration, one.wave): one.changes for one in now.waves})


async def carry_over(source: Cluster, target: Cluster, leg: Leg, may: MayChange | None = None) -> AccessReport:
    """Do it for the wave of a leg that leads to the target; raises what ``plan`` and ``apply`` raise.

    ``may`` is asked where there is something to do, after both clusters were looked at: where it says no, nothing is
    done.
    """
    seen = await look(source, target, leg.migration)
    (found,) = _waves(source, seen, [leg])
    if may is not None and not (found.changes.changes and await may(found.changes)):
        return AccessReport(target.name, (), (), ())
    return await _make(target, seen.record, {WaveName(leg.migration.name, found.wave): found.changes})


async def legs_to_carry(source: Cluster, target: Cluster, migration: Migration, legs: Sequence[Leg]) -> Sequence[Leg]:
    """Those legs for whose waves there is something to do, by one look; changes nothing, raises what ``plan`` does."""
    waves = _waves(source, await look(source, target, migration), legs)
    return [leg for leg, one in zip(legs, waves, strict=True) if one.changes.changes]


async def take_back(target: Cluster, leg: Leg) -> AccessReport:
    """Delete what was made for a wave, but for what was made for another one, too, or has been changed since."""
    owner = WaveName(leg.migration.name, leg.wave.name)
    there, record = await look_there(target, quotas=False)
    others = all_made(made for name, made in record.made.items() if name != owner)
    return await _make(target, record, {owner: diff(Access(), there, record.made.get(owner, Made()), others)})


async def reasons_of(
    source: Cluster, target: Cluster, migration: Migration, only: Collection[str] = ()
) -> tuple[Reason, ...]:
    """What the plan of a migration says of its waves: what forbids it, too, is a reason.  Raises ClusterError."""
    try:
        return (await plan(source, target, migration, only)).reasons
    except (RefusedError, PermissionDeniedError) as error:
        what = f"access rules cannot be carried over: {error.message}"
        return (Reason.found(Severity.ERROR, what, error.hint),)


def _waves(source: Cluster, seen: AccessSeen, legs: Iterable[Leg]) -> list[WaveAccess]:
    """What is done for each, after those before it."""
    target, made = seen.target, dict(seen.record.made)
    found = []
    for leg in legs:
        owner = WaveName(leg.migration.name, leg.wave.name)
        own, others = made.get(owner, Made()), all_made(one for name, one in made.items() if name != owner)
        wanted = _wanted(source, seen, leg, own)
        changes = diff(wanted.access, target, own, others)
        target, made[owner] = changed(target, changes), once_made(own, changes)
        found.append(wave_access(leg.wave.name, wanted, changes))
    return found


def _wanted(source: Cluster, seen: AccessSeen, leg: Leg, own: Made) -> WantedAccess:
    """What one is to have; a transactional id that brokers have forgotten meanwhile is proposed as before."""
    scope = access_scope(leg, source.transport.principal)
    ids = {name for topic in leg.wave.topics for name in seen.transactional_ids.get(topic, ())}
    ids |= {rule.resource_name for rule in own.rules if rule.resource_type is ResourceType.TRANSACTIONAL_ID}
    return wanted_access(scope, seen.rules, seen.quotas.quotas, seen.source_users, seen.target_users, sorted(ids))


def _switched(wave: str, target: str) -> Reason:
    return Reason.found(Severity.INFO, f"wave {wave} has been switched: its access rules are those of {target} now")


def _unnamed(record: AccessRecord, migration: Migration) -> Iterable[Reason]:
    """What was made for waves that the file had once: it stays, for nobody says what became of them."""
    for (name, wave), made in sorted(record.made.items(), key=lambda one: one[0]):
        if name == migration.name and migration.wave(wave) is None and (made.rules or made.quotas):
            what = f"{counted(len(made.rules), 'access rule')} of wave {wave}, which is not in the file, stay"
            yield Reason.found(Severity.WARNING, what, "name the wave in the file again, or delete them by hand")


def _rests_on(found: WaveAccess) -> object:
    changes = found.changes
    rules = changes.create, changes.delete, changes.adopt, changes.forget
    return plain((found.wave, *rules, changes.quotas, changes.quotas_adopted, changes.quotas_forgotten))


async def _make(target: Cluster, record: AccessRecord, wanted: Mapping[WaveName, AccessDiff]) -> AccessReport:
    own = {owner: record.made.get(owner, Made()) for owner in wanted}
    await record.put({owner: while_made(own[owner], changes) for owner, changes in wanted.items()})
    try:
        report = await _change(target, list(wanted.values()))
    except (RefusedError, PermissionDeniedError) as error:
        # A broker that does not tell yet of what was done would make it somebody else's.
        done = error.done if isinstance(error, AclsRefusedError) else ()
        await _until_told(target, set(done), set(), {})
        there, _ = await look_there(target, quotas=any(changes.quotas for changes in wanted.values()))
        await record.put({owner: refused(own[owner], changes, there) for owner, changes in wanted.items()})
        raise
    await record.put({owner: once_made(own[owner], changes) for owner, changes in wanted.items()})
    return report


async def _change(target: Cluster, wanted: Sequence[AccessDiff]) -> AccessReport:
    create = {rule for changes in wanted for rule in changes.create}
    gone = {rule for changes in wanted for rule in changes.delete} - create
    quotas = {change.key: change for changes in wanted for change in changes.quotas}
    if create:
        await create_acls(target, create)
    if quotas:
        await alter_quotas(target, _by_entity(quotas.values()))
    deleted = await delete_acls(target, gone) if gone else ()
    await _until_told(target, create, gone, quotas)
    return AccessReport(target.name, tuple(sorted(create)), deleted, tuple(quotas.values()))


async def _until_told(
    target: Cluster, create: Set[Acl], gone: Set[Acl], quotas: Mapping[QuotaKey, QuotaChange]
) -> None:
    """Brokers follow the controller: wait until one tells what was done, so that the next look finds it.

    Where somebody else changes it meanwhile that never comes: then it ends after some seconds.
    """
    deadline = time.monotonic() + _TOLD_S
    while create or gone or quotas:
        rules = set(await describe_acls(target))
        values = quota_values(await describe_quotas(target)) if quotas else {}
        are_told = all(values.get(key) == change.value for key, change in quotas.items())
        if (are_told and rules >= create and not rules & gone) or time.monotonic() > deadline:
            return
        await asyncio.sleep(_PAUSE_S)


def _by_entity(changes: Iterable[QuotaChange]) -> dict[QuotaEntity, dict[str, float | None]]:
    found: dict[QuotaEntity, dict[str, float | None]] = {}
    for change in changes:
        found.setdefault(change.entity, {})[change.name] = change.value
    return found
