"""Links as their owners handle them: create, list, show, change, delete.

Everything is read from and written to the target's control topics; a running link sees a change within two
seconds.  A link is created only where nothing forbids it, and every reason is found at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from anabranch.control import topics as control_topics
from anabranch.control.links import topic_key
from anabranch.errors import AnabranchError, RefusedError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster, Metadata
from anabranch.kafka.errors import BrokerRefusedError, PermissionDeniedError
from anabranch.kafka.probe import Role, facts
from anabranch.kafka.security import open_cluster
from anabranch.model import configs as rules
from anabranch.model.cluster import ClusterContext
from anabranch.model.filters import load as load_filter
from anabranch.model.filters import select
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.naming import NameCollisionError
from anabranch.model.naming import load as load_naming
from anabranch.model.provenance import check_ring, origins
from anabranch.model.reports import ClusterFacts, DeletePlan, Finding, LinkStatus, ProbeReport, Severity, TopicPlan
from anabranch.model.topics import check_name
from anabranch.replicate.control import Links, Progress, Runs, ensure_topics, now_ms
from anabranch.replicate.journal import Journal, Jumps
from anabranch.replicate.planner import UnknownLinkError, blind_to_loops

T = TypeVar("T")

#: Workers file once a second; one that has read of its link's deletion files nothing more.
_SILENCE_MS = 2500
_LONGEST_LAST_WORD_S = 15.0
_TOPICS_SETTLE_S = 5.0
_NO_LEADER = 5


@dataclass(eq=False)
class LinkExistsError(RefusedError):
    """A link of that id is stored on the target already."""

    link: str

    @property
    def message(self) -> str:
        return f"link {self.link!r} exists already"

    @property
    def hint(self) -> str:
        return f"`anabranch link show {self.link}` shows it; give the new one another id"


@dataclass(eq=False)
class WorldMovedError(RefusedError):
    """What a plan saw is no longer so."""

    link: str

    @property
    def message(self) -> str:
        return f"link {self.link!r} changed since its deletion was planned"

    @property
    def hint(self) -> str:
        return f"look again: `anabranch link delete {self.link}`"


@dataclass(eq=False)
class SameClusterError(RefusedError):
    """Source and target are one cluster."""

    link: str
    cluster_id: str

    @property
    def message(self) -> str:
        return f"link {self.link!r} has the same cluster, {self.cluster_id}, at both ends"

    @property
    def hint(self) -> str:
        return "give contexts of two clusters: `anabranch context list`"


def create(source: ClusterContext, target: ClusterContext, spec: LinkSpec, execute: bool) -> ProbeReport:
    """Probe both clusters; store the link if ``execute`` and nothing forbids it.  Raises AnabranchError."""
    return asyncio.run(_create(source, target, spec, execute))


def list_links(target: ClusterContext) -> Sequence[LinkStatus]:
    """Every link that the target stores, by id."""
    return asyncio.run(_on(target, _statuses))


def show(target: ClusterContext, link_id: str) -> LinkStatus:
    """One link; raises UnknownLinkError."""

    async def one(cluster: Cluster) -> LinkStatus:
        found = [status for status in await _statuses(cluster) if status.spec.id == link_id]
        if not found:
            raise UnknownLinkError(link_id, cluster.name)
        return found[0]

    return asyncio.run(_on(target, one))


def set_wanted(target: ClusterContext, link_id: str, **changes: Any) -> None:
    """Change ``filter`` or ``rate_limit`` of what is wanted; workers obey within two seconds."""
    _change(target, link_id, lambda wanted: replace(wanted, spec=replace(wanted.spec, **changes)))


def pause(target: ClusterContext, link_id: str) -> None:
    """Have the workers stop copying; lanes and leases stay."""
    _change(target, link_id, lambda wanted: replace(wanted, paused=True))


def resume(target: ClusterContext, link_id: str) -> None:
    """Undo ``pause``."""
    _change(target, link_id, lambda wanted: replace(wanted, paused=False))


def delete(target: ClusterContext, link_id: str, execute: bool, fingerprint: str | None = None) -> DeletePlan:
    """Plan the deletion, and carry it out if ``execute``; with a fingerprint only if the plan is still that one."""
    return asyncio.run(_on(target, lambda cluster: _delete(cluster, link_id, execute, fingerprint)))


# -- creating --------------------------------------------------------------------------------------------


async def _create(source: ClusterContext, target: ClusterContext, spec: LinkSpec, execute: bool) -> ProbeReport:
    async with open_cluster(source) as source_cluster, open_cluster(target) as target_cluster:
        here, there = await source_cluster.metadata(None), await target_cluster.metadata(None)
        spec = replace(
            spec,
            source=ClusterRef(source.name, here.cluster_id),
            target=ClusterRef(target.name, there.cluster_id),
        )
        if here.cluster_id == there.cluster_id:
            raise SameClusterError(spec.id, here.cluster_id)
        findings: list[Finding] = []
        topics = _topics(spec, here, there, source_cluster.transport.principal, findings)
        source_facts = await facts(source_cluster, Role.SOURCE, [topic.source for topic in topics])
        existing = [topic.target for topic in topics if topic.exists]
        target_facts = await facts(target_cluster, Role.TARGET, existing)
        findings += _missing(source_facts, Role.SOURCE) + _missing(target_facts, Role.TARGET)
        findings += await _uncreatable(target_cluster, topics)
        findings += await _sizes(source_cluster, target_cluster, topics)
        findings += _replication(spec, len(there.brokers))
        upstream = await _upstream(source_cluster, here)
        if control_topics.LINKS not in here.topics:
            findings += await blind_to_loops(source_cluster)
        check_ring(spec.id, here.cluster_id, there.cluster_id, upstream)
        report = ProbeReport(spec, source_facts, target_facts, topics, tuple(findings))
        if not (execute and report.ok):
            return report
        await ensure_topics(target_cluster)
        links = Links(target_cluster)
        await links.sync()
        if spec.id in links.links:
            raise LinkExistsError(spec.id)
        await links.put(LinkRecord(WantedState(spec), origins(here.cluster_id, upstream), now_ms()))
        return replace(report, created=True)


async def _upstream(source: Cluster, metadata: Metadata) -> list[LinkRecord]:
    if control_topics.LINKS not in metadata.topics:
        return []
    links = Links(source)
    await links.sync()
    return list(links.links.values())


def _topics(
    spec: LinkSpec, source: Metadata, target: Metadata, principal: str, findings: list[Finding]
) -> tuple[TopicPlan, ...]:
    naming = load_naming(spec.naming, spec.source.context)
    names = select(load_filter(spec.filter), [t.name for t in source.topics.values() if not t.internal])
    if not names:
        findings.append(
            Finding(
                Severity.WARNING,
                f"the filter matches none of the source's {len(source.topics)} topics that {principal} may see",
                "widen --include; topics that come later are copied when they match",
            )
        )
    plans: list[TopicPlan] = []
    taken: dict[str, str] = {}
    for name in names:
        try:
            renamed = check_name(naming.renamed(name), name)
        except AnabranchError as error:
            findings.append(Finding(Severity.ERROR, error.message, error.hint))
            continue
        if renamed in taken:
            collision = NameCollisionError(renamed, (taken[renamed], name))
            findings.append(Finding(Severity.ERROR, collision.message, collision.hint))
            continue
        taken[renamed] = name
        here, there = source.topics[name], target.topics.get(renamed)
        exists = there is not None and there.error == 0
        plans.append(TopicPlan(name, renamed, len(here.partitions), exists))
        if there is not None and exists and len(there.partitions) < len(here.partitions):
            findings.append(
                Finding(
                    Severity.ERROR,
                    f"topic {renamed} has {len(there.partitions)} partitions on the target, "
                    f"{name} has {len(here.partitions)} on the source",
                    f"kafka-topics --alter --topic {renamed} --partitions {len(here.partitions)}",
                )
            )
    return tuple(plans)


def _missing(found: ClusterFacts, role: Role) -> list[Finding]:
    """What is not offered or not granted, as findings."""
    findings = []
    for api in found.apis:
        if not api.ok:
            offered = f"v{api.offered[0]} to v{api.offered[1]}" if api.offered else "nothing"
            findings.append(
                Finding(
                    Severity.ERROR,
                    f"the {role.value} {found.context} ({found.version}) offers {offered} of {api.name}; "
                    f"v{api.needed[0]} to v{api.needed[1]} is needed",
                    "a source must be Kafka 2.8 or newer, a target 3.0 or newer",
                )
            )
    for permission in found.permissions:
        if permission.granted is not False:
            continue
        severity, why = Severity.ERROR, ""
        if permission.resource == "cluster" and permission.operation == "ALTER":
            severity, why = Severity.WARNING, ": earlier owners are shut out through a coordinator instead, slower"
        elif permission.resource == "cluster" and permission.operation == "DESCRIBE_CONFIGS":
            severity, why = Severity.WARNING, ": identity lanes cannot be had"
        findings.append(
            Finding(
                severity,
                f"{permission.principal} may not {permission.operation} on {permission.resource} "
                f"of {found.context}{why}",
                f"kafka-acls --add --allow-principal {permission.principal} --operation {permission.operation} "
                f"--{permission.resource.replace('topic ', 'topic=')}",
            )
        )
    return findings


def _replication(spec: LinkSpec, brokers: int) -> list[Finding]:
    if spec.replication_factor is not None and spec.replication_factor > brokers:
        return [
            Finding(
                Severity.ERROR,
                f"replication factor {spec.replication_factor} is wanted, the target has {brokers} brokers",
                "choose a smaller --replication-factor",
            )
        ]
    return []


async def _uncreatable(target: Cluster, topics: tuple[TopicPlan, ...]) -> list[Finding]:
    """Topics that the target lacks and that we may not create: a right on the cluster, a prefix or the name will do."""
    principal = target.transport.principal
    findings = []
    for topic in topics:
        if topic.exists:
            continue
        try:
            await admin.create_topic(target, topic.target, topic.partitions, -1, {}, only_ask=True)
        except PermissionDeniedError:
            findings.append(
                Finding(
                    Severity.WARNING,
                    f"{principal} may not CREATE on topic {topic.target} of {target.name}: it must be made by hand",
                    f"kafka-acls --add --allow-principal {principal} --operation CREATE --topic={topic.target}",
                )
            )
        except BrokerRefusedError as error:
            findings.append(Finding(Severity.ERROR, f"topic {topic.target}: {error.message}", "choose another name"))
    return findings


async def _sizes(source: Cluster, target: Cluster, topics: tuple[TopicPlan, ...]) -> list[Finding]:
    """Existing target topics that take smaller batches than the source topic may hold."""
    existing = [topic for topic in topics if topic.exists]
    if not existing:
        return []
    try:
        here = await admin.topic_configs(source, [topic.source for topic in existing])
        there = await admin.topic_configs(target, [topic.target for topic in existing])
    except AnabranchError:
        return []  # the permission that is missing is a finding of its own
    findings = []
    for topic in existing:
        limits = [
            int(found.value) if (found := side.get("max.message.bytes")) and found.value else 0
            for side in (here.get(topic.source, {}), there.get(topic.target, {}))
        ]
        if limits[1] < limits[0]:
            findings.append(
                Finding(
                    Severity.WARNING,
                    f"topic {topic.target} takes batches of {limits[1]} bytes, {topic.source} may hold {limits[0]}",
                    f"kafka-configs --alter --topic {topic.target} --add-config max.message.bytes={limits[0]}",
                )
            )
    return findings


# -- reading ---------------------------------------------------------------------------------------------


async def _on(target: ClusterContext, work: Callable[[Cluster], Coroutine[Any, Any, T]]) -> T:
    async with open_cluster(target) as cluster:
        return await work(cluster)


async def _has_control_topics(cluster: Cluster) -> bool:
    """Whether they all exist; those that were made just now are waited for."""
    deadline = time.monotonic() + _TOPICS_SETTLE_S
    while True:
        answer = await cluster.metadata(list(control_topics.ALL))
        errors = {answer.topics[name].error for name in control_topics.ALL}
        if _NO_LEADER not in errors or time.monotonic() > deadline:
            return errors == {0}
        await asyncio.sleep(0.05)


async def _statuses(cluster: Cluster) -> list[LinkStatus]:
    if not await _has_control_topics(cluster):
        return []
    links, progress = Links(cluster), Progress(cluster)
    await links.sync()
    await progress.sync()
    read_at = now_ms()
    return [
        LinkStatus(
            record,
            tuple(
                sorted(
                    links.standing(name, (lane for key, lane in progress.lanes.items() if key.link == name)),
                    key=lambda one: one.source,
                )
            ),
            progress.plans.get(name),
            read_at,
        )
        for name, record in sorted(links.links.items())
    ]


# -- changing --------------------------------------------------------------------------------------------


def _change(target: ClusterContext, link_id: str, how: Callable[[WantedState], WantedState]) -> None:
    async def change(cluster: Cluster) -> None:
        if not await _has_control_topics(cluster):
            raise UnknownLinkError(link_id, cluster.name)
        links = Links(cluster)
        await links.sync()
        record = links.links.get(link_id)
        if record is None:
            raise UnknownLinkError(link_id, cluster.name)
        wanted = replace(how(record.wanted), revision=record.wanted.revision + 1)
        await links.put(replace(record, wanted=wanted))

    asyncio.run(_on(target, change))


async def _delete(cluster: Cluster, link_id: str, execute: bool, fingerprint: str | None) -> DeletePlan:
    status = next((s for s in await _statuses(cluster) if s.spec.id == link_id), None)
    if status is None:
        raise UnknownLinkError(link_id, cluster.name)
    links, runs, journal, jumps = Links(cluster), Runs(cluster), Journal(cluster), Jumps(cluster)
    progress = Progress(cluster)
    for part in (links, runs, progress):
        await part.sync()
    claims = await journal.read()
    await jumps.read()
    topics = links.topics_of(link_id)
    lanes = {str(lane) for lane in {*progress.lanes, *runs.segments} if lane.link == link_id}
    ids = {lane: claims.producer_ids(lane) for lane in lanes}
    plan = DeletePlan(
        link=link_id,
        topics=tuple(sorted(topics, key=lambda topic: topic.target)),
        restore={topic.target: rules.restored_configs(topic.configs) for topic in topics},
        forget={
            control_topics.LINKS: 1 + len(topics) + len(links.decisions[link_id]),
            control_topics.CLAIMS: sum(map(len, ids.values())),
            control_topics.JUMPS: sum(len(jumps.jumps.keys(lane)) for lane in lanes),
            control_topics.RUNS: sum(len(n) for lane, n in runs.segments.items() if lane.link == link_id),
            control_topics.PROGRESS: sum(lane.link == link_id for lane in progress.lanes) + (status.plan is not None),
        },
        running=status.running,
        fingerprint=_fingerprint(status, [topic_key(link_id, topic.target_id) for topic in topics]),
    )
    if not execute:
        return plan
    if fingerprint is not None and fingerprint != plan.fingerprint:
        raise WorldMovedError(link_id)
    findings = await _restore(cluster, plan)
    await links.forget(link_id)
    if await _quiet(progress, link_id):
        # Until it read of the deletion, a planner held the topics open again and workers went on filing.
        findings = await _restore(cluster, plan)
        for part in (links, runs, progress):
            await part.sync()
        claims = await journal.read()
        ids = {lane: claims.producer_ids(lane) for lane in lanes}
        await links.forget(link_id)
    await progress.forget(link_id)
    await runs.forget(link_id)
    await jumps.read()
    await jumps.forget(key for lane in lanes for key in jumps.jumps.keys(lane))
    await journal.forget({lane: producer_ids for lane, producer_ids in ids.items() if producer_ids})
    return replace(plan, executed=True, findings=(*plan.findings, *findings))


async def _restore(cluster: Cluster, plan: DeletePlan) -> list[Finding]:
    """Give the topics their wanted configs; what cannot be done is a finding."""
    findings = []
    for name, changes in plan.restore.items():
        try:
            await admin.alter_topic_configs(cluster, name, changes)
        except AnabranchError as error:
            findings.append(Finding(Severity.WARNING, f"topic {name}: {error.message}", error.hint))
    return findings


async def _quiet(progress: Progress, link_id: str) -> bool:
    """Wait until no worker files the link's progress any more; False where none did to begin with."""
    deadline = time.monotonic() + _LONGEST_LAST_WORD_S
    waited = False
    while time.monotonic() < deadline:
        heard = [lane.updated_at_ms for key, lane in progress.lanes.items() if key.link == link_id]
        if not heard or now_ms() - max(heard) > _SILENCE_MS:
            break
        waited = True
        await asyncio.sleep(0.2)
        await progress.sync()
    return waited


def _fingerprint(status: LinkStatus, topics: list[bytes]) -> str:
    seen = json.dumps(
        [
            status.spec.id,
            status.wanted.revision,
            status.record.created_at_ms,
            sorted(key.decode() for key in topics),
        ]
    )
    return hashlib.sha256(seen.encode()).hexdigest()[:16]
