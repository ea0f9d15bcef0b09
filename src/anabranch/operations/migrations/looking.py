"""Steps that see what is there before a wave is started, and that take away again what it made on the target."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import UNKNOWN_TOPIC
from anabranch.migration.run import WaveRun
from anabranch.migration.steps import StepKind
from anabranch.operations.migrations.desk import Scene
from anabranch.operations.migrations.engine import NotYetError
from anabranch.operations.migrations.linking import Result

_ABSENT = "absent"


@dataclass(eq=False)
class AnotherClusterError(RefusedError):
    """A context leads to another cluster than the one of the migration."""

    context: str
    wanted: str
    found: str

    _message = "context {context} leads to cluster {found}, and the migration is about {wanted}"
    _hint = "correct the context: `anabranch context test {context}`"


async def check_clusters(scene: Scene) -> None:
    """Raise AnotherClusterError where a context leads to another cluster than the migration names."""
    migration, back = scene.leg.migration, scene.leg.leads_back
    source, target = (scene.there, scene.here) if back else (scene.here, scene.there)
    for cluster, wanted in ((source, migration.source_id), (target, migration.target_id)):
        if wanted and (found := (await cluster.metadata([])).cluster_id) != wanted:
            raise AnotherClusterError(cluster.name, wanted, found)


async def look(scene: Scene) -> Result:
    """Write down which of the wave's topics the target does not have: those the migration makes."""
    await check_clusters(scene)
    return {_ABSENT: sorted(await _missing(scene.there, scene.leg.topics.values()))}


def made_topics(start: WaveRun | None) -> tuple[str, ...]:
    """The topics of the target that a wave's start has made, by what it wrote down before it made them."""
    if start is None:
        return ()
    return tuple(start.result(StepKind.LOOK, start.wave).get(_ABSENT, ()))


async def purge(scene: Scene) -> Result:
    """Delete the topics that the migration made; raises NotYetError until they are gone.

    Which these are stands in the run itself, as it was begun: what the wave's start wrote down.
    """
    made = list(made_topics(scene.run))
    missing = await _missing(scene.there, made)
    for topic in made:
        if topic not in missing:
            await admin.delete_topic(scene.there, topic)
    if left := set(made) - await _missing(scene.there, made):
        raise NotYetError(f"{scene.there.name} still has topic {min(left)}")
    return {"purged": made}


async def _missing(cluster: Cluster, topics: Iterable[str]) -> set[str]:
    """Those of some topics that a cluster does not have."""
    names = sorted(topics)
    if not names:
        return set()
    answer = await cluster.metadata(names)
    missing = set()
    for name, topic in answer.topics.items():
        if topic.error == UNKNOWN_TOPIC:
            missing.add(name)
        else:
            cluster.check(topic.error, "Describe", f"topic {name}")
    return missing
