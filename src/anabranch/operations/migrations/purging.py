"""The step that takes away again what a wave has made on its target, and how it is told before."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.kafka.cluster import Cluster
from anabranch.migration.inherited import IDS
from anabranch.migration.lost import DOUBTS
from anabranch.migration.steps import StepKind
from anabranch.migration.words import named, verb
from anabranch.model.topics import TopicId
from anabranch.operations.migrations import emptying, linking
from anabranch.operations.migrations.desk import Result, Scene
from anabranch.operations.migrations.looking import delete_topics, kept_topics, made_topics, those_there


async def purge(scene: Scene) -> Result:
    """Delete the topics that the migration made, and its copies in others; raises NotYetError until they are gone.

    Which these are stands in the run itself, as it was begun: what the wave's start wrote down.  A topic that was
    deleted since, and re-created by somebody else, stays.
    """
    gone, others = await _to_purge(scene)
    await delete_topics(scene.there, gone)
    told = [f"topic {name} of {scene.there.name} is not the one that the migration made: it stays" for name in others]
    told += await emptying.empty(scene.there, await _cuts(scene, emptying.noted(scene.run)))
    return {"purged": gone, **({DOUBTS: told} if told else {})}


async def purged_told(scene: Scene) -> str:
    """What a purge would delete, and which topics of the wave it leaves alone."""
    gone, others = await _to_purge(scene)
    found = await _cuts(scene, emptying.noted(scene.run) or await linking.copied(scene))
    full = {one.partition.topic for one in found if one.to > one.start}
    uncut = await emptying.uncut(scene.there, sorted(full))
    emptied = sorted(full - set(uncut))
    stay = sorted({*others, *kept_topics(scene)} - set(emptied))
    told = [f"{named(sorted(gone), 'topic')} would be deleted" if gone else "no topic would be deleted"]
    told += [f"so would its copies in {named(emptied, 'topic')}, which it did not make"] if emptied else []
    told += [f"{one.why}: they stay" for one in found if one.why and one.partition.topic in emptied]
    if uncut:
        is_, keeps = verb(uncut, "is", "are"), verb(uncut, "keeps", "keep")
        told.append(f"{named(uncut, 'topic')} {is_} compacted, and {keeps} the copies")
    told += [f"{named(stay, 'topic')}, which it did not make, {verb(stay, 'stays', 'stay')}"] if stay else []
    return "; ".join(told)


async def _cuts(scene: Scene, known: emptying.Copied) -> list[emptying.Cut]:
    """What there is to cut of the wave's topics that the migration did not make."""
    return await emptying.cuts(scene.there, await those_there(scene.there, kept_topics(scene)), known)


async def _to_purge(scene: Scene) -> tuple[list[str], list[str]]:
    """The topics that a purge deletes, and those of the same names that somebody else has created since."""
    made = made_topics(scene.run)
    ids: Mapping[str, str] = scene.run.result(StepKind.LOOK, scene.wave.name).get(IDS, {})
    others = await _made_again(scene.there, {name: ids[name] for name in made if name in ids})
    return [name for name in made if name not in others], others


async def _made_again(cluster: Cluster, ids: Mapping[str, str]) -> list[str]:
    """Topics that have another id than they had."""
    answer = await cluster.metadata(sorted(ids))
    there = {name: TopicId(answer.topics[name].id) for name in await those_there(cluster, ids)}
    return sorted(name for name, id_ in there.items() if id_ != TopicId.ZERO and str(id_) != ids[name])
