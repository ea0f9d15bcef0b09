"""What is asked of both clusters before a link is made: its topics, and each reason against it as a finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from anabranch.errors import AnabranchError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster, ClusterMetadata
from anabranch.kafka.errors import BrokerRefusedError, PermissionDeniedError
from anabranch.kafka.probe import ClusterRole
from anabranch.kafka.safety import broker_settings, target_topics
from anabranch.kafka.start import look_up
from anabranch.mirrormaker.names import aliases_in
from anabranch.model import preconditions
from anabranch.model.filters import load as load_filter
from anabranch.model.filters import select
from anabranch.model.link import LinkSpec
from anabranch.model.naming import NameCollisionError
from anabranch.model.naming import load as load_naming
from anabranch.model.provenance import (
    claimed_by_opposite,
    claimed_finding,
    copied_home,
    filled_by_another,
    home_finding,
    looping_finding,
    mirrored_by_opposite,
    perhaps_finding,
    perhaps_home,
    second_link,
    separator_of,
    turned_links,
    would_be_filled,
)
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import ClusterFacts, TopicPlan
from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicId, TopicPartition, check_name
from anabranch.state.codecs import topics as control_topics
from anabranch.state.topics.control import Links


async def from_group(source: Cluster, spec: LinkSpec, topics: Sequence[TopicPlan]) -> tuple[LinkSpec, list[Reason]]:
    """The spec with what its start's group has committed by now as given offsets, and what to know about it.

    Partitions without a commit are left to their lanes, as topics that come later are: those begin at what is the
    earliest record by then.
    """
    partitions = [TopicPartition(topic.source, index) for topic in topics for index in range(topic.partitions)]
    found = await look_up(source, spec.start, partitions)
    commits = {one: offset for one, offset in found.offsets.items() if one not in found.missing}
    notes = [Reason.found(Severity.WARNING, note, "or give offsets: --start @FILE") for note in found.notes]
    return replace(spec, start=StartPosition(StartKind.OFFSETS, offsets=commits)), notes


async def stored_links(cluster: Cluster, metadata: ClusterMetadata) -> Links:
    """The links that a cluster stores."""
    links = Links(cluster)
    if control_topics.LINKS in metadata.topics:
        await links.sync()
    return links


def second_links(
    links: Links, spec: LinkSpec, here: ClusterMetadata, there: ClusterMetadata, topics: Sequence[TopicPlan]
) -> list[Reason]:
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


def filled_by_opposite(
    spec: LinkSpec, source: ClusterMetadata, target: ClusterMetadata, into_source: Links, into_target: Links
) -> dict[str, Reason]:
    """The source's topics that a link from the target fills, or would fill, each with what its plans will say of it."""
    upstream = list(into_source.links.values())
    turned = turned_links(spec, into_source.links, into_target.links)
    looping = mirrored_by_opposite(spec.target.cluster_id, upstream, into_source.mirrored.values(), turned)
    copies = mirrored_by_opposite(spec.source.cluster_id, into_target.links.values(), into_target.mirrored.values())
    own = [topic.name for topic in target.topics.values() if not topic.internal and TopicId(topic.id) not in copies]
    others = [record for record in upstream if record.wanted.spec.id not in turned]
    claimed = claimed_by_opposite(spec.target.cluster_id, others, own)
    found = {name: claimed_finding(name, *claim) for name, claim in claimed.items() if name in source.topics}
    return found | {
        topic.name: looping_finding(topic.name) for topic in source.topics.values() if TopicId(topic.id) in looping
    }


