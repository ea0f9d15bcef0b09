"""Creating a link: every reason against it is found at once, and it is stored only where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from anabranch.config.maps_file import StoredMap
from anabranch.errors import AnabranchError, RefusedError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster, Metadata
from anabranch.kafka.errors import BrokerRefusedError, PermissionDeniedError
from anabranch.kafka.probe import Role, facts
from anabranch.kafka.safety import broker_settings, target_topics
from anabranch.kafka.security import open_cluster
from anabranch.kafka.start import look_up
from anabranch.model import preconditions
from anabranch.model.clock import now_ms
from anabranch.model.cluster import ClusterContext
from anabranch.model.filters import load as load_filter
from anabranch.model.filters import select
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.naming import NameCollisionError
from anabranch.model.naming import load as load_naming
from anabranch.model.provenance import (
    check_ring,
    copied_home,
    filled_by_another,
    home_finding,
    origins,
    second_link,
    would_be_filled,
)
from anabranch.model.reports import ClusterFacts, Finding, ProbeReport, Severity, TopicPlan
from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicId, TopicPartition, check_name
from anabranch.operations.links import adopting, given
from anabranch.operations.links.predicting import forecast
from anabranch.operations.links.rights import beyond_producing
from anabranch.state.codecs import topics as control_topics
from anabranch.state.topics.control import Links, ensure_topics
from anabranch.state.topics.loops import blind_to_loops
from anabranch.state.topics.recreated import topic_ids
from anabranch.state.topics.upkeep import look_after


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


async def create(
    source: ClusterContext, target: ClusterContext, spec: LinkSpec, execute: bool, adopt: Sequence[StoredMap]
) -> ProbeReport:
    """Probe both clusters; store the link if ``execute`` and nothing forbids it.  Raises AnabranchError."""
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
        if spec.start.kind is StartKind.GROUP:
            spec, notes = await _from_group(source_cluster, spec, topics)
            findings += notes
        elif spec.start.kind is StartKind.OFFSETS:
            findings += await given.check(source_cluster, spec.start, topics, here.topics)
        source_facts = await facts(source_cluster, Role.SOURCE, [topic.source for topic in topics])
        existing = [topic.target for topic in topics if topic.exists]
        target_facts = await facts(target_cluster, Role.TARGET, existing)
        findings += _missing(source_facts, Role.SOURCE) + _missing(target_facts, Role.TARGET)
        ids = [TopicId(here.topics[topic.source].id) for topic in topics]
        rights, lacking = await beyond_producing(
            target_cluster, spec, target_facts, ids, [topic.target for topic in topics]
        )
        target_facts = replace(target_facts, permissions=(*target_facts.permissions, *rights))
        findings += lacking
        findings += await _uncreatable(target_cluster, topics)
        findings += await _sizes(source_cluster, target_cluster, topics)
        findings += _replication(spec, len(there.brokers))
        if not adopt:  # whose lanes go on where the maps end
            topics, changes = await forecast(source_cluster, target_cluster, spec, topics, target_facts)
            findings += changes
        findings += await look_after(target_cluster)
        findings += await _preconditions(target_cluster, spec, there, topics)
        if adopt:
            findings += await adopting.check(target_cluster, here, there, topics, adopt)
        stored = await _stored(target_cluster, there)
        if spec.id in stored.links:
            raise LinkExistsError(spec.id)
        findings += _second_links(stored, spec, here, there, topics)
        upstream = list((await _stored(source_cluster, here)).links.values())
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
        if adopt:
            await adopting.carry_out(target_cluster, spec.id, adopt)
        begun = await topic_ids(target_cluster)
        await links.put(LinkRecord(WantedState(spec), origins(here.cluster_id, upstream), now_ms(), begun))
        return replace(report, created=True)


async def _from_group(source: Cluster, spec: LinkSpec, topics: Sequence[TopicPlan]) -> tuple[LinkSpec, list[Finding]]:
    """The spec with what its start's group has committed by now as given offsets, and what to know about it.

    Partitions without a commit are left to their lanes, as topics that come later are: those begin at what is the
    earliest record by then.
    """
    partitions = [TopicPartition(topic.source, index) for topic in topics for index in range(topic.partitions)]
    found = await look_up(source, spec.start, partitions)
    commits = {one: offset for one, offset in found.offsets.items() if one not in found.missing}
    notes = [Finding(Severity.WARNING, note, "or give offsets: --start @FILE") for note in found.notes]
    return replace(spec, start=StartPosition(StartKind.OFFSETS, offsets=commits)), notes


async def _stored(cluster: Cluster, metadata: Metadata) -> Links:
    """The links that a cluster stores."""
    links = Links(cluster)
    if control_topics.LINKS in metadata.topics:
        await links.sync()
    return links


def _second_links(
    links: Links, spec: LinkSpec, here: Metadata, there: Metadata, topics: Sequence[TopicPlan]
) -> list[Finding]:
    """Target topics that another link fills, or will once it runs."""
    if spec.shared_topics:
        return []
    names = [topic.name for topic in here.topics.values() if not topic.internal]
    claimed = would_be_filled(spec, links.links.values(), names)
    findings = []
    for topic in topics:
        other = claimed.get(topic.target)
        if topic.exists:
            filled = filled_by_another(spec.id, TopicId(there.topics[topic.target].id), links.mirrored.values())
            other = filled.link if filled is not None else other
        if other is not None:
            findings.append(second_link(topic.source, topic.target, other, Severity.ERROR))
    return findings


def _topics(
    spec: LinkSpec, source: Metadata, target: Metadata, principal: str, findings: list[Finding]
) -> tuple[TopicPlan, ...]:
    naming = load_naming(spec.naming, spec.source.context)
    names = select(load_filter(spec.filter), [t.name for t in source.topics.values() if not t.internal])
    if not names:
        findings.append(
            Finding(
                Severity.WARNING,
                f"the filter matches none of the source's {len(source.topics):,} topics that {principal} may see",
                "widen --include; topics that come later are copied when they match",
            )
        )
    home = copied_home(spec, names, {t.name for t in target.topics.values() if not t.internal})
    findings += [home_finding(spec, name, original, False) for name, original in home.items()]
    plans: list[TopicPlan] = []
    taken: dict[str, str] = {}
    for name in names:
        if name in home:
            continue
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
                    f"topic {renamed} has {len(there.partitions):,} partitions on the target, "
                    f"{name} has {len(here.partitions):,} on the source",
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


async def _preconditions(
    target: Cluster, spec: LinkSpec, there: Metadata, topics: Sequence[TopicPlan]
) -> list[Finding]:
    """What the settings of the target's brokers and topics cost; topics that are made get the brokers' own."""
    brokers = await broker_settings(target)
    existing = [topic.target for topic in topics if topic.exists]
    found = target_topics(there, await admin.topic_configs(target, existing))
    if brokers:
        replicas = spec.replication_factor or int(brokers[0].get(preconditions.REPLICAS) or 1)
        made = [topic.target for topic in topics if not topic.exists]
        found += [preconditions.TargetTopic.of(name, replicas, brokers[0]) for name in made]
    return preconditions.of_brokers(brokers, spec.lease_seconds) + preconditions.of_topics(found)


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
                    f"topic {topic.target} takes batches of {limits[1]:,} bytes, {topic.source} may hold {limits[0]:,}",
                    f"kafka-configs --alter --topic {topic.target} --add-config max.message.bytes={limits[0]}",
                )
            )
    return findings
