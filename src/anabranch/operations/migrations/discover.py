"""A first migration, written from what the source is seen to hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.errors import ClusterError, RefusedError
from anabranch.kafka.acls import NoAuthorizerError, describe_acls
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.quotas import describe_quotas
from anabranch.migration.inventory import Inventory
from anabranch.migration.spec import AccessCarryOver, FenceKind, Migration
from anabranch.migration.suggest import SeenAccess, everybody_writes, suggest
from anabranch.migration.words import named
from anabranch.model.acls import Acl
from anabranch.model.quotas import Quota
from anabranch.model.reasons import Reason, Severity
from anabranch.operations.migrations.inventory import take_inventory


@dataclass(frozen=True, slots=True)
class Discovered:
    """What the source holds, and a migration of all of it; ``reasons`` are what its author should look at.

    ``rules`` are its access rules, None where it has no authorizer or does not tell; ``quotas`` likewise.
    """

    source: Inventory
    migration: Migration
    reasons: tuple[Reason, ...]
    rules: tuple[Acl, ...] | None = None
    quotas: tuple[Quota, ...] | None = None


async def discover(source: Cluster, target: Cluster, name: str, *, watch_s: float) -> Discovered:
    """Look at both clusters and suggest waves; changes nothing.  Raises ClusterError."""
    seen = await take_inventory(source, watch_s=watch_s)
    rules, reasons = await _rules(source)
    quotas = await _quotas(source, reasons)
    access = AccessCarryOver()
    if rules and await _has_authorizer(target, reasons):
        access = AccessCarryOver(True, quotas=bool(quotas))
    fences = (FenceKind.OBSERVE,) if rules is None else (FenceKind.ACL, FenceKind.OBSERVE)
    of_source = SeenAccess(rules or (), source.transport.principal)
    migration = suggest(name, target.name, await target.cluster_id(), seen, fences, access, of_source)
    found = (*seen.unavailable, *reasons, *_everybody(migration, of_source))
    return Discovered(seen, migration, found, rules, quotas)


async def _rules(source: Cluster) -> tuple[tuple[Acl, ...] | None, list[Reason]]:
    """The source's rules, and why there are none and fence acl is left out."""
    try:
        return await describe_acls(source), []
    except NoAuthorizerError as error:
        return None, [Reason.found(Severity.INFO, f"fence acl is left out: {error.message}")]
    except (ClusterError, RefusedError) as error:
        what = f"fence acl is left out: ACLs of {source.name} cannot be read: {error.message}"
        return None, [Reason.found(Severity.WARNING, what, error.hint)]


async def _quotas(source: Cluster, reasons: list[Reason]) -> tuple[Quota, ...] | None:
    try:
        return tuple(await describe_quotas(source))
    except (ClusterError, RefusedError) as error:
        what = f"quotas of {source.name} are not known: {error.message}"
        reasons.append(Reason.found(Severity.WARNING, what, error.hint))
        return None


async def _has_authorizer(target: Cluster, reasons: list[Reason]) -> bool:
    """Whether access rules can be carried over to it; why not is a reason."""
    try:
        await describe_acls(target)
    except (ClusterError, RefusedError) as error:
        what = f"access rules are not carried over: {error.message}"
        reasons.append(Reason.found(Severity.WARNING, what, error.hint))
        return False
    return True


def _everybody(migration: Migration, seen: SeenAccess) -> Iterator[Reason]:
    """Topics to which everybody may write: a fence that denied everybody would deny the links, too."""
    for wave in migration.waves:
        if topics := everybody_writes(wave.topics, seen):
            what = f"wave {wave.name}: a rule lets everybody write to {named(topics, 'topic')}"
            yield Reason.found(Severity.WARNING, what, "name whom the fence is to deny it: principals")
