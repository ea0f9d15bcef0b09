"""The links of a migration."""

from __future__ import annotations

import re

from anabranch.migration.names import forward_link, reverse_link
from anabranch.migration.spec import Migration, Wave
from anabranch.model.link import ClusterRef, LinkSpec
from anabranch.model.plugins import PluginSpec


def forward_spec(migration: Migration, wave: Wave, source_id: str, target_id: str) -> LinkSpec:
    """The link that copies a wave's topics; raises InvalidFieldError."""
    rules = migration.copy
    return LinkSpec(
        forward_link(migration.name, wave.name),
        ClusterRef(migration.source, source_id),
        ClusterRef(migration.target, target_id),
        filter=PluginSpec("regex", {"include": [re.escape(topic) for topic in wave.topics], "exclude": []}),
        naming=rules.naming,
        replication_factor=rules.replication_factor,
        start=rules.start,
        mode=rules.mode,
        configs=rules.configs,
        rate_limit=migration.limits.source_rate,
    )


def reverse_spec(migration: Migration, wave: Wave) -> LinkSpec:
    """The way back of that link: its topics and names are the other one's."""
    return LinkSpec(
        reverse_link(migration.name, wave.name),
        ClusterRef(migration.target, ""),
        ClusterRef(migration.source, ""),
        configs=migration.copy.configs,
        back_of=forward_link(migration.name, wave.name),
    )
