"""What a wave's switch needs beyond what its forward link needs: looked for before anybody is held up by it.

Past the point of no return a step that is refused is tried again for good, with applications held up meanwhile; so all
that is done there is asked for before: positions on the cluster that is moved to, the way back, and the fence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from anabranch.errors import RefusedError
from anabranch.kafka import admin
from anabranch.kafka.acls import describe_acls
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import UNKNOWN_TOPIC, BrokerRefusedError, PermissionDeniedError
from anabranch.kafka.groups.rights import group_operations
from anabranch.kafka.probe import ClusterRole, facts
from anabranch.migration.fences import READING, WRITING, RuleFence
from anabranch.migration.legs import Leg
from anabranch.migration.steps import Part
from anabranch.migration.words import named
from anabranch.model.acls import AclOperation
from anabranch.model.reasons import Reason, Severity
from anabranch.model.topics import TopicId
from anabranch.operations.links import probing
from anabranch.operations.links.permissions import probe_permissions
from anabranch.operations.migrations import fencing
from anabranch.state.codecs import topics as control_topics
from anabranch.state.topics.upkeep import look_after

_TOPIC_DENIED = 29
_USUAL_SESSION_MS = 45_000
"""``session.timeout.ms`` of clients since 3.0, and ``group.consumer.session.timeout.ms`` of brokers."""


async def lacking(leg: Leg, part: Part, here: Cluster, there: Cluster) -> tuple[Reason, ...]:
    """What clusters do not grant, or offer, of what a switch of a part of a wave does; raises ClusterError."""
    found: list[Reason] = []
    if part is not Part.PRODUCERS and leg.wave.groups:
        found += await _groups(there, leg.wave.groups)
        found += await control(there, [control_topics.POSITIONS])
    if part is not READING.without and READING.is_asked(leg.wave):
        found += [*await _fence(leg, here, there, READING), *_sessions(leg)]
    if part is not Part.CONSUMERS:
        if WRITING.is_asked(leg.wave):
            found += await _fence(leg, here, there, WRITING)
        found += [replace(reason, what=f"the way back: {reason.what}") for reason in await _way_back(leg, here, there)]
    return tuple(found)


async def _groups(there: Cluster, groups: Sequence[str]) -> Iterator[Reason]:
    """Committing for a group takes READ on it, also for one that is not there yet."""
    told = await group_operations(there, groups)
    return (
        _denied(there, "READ", "group", name, "its positions cannot be committed there")
        for name, allowed in sorted(told.items())
        if not AclOperation.READ.allowed_by(allowed)
    )


async def control(cluster: Cluster, names: Sequence[str] = control_topics.ALL) -> list[Reason]:
    """What we may not do with control topics: read and write those that are there, make the others."""
    answer = await cluster.metadata(list(names), operations=True)
    denied: dict[str, list[str]] = defaultdict(list)
    found = []
    for name in names:
        topic = answer.topics[name]
        if topic.error == UNKNOWN_TOPIC:
            try:
                await admin.create_topic(cluster, name, control_topics.PARTITIONS, -1, {}, only_ask=True)
            except PermissionDeniedError:
                denied["CREATE"].append(name)
            except BrokerRefusedError as error:
                what = f"topic {name} cannot be made on {cluster.name}: {error.message}"
                found.append(Reason.found(Severity.ERROR, what, error.hint))
            continue
        # Whoever may do one of them may look; what else is wrong with a topic passes.
        allowed = topic.operations if topic.error == 0 else frozenset()
        for one in (AclOperation.READ, AclOperation.WRITE):
            if topic.error in (0, _TOPIC_DENIED) and not one.allowed_by(allowed):
                denied[one.name].append(name)
    principal = cluster.transport.principal
    for operation, topics in sorted(denied.items()):
        what = f"{principal} may not {operation} on {named(topics, 'topic')} of {cluster.name}: links keep state there"
        allow = f"kafka-acls --add --allow-principal {principal} --operation {operation} --topic=__anabranch_ "
        found.append(Reason.found(Severity.ERROR, what, f"{allow}--resource-pattern-type=prefixed"))
    return found


async def _fence(leg: Leg, here: Cluster, there: Cluster, fence: RuleFence) -> list[Reason]:
    """A fence of access rules on the cluster that is left, and, for when a wave is led back, on the other one."""
    found, called = [], fence.called
    try:
        rules = await describe_acls(here)
        fencing.check_named(leg.wave, fencing.denied_by(leg, here, rules, fence), here, fence)
    except (RefusedError, PermissionDeniedError) as error:
        found.append(Reason.found(Severity.ERROR, f"{called}: {error.message}", error.hint))
    else:
        found += await _may_alter(here, Severity.ERROR, called)
        for principal, names in fencing.not_denied(leg, here, rules, fence).items():
            does = f"write to {named(names, 'topic')}" if fence is WRITING else f"read in {named(names, 'group')}"
            what = f"{called} does not deny it to {principal}, whom a rule lets {does}"
            fix = "add it to the wave's principals, or be sure that nobody comes as it"
            found.append(Reason.found(Severity.WARNING, what, fix))
    # What an earlier switch left there is taken away past the point of no return.
    severity = Severity.ERROR if leg.number > 0 else Severity.WARNING
    try:
        await describe_acls(there)
    except (RefusedError, PermissionDeniedError) as error:
        found.append(Reason.found(severity, f"{called} on the way back: {error.message}", error.hint))
    else:
        found += await _may_alter(there, severity, f"{called} on the way back")
    return found


def _sessions(leg: Leg) -> Iterator[Reason]:
    """A member that is denied its next request is in its group until its session is over: nobody tells how long."""
    longest = leg.migration.limits.longest_pause_ms
    if longest <= _USUAL_SESSION_MS:
        what = (
            "readers deny: a member that reads on is waited for until its session is over, "
            f"{_USUAL_SESSION_MS // 1000} s by default, and a switch is given up after {longest / 1000:g} s"
        )
        yield Reason.found(Severity.WARNING, what, "have limits.longest_pause be longer than their sessions")


async def _may_alter(cluster: Cluster, severity: Severity, what: str) -> list[Reason]:
    try:
        allowed = await admin.cluster_operations(cluster)
    except PermissionDeniedError:
        allowed = frozenset()
    if AclOperation.ALTER.allowed_by(allowed):
        return []
    lacks = _denied(cluster, "ALTER", "cluster", "", "it can add no access rules")
    return [replace(lacks, what=f"{what}: {lacks.what}", severity=severity)]


async def _way_back(leg: Leg, here: Cluster, there: Cluster) -> list[Reason]:
    """What its link needs on both clusters; topics that are not there yet are not asked about."""
    names = leg.topics
    known = await here.metadata(sorted(names))
    mine = [name for name in sorted(names) if known.topics[name].error == 0]
    copies = await there.metadata(sorted(names.values()))
    theirs = [name for name in sorted(names.values()) if copies.topics[name].error == 0]
    as_target = await facts(here, ClusterRole.TARGET, mine)
    as_source = await facts(there, ClusterRole.SOURCE, theirs)
    # Whom a permission on a lane's transactional id is for is told by its beginning alone.
    ids = [TopicId(copies.topics[name].id) for name in theirs] or [TopicId.ZERO]
    _, rights = await probe_permissions(here, leg.next.spec(), as_target, ids, mine)
    return [
        *probing.missing(as_source, ClusterRole.SOURCE),
        *probing.missing(as_target, ClusterRole.TARGET),
        *rights,
        *await control(here),
        *await look_after(here),
    ]


def softened(reasons: Iterable[Reason], but: str) -> tuple[Reason, ...]:
    """Reasons that forbid what comes later, as what is worth a look now; ``but`` says what they would forbid."""
    return tuple(
        replace(one, what=f"{but}: {one.what}", severity=Severity.WARNING) if one.severity is Severity.ERROR else one
        for one in reasons
    )


def _denied(cluster: Cluster, operation: str, kind: str, name: str, why: str) -> Reason:
    principal, resource = cluster.transport.principal, f"{kind} {name}".strip()
    what = f"{principal} may not {operation} on {resource} of {cluster.name}: {why}"
    allow = f"kafka-acls --add --allow-principal {principal} --operation {operation} --{resource.replace(' ', '=', 1)}"
    return Reason.found(Severity.ERROR, what, allow)
