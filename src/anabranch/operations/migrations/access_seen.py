"""What is asked of both clusters before access rules and quotas are carried over."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka.acls import NoAuthorizerError, describe_acls
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.quotas import describe_quotas
from anabranch.kafka.scram import ScramUsersUnknownError, scram_users
from anabranch.migration.access.values import Access, quota_values
from anabranch.migration.spec import Migration
from anabranch.model.acls import Acl
from anabranch.model.reasons import Reason, Severity
from anabranch.state.codecs.topics import LINKS
from anabranch.state.topics.access import AccessRecord
from anabranch.state.topics.control import Links, present


@dataclass(frozen=True, slots=True)
class AccessSeen:
    """The source's rules (None where it has no authorizer), and both clusters' quotas and SCRAM users.

    ``users_known`` is whether both told their users; ``reasons`` are why not.
    """

    rules: tuple[Acl, ...] | None
    quotas: Access
    target: Access
    source_users: Collection[str]
    target_users: Collection[str]
    record: AccessRecord
    reasons: tuple[Reason, ...]


@dataclass(eq=False)
class WrongClusterError(RefusedError):
    """A context does not lead to the cluster that a migration is about: its rules say nothing of what was made."""

    context: str
    found: str
    wanted: str

    _message = "context {context} leads to cluster {found}, {wanted}"
    _hint = "correct the context (`anabranch context show {context}`), or the ids in the file"


async def look(source: Cluster, target: Cluster, migration: Migration) -> AccessSeen:
    """Ask both clusters.

    Raises WrongClusterError, NoAuthorizerError of the target, UnknownAclsError, PermissionDeniedError.
    """
    await _check_clusters(source, target, migration)
    quotas = migration.access.quotas
    there, record = await look_there(target, quotas=quotas)
    try:
        rules = await describe_acls(source)
    except NoAuthorizerError:
        rules = None
    here = quota_values(await describe_quotas(source)) if quotas else {}
    reasons: list[Reason] = []
    users = [await _users(cluster, reasons) for cluster in (source, target)]
    known = [one for one in users if one is not None]
    source_users, target_users = known if len(known) == 2 else ((), ())
    return AccessSeen(rules, Access(quotas=here), there, source_users, target_users, record, tuple(reasons))


async def look_there(target: Cluster, *, quotas: bool) -> tuple[Access, AccessRecord]:
    """What the target has, and what of it was made here; its quotas where that is asked, or some were made."""
    rules, record = frozenset(await describe_acls(target)), AccessRecord(target)
    await record.sync()
    asked = quotas or any(made.quotas for made in record.made.values())
    return Access(rules, quota_values(await describe_quotas(target)) if asked else {}), record


async def _check_clusters(source: Cluster, target: Cluster, migration: Migration) -> None:
    here, there = await source.cluster_id(), await target.cluster_id()
    for cluster, found, wanted in ((source, here, migration.source_id), (target, there, migration.target_id)):
        if wanted and found != wanted:
            raise WrongClusterError(cluster.name, found, f"not to {wanted}")
    if here == there:
        raise WrongClusterError(target.name, there, f"as {source.name} does")


async def _users(cluster: Cluster, reasons: list[Reason]) -> Collection[str] | None:
    try:
        return list(await scram_users(cluster))
    except ScramUsersUnknownError as error:
        reasons.append(Reason.found(Severity.WARNING, error.message, error.hint))
        return None


async def stored_links(source: Cluster) -> frozenset[str]:
    """The links that end on the source: a wave that has been switched has its way back there."""
    links = Links(source)
    if await present(source, [LINKS]):
        await links.sync()
    return frozenset(links.links)
