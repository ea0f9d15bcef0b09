"""A first migration, written from what the source is seen to hold."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import ClusterError, RefusedError
from anabranch.kafka.acls import NoAuthorizerError, describe_acls
from anabranch.kafka.cluster import Cluster
from anabranch.migration.inventory import Inventory
from anabranch.migration.spec import FenceKind, Migration
from anabranch.migration.suggest import suggest
from anabranch.model.reasons import Reason, Severity
from anabranch.operations.migrations.inventory import take_inventory


@dataclass(frozen=True, slots=True)
class Discovered:
    """What the source holds, and a migration of all of it; ``reasons`` are what its author should look at."""

    source: Inventory
    migration: Migration
    reasons: tuple[Reason, ...]


async def discover(source: Cluster, target: Cluster, name: str, *, watch_s: float) -> Discovered:
    """Look at both clusters and suggest waves; changes nothing.  Raises ClusterError."""
    seen = await take_inventory(source, watch_s=watch_s)
    fences, reasons = await _fences(source)
    migration = suggest(name, target.name, await target.cluster_id(), seen, fences)
    return Discovered(seen, migration, (*seen.unavailable, *reasons))


async def _fences(source: Cluster) -> tuple[tuple[FenceKind, ...], tuple[Reason, ...]]:
    """Those that the source has a use for, and why others are left out."""
    try:
        await describe_acls(source)
    except NoAuthorizerError as error:
        return (FenceKind.OBSERVE,), (Reason.found(Severity.INFO, f"fence acl is left out: {error.message}"),)
    except (ClusterError, RefusedError) as error:
        what = f"fence acl is left out: ACLs of {source.name} cannot be read: {error.message}"
        return (FenceKind.OBSERVE,), (Reason.found(Severity.WARNING, what, error.hint),)
    return (FenceKind.ACL, FenceKind.OBSERVE), ()
