"""A link's spec as JSON fields: part of its stored record, and of what ``-o json`` prints."""

from __future__ import annotations

from typing import Any

from anabranch.model.configs import ConfigRules
from anabranch.model.link import ClusterRef, GroupRules, LinkSpec, ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicPartition
from anabranch.state.codecs.fields import Fields


def spec_fields(spec: LinkSpec) -> dict[str, Any]:
    """The JSON object of a spec; what older readers do not know is there only where it says something."""
    fields: dict[str, Any] = {
        "id": spec.id,
        "source": {"context": spec.source.context, "cluster_id": spec.source.cluster_id},
        "target": {"context": spec.target.context, "cluster_id": spec.target.cluster_id},
        "filter": {"kind": spec.filter.kind, "options": dict(spec.filter.options)},
        "naming": {"kind": spec.naming.kind, "options": dict(spec.naming.options)},
        "replication_factor": spec.replication_factor,
        "start": _start_fields(spec.start),
        "mode": spec.mode.value,
        "configs": {"allow": list(spec.configs.allow), "deny": list(spec.configs.deny)},
        "rate_limit": spec.rate_limit,
        "lease_seconds": spec.lease_seconds,
    }
    if spec.groups is not None:
        fields["groups"] = {
            "include": list(spec.groups.include),
            "exclude": list(spec.groups.exclude),
            "interval_ms": spec.groups.interval_ms,
            "checkpoints": spec.groups.checkpoints,
        }
    if spec.shared_topics:
        fields["shared_topics"] = True
    if spec.back_of is not None:
        fields["back_of"] = spec.back_of
    return fields


def read_spec(fields: Fields) -> LinkSpec:
    """The spec of a JSON object."""
    with fields.nested("configs") as lists:
        rules = ConfigRules(lists.texts("allow"), lists.texts("deny"))
    return LinkSpec(
        id=fields.text("id"),
        source=_cluster(fields, "source"),
        target=_cluster(fields, "target"),
        filter=_plugin(fields, "filter"),
        naming=_plugin(fields, "naming"),
        replication_factor=fields.optional_integer("replication_factor"),
        start=_start(fields),
        mode=fields.enum("mode", ModePolicy),
        configs=rules,
        rate_limit=fields.optional_integer("rate_limit"),
        lease_seconds=fields.integer("lease_seconds"),
        groups=_groups(fields) if fields.has("groups") else None,
        shared_topics=fields.flag("shared_topics") if fields.has("shared_topics") else False,
        back_of=fields.text("back_of") if fields.has("back_of") else None,
    )


def _groups(fields: Fields) -> GroupRules:
    with fields.nested("groups") as rules:
        return GroupRules(
            rules.texts("include"), rules.texts("exclude"), rules.integer("interval_ms"), rules.flag("checkpoints")
        )


def _cluster(fields: Fields, name: str) -> ClusterRef:
    with fields.nested(name) as ref:
        return ClusterRef(ref.text("context"), ref.text("cluster_id"))


def _plugin(fields: Fields, name: str) -> PluginSpec:
    with fields.nested(name) as plugin:
        return PluginSpec(plugin.text("kind"), plugin.mapping("options"))


def _start_fields(start: StartPosition) -> dict[str, Any]:
    offsets: dict[str, dict[str, int]] = {}
    for partition, offset in start.offsets.items():
        offsets.setdefault(partition.topic, {})[str(partition.partition)] = offset
    return {"kind": start.kind.value, "timestamp_ms": start.timestamp_ms, "offsets": offsets}


def _start(fields: Fields) -> StartPosition:
    with fields.nested("start") as start:
        kind = start.enum("kind", StartKind)
        timestamp_ms = start.optional_integer("timestamp_ms")
        offsets: dict[TopicPartition, int] = {}
        for topic, partitions in start.mapping("offsets").items():
            for partition, offset in partitions.items() if isinstance(partitions, dict) else [("", None)]:
                if not (partition.isdecimal() and type(offset) is int):
                    raise start.malformed(f"offsets.{topic}", "not an object of partition: offset")
                offsets[TopicPartition(topic, int(partition))] = offset
    return StartPosition(kind, timestamp_ms, offsets)
