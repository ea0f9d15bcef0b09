"""Configs of topics that a wave did not make: what its link has changed of them is put back where it is given up.

A start writes down what was set on each topic before its link came.  A topic that was deleted since, and re-created by
somebody else, is left alone, and so is each config that links never set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from anabranch.kafka.admin import alter_topic_configs, own_configs, topic_configs
from anabranch.kafka.cluster import Cluster
from anabranch.migration.inherited import CONFIGS
from anabranch.migration.steps import StepKind
from anabranch.model.configs import HELD_OPEN, ConfigRules
from anabranch.model.topics import TopicId
from anabranch.operations.migrations.desk import Scene
from anabranch.operations.migrations.looking import those_there

Changes = Mapping[str, Mapping[str, str | None]]
"""By topic: a config's value to set, or None to take it back to the cluster's default."""


async def seen(cluster: Cluster, topics: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What is set on topics that are there, with their ids; raises ClusterError.

    A topic whose configs may not be looked at, or that has no id, is left out.
    """
    names = sorted(topics)
    answer = await cluster.metadata(names) if names else None
    found = {} if answer is None else {name: TopicId(answer.topics[name].id) for name in names}
    configs = await topic_configs(cluster, names)
    return {
        name: {"id": str(id_), "own": own_configs(configs[name])}
        for name, id_ in found.items()
        if id_ != TopicId.ZERO and name in configs
    }


async def changes(scene: Scene) -> Changes:
    """What is to be set so that each topic is as the wave's start found it; raises ClusterError."""
    before = scene.run.result(StepKind.LOOK, scene.wave.name).get(CONFIGS, {})
    now = await seen(scene.there, await those_there(scene.there, before))
    rules = scene.leg.migration.copy.configs
    found = {
        name: _between(of["own"], before[name]["own"], rules)
        for name, of in sorted(now.items())
        if of["id"] == before[name]["id"]
    }
    return {name: of for name, of in found.items() if of}


async def put_back(scene: Scene) -> list[str]:
    """Set it, once no link holds these topics any more; returns the topics.  Raises ClusterError."""
    found = await changes(scene)
    for name, of in found.items():
        await alter_topic_configs(scene.there, name, of)
    return list(found)


def told(found: Changes) -> str:
    """In words; empty where nothing is to be put back."""
    parts = [
        f"{name}: " + ", ".join(f"{key} to {_value(value)}" for key, value in of.items()) for name, of in found.items()
    ]
    return f"configs of {'; of '.join(parts)} would be put back" if parts else ""


def _value(value: str | None) -> str:
    return "the default" if value is None else value


def _between(now: Mapping[str, str], before: Mapping[str, str], rules: ConfigRules) -> dict[str, str | None]:
    """What differs, of what the link sets."""
    names = sorted(name for name in {*now, *before} if name in HELD_OPEN or rules.copies(name))
    return {name: before.get(name) for name in names if now.get(name) != before.get(name)}