def topic_plans(
    spec: LinkSpec,
    source: ClusterMetadata,
    target: ClusterMetadata,
    principal: str,
    findings: list[Reason],
    left_out: Mapping[str, Reason] = MappingProxyType({}),
) -> tuple[TopicPlan, ...]:
    """The topics that the link would copy now, and where to; what forbids one of them goes to ``findings``.

    ``left_out`` are topics that it would not copy, each with the reason: those that the filter selects are findings.
    """
    naming = load_naming(spec.naming, spec.source.context)
    names = select(load_filter(spec.filter), [t.name for t in source.topics.values() if not t.internal])
    if not names:
        findings.append(
            Reason.found(
                Severity.WARNING,
                f"the filter matches none of the source's {len(source.topics):,} topics that {principal} may see",
                "widen --include; topics that come later are copied when they match",
            )
        )
    own = {t.name for t in target.topics.values() if not t.internal}
    aliases = aliases_in(source.topics, separator_of(spec))
    home = copied_home(spec, names, own, aliases)
    findings += [perhaps_finding(*one) for one in perhaps_home(spec, names, own, aliases, home).items()]
    findings += [home_finding(spec, name, original, False) for name, original in home.items()]
    findings += [left_out[name] for name in names if name in left_out and name not in home]
    plans: list[TopicPlan] = []
    taken: dict[str, str] = {}
    for name in names:
        if name in home or name in left_out:
            continue
        try:
            renamed = check_name(naming.renamed(name), name)
        except AnabranchError as error:
            findings.append(Reason.found(Severity.ERROR, error.message, error.hint))
            continue
        if renamed in taken:
            collision = NameCollisionError(renamed, (taken[renamed], name))
            findings.append(Reason.found(Severity.ERROR, collision.message, collision.hint))
            continue
        taken[renamed] = name
        here, there = source.topics[name], target.topics.get(renamed)
        exists = there is not None and there.error == 0
        plans.append(TopicPlan(name, renamed, len(here.partitions), exists))
        if there is not None and exists and len(there.partitions) < len(here.partitions):
            findings.append(
                Reason.found(
                    Severity.ERROR,
                    f"topic {renamed} has {len(there.partitions):,} partitions on the target, "
                    f"{name} has {len(here.partitions):,} on the source",
                    f"kafka-topics --alter --topic {renamed} --partitions {len(here.partitions)}",
                )
            )
        elif there is not None and exists and len(there.partitions) > len(here.partitions):
            findings.append(
                Reason.found(
                    Severity.WARNING,
                    f"topic {renamed} has {len(there.partitions):,} partitions on the target, {name} has "
                    f"{len(here.partitions):,} on the source: what is written there by key may come to another "
                    "partition than the copies of that key, and be read ahead of them",
                    f"have {len(here.partitions):,} there, or see that the order of a key's records does not matter",
                )
            )
    return tuple(plans)


def missing(found: ClusterFacts, role: ClusterRole) -> list[Reason]:
    """What is not offered or not granted, as findings."""
    findings = []
    for api in found.apis:
        if not api.ok:
            offered = f"v{api.offered[0]} to v{api.offered[1]}" if api.offered else "nothing"
            findings.append(
                Reason.found(
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
            severity, why = Severity.WARNING, ": earlier owners are fenced through a coordinator instead, slower"
        elif permission.resource == "cluster" and permission.operation == "DESCRIBE_CONFIGS":
            severity, why = Severity.WARNING, ": identity lanes cannot be had"
        findings.append(
            Reason.found(
                severity,
                f"{permission.principal} may not {permission.operation} on {permission.resource} "
                f"of {found.context}{why}",
                f"kafka-acls --add --allow-principal {permission.principal} --operation {permission.operation} "
                f"--{permission.resource.replace('topic ', 'topic=')}",
            )
        )
    return findings


def replication(spec: LinkSpec, brokers: int) -> list[Reason]:
    """More replicas than the target has brokers."""
    if spec.replication_factor is not None and spec.replication_factor > brokers:
        return [
            Reason.found(
                Severity.ERROR,
                f"replication factor {spec.replication_factor} is wanted, the target has {brokers} brokers",
                "choose a smaller replication factor (--replication-factor, or replication_factor in the file)",
            )
        ]
    return []


async def settings(
    target: Cluster, spec: LinkSpec, there: ClusterMetadata, topics: Sequence[TopicPlan]
) -> list[Reason]:
    """What the settings of the target's brokers and topics cost; topics that are made get the brokers' own."""
    brokers = await broker_settings(target)
    existing = [topic.target for topic in topics if topic.exists]
    found = target_topics(there, await admin.topic_configs(target, existing))
    if brokers:
        replicas = spec.replication_factor or int(brokers[0].get(preconditions.REPLICAS) or 1)
        made = [topic.target for topic in topics if not topic.exists]
        found += [preconditions.TargetTopic.of(name, replicas, brokers[0]) for name in made]
    return preconditions.of_brokers(brokers, spec.lease_seconds) + preconditions.of_topics(found)


async def uncreatable(target: Cluster, topics: tuple[TopicPlan, ...]) -> list[Reason]:
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
                Reason.found(
                    Severity.WARNING,
                    f"{principal} may not CREATE on topic {topic.target} of {target.name}: it must be made by hand",
                    f"kafka-acls --add --allow-principal {principal} --operation CREATE --topic={topic.target}",
                )
            )
        except BrokerRefusedError as error:
            findings.append(
                Reason.found(Severity.ERROR, f"topic {topic.target}: {error.message}", "choose another name")
            )
    return findings


async def sizes(source: Cluster, target: Cluster, topics: tuple[TopicPlan, ...]) -> list[Reason]:
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
                Reason.found(
                    Severity.WARNING,
                    f"topic {topic.target} takes batches of {limits[1]:,} bytes, {topic.source} may hold {limits[0]:,}",
                    f"kafka-configs --alter --topic {topic.target} --add-config max.message.bytes={limits[0]}",
                )
            )
    return findings
