"""What is asked of both clusters before access rules and quotas are carried over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from anabranch.errors import AnabranchError, RefusedError
from anabranch.kafka.acls import NoAuthorizerError, describe_acls
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.kafka.quotas import describe_quotas
from anabranch.kafka.scram import ScramUsersUnknownError, scram_users
from anabranch.kafka.transactions import transactional_ids
from anabranch.kafka.writers import active_producers
from anabranch.migration.access.lacking import AccessOfBoth, lacking_reasons
from anabranch.migration.access.scope import access_scope
from anabranch.migration.access.values import Access, quota_values
from anabranch.migration.legs import Leg
from anabranch.migration.spec import Migration
from anabranch.model.acls import Acl
from anabranch.model.reasons import Reason, Severity
from anabranch.model.topics import TopicPartition
from anabranch.state.codecs.topics import LINKS
from anabranch.state.topics.access import AccessRecord
from anabranch.state.topics.control import Links, present


@dataclass(frozen=True, slots=True)
class AccessSeen:
    """The source's rules (None where it has no authorizer), and both clusters' quotas and SCRAM users.

    ``transactional_ids`` are those that write to each topic of a source without an authorizer; ``reasons`` say what one
    of both did not tell.
    """

    rules: tuple[Acl, ...] | None
    quotas: Access
    target: Access
    source_users: Collection[str]
    target_users: Collection[str]
    record: AccessRecord
    reasons: tuple[Reason, ...]
    transactional_ids: Mapping[str, Collection[str]] = field(default_factory=dict, hash=False)


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
    rules = await _rules(source)
    here = quota_values(await describe_quotas(source)) if quotas else {}
    reasons: list[Reason] = []
    ids = await _transactional_ids(source, migration, reasons) if rules is None else {}
    users = [await _users(cluster, reasons) for cluster in (source, target)]
    known = [one for one in users if one is not None]
    source_users, target_users = known if len(known) == 2 else ((), ())
    return AccessSeen(rules, Access(quotas=here), there, source_users, target_users, record, tuple(reasons), ids)


async def _transactional_ids(source: Cluster, migration: Migration, reasons: list[Reason]) -> dict[str, set[str]]:
    """Which write to each topic of a migration that is there, by the producer ids that its leaders remember."""
    names = sorted({topic for wave in migration.waves for topic in wave.topics})
    try:
        metadata = await source.metadata(names)
        there = [name for name in names if metadata.topics[name].error == 0]
        partitions = [TopicPartition(name, at) for name in there for at in metadata.topics[name].partitions]
        entries, ids = await active_producers(source, metadata, partitions), await transactional_ids(source)
    except AnabranchError as error:
        what = f"transactional ids of {source.name} are not known, and none is proposed: {error.message}"
        reasons.append(Reason.found(Severity.WARNING, what, error.hint))
        return {}
    found: dict[str, set[str]] = defaultdict(set)
    for partition, mine in entries.items():
        found[partition.topic] |= {ids[entry.producer_id] for entry in mine if entry.producer_id in ids}
    return found


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


async def lacking(
    source: Cluster, target: Cluster, migration: Migration, only: Collection[str] = ()
) -> tuple[Reason, ...]:
    """What applications would lack on the target where nothing is carried over; what is not told is a reason, too."""
    try:
        rules, there = await _rules(source), await _rules(target)
        quotas = [quota_values(await describe_quotas(cluster)) for cluster in (source, target)]
        scopes = {
            wave.name: access_scope(Leg(migration, wave), source.transport.principal) for wave in migration.chosen(only)
        }
        return tuple(lacking_reasons(scopes, AccessOfBoth(source.name, target.name, rules, there, *quotas)))
    except (RefusedError, PermissionDeniedError) as error:
        what = f"whether applications lack access rules or quotas on {target.name} is not known: {error.message}"
        return (Reason.found(Severity.WARNING, what, error.hint),)


async def _rules(cluster: Cluster) -> tuple[Acl, ...] | None:
    try:
        return await describe_acls(cluster)
    except NoAuthorizerError:
        return None
