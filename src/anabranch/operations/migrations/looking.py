"""Steps that see what is there before a wave is started, and that take away again what it made on the target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.ends import ends
from anabranch.kafka.errors import UNKNOWN_TOPIC
from anabranch.migration.inherited import ABSENT
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun
from anabranch.migration.steps import StepKind
from anabranch.migration.words import named
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.operations.migrations.desk import Scene
from anabranch.operations.migrations.engine import NotYetError
from anabranch.state.codecs.topics import LINKS
from anabranch.state.topics.control import Links, present


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


@dataclass(eq=False)
class HoldsRecordsError(RefusedError):
    """Topics that a wave is to be copied into hold records already: applications would read some twice."""

    migration: str
    wave: str
    cluster: str
    topics: str

    _message = "wave {wave}: on {cluster} {topics} has records that are none of its copies"
    _hint = (
        "where an earlier start made them: `anabranch migrate cancel {migration} --wave {wave} --purge "
        "--confirm {wave} --execute`; else delete the topic by hand"
    )


async def look(scene: Scene) -> dict[str, list[str]]:
    """Write down which of the wave's topics the target does not have: those the migration makes.

    Raises AnotherClusterError, HoldsRecordsError.
    """
    await check_clusters(scene)
    await check_empty(scene.there, scene.leg)
    topics = set(scene.leg.topics.values())
    return {ABSENT: sorted(topics - set(await those_there(scene.there, topics)))}


async def check_empty(target: Cluster, leg: Leg) -> None:
    """Raise HoldsRecordsError where topics of a wave that is not started hold records on its target.

    What a link has copied before, and was deleted then, would be there twice: a new one begins at the beginning.
    """
    there = await those_there(target, leg.topics.values())
    answer = await target.metadata(there) if there else None
    found = {} if answer is None else {name: answer.topics[name].partitions for name in there}
    logs = await ends(target, [TopicPartition(name, at) for name, parts in found.items() for at in parts])
    if filled := sorted({one.topic for one, (start, end) in logs.items() if end > start}):
        raise HoldsRecordsError(leg.migration.name, leg.wave.name, target.name, named(filled, "topic"))


async def delete_made(scene: Scene) -> None:
    """Delete the topics that a start's link has made, by what the start and the link have written down.

    Raises NotYetError until they are gone.
    """
    absent = made_topics(scene.run)
    if not absent or not await present(scene.there, [LINKS]):
        return
    links = Links(scene.there)
    await links.sync()
    filled = {topic.target: topic.target_id.uuid for topic in links.topics_of(scene.leg.link)}
    answer = await scene.there.metadata(sorted(filled))
    made = {name for name in filled if name in absent and answer.topics[name].id == filled[name]}
    await delete_topics(scene.there, sorted(made))


def made_topics(start: WaveRun | None) -> tuple[str, ...]:
    """The topics of the target that a wave's start has made, by what it wrote down before it made them."""
    if start is None:
        return ()
    return tuple(start.result(StepKind.LOOK, start.wave).get(ABSENT, ()))


async def made_ids(scene: Scene) -> dict[str, str]:
    """The ids of the topics that a start's link has made; of a cluster that gives none, none."""
    absent, links = made_topics(scene.run), Links(scene.there)
    await links.sync()
    found = {topic.target: topic.target_id for topic in links.topics_of(scene.leg.link) if topic.target in absent}
    return {name: str(id_) for name, id_ in sorted(found.items()) if id_ != TopicId.ZERO}


def kept_topics(scene: Scene) -> list[str]:
    """The wave's topics on the target that the migration did not make."""
    return sorted(set(scene.leg.topics.values()) - set(made_topics(scene.run)))


async def delete_topics(cluster: Cluster, topics: Sequence[str]) -> None:
    """Delete those that are there; raises NotYetError until they are gone."""
    for topic in await those_there(cluster, topics):
        await admin.delete_topic(cluster, topic)
    if left := await those_there(cluster, topics):
        raise NotYetError(f"{cluster.name} still has topic {left[0]}")


async def those_there(cluster: Cluster, topics: Iterable[str]) -> list[str]:
    """Those of some topics that a cluster has, sorted; raises ClusterError."""
    names = set(topics)
    answer = await cluster.metadata(sorted(names)) if names else None
    for name, topic in ({} if answer is None else answer.topics).items():
        if topic.error == UNKNOWN_TOPIC:
            names.discard(name)
        else:
            cluster.check(topic.error, "Describe", f"topic {name}")
    return sorted(names)
