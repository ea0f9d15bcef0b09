"""Steps that make, run, pause and end the links of a wave."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from anabranch.kafka.cluster import Cluster
from anabranch.migration.inherited import CONFIGS, COPIED, IDS
from anabranch.migration.legs import Leg
from anabranch.migration.standing import WaveVerb
from anabranch.migration.steps import translated_by
from anabranch.model.caughtup import remaining_of
from anabranch.model.lane import LaneKey
from anabranch.model.link import LinkSpec, MirroredTopic, UnknownLinkError
from anabranch.model.plans import PlanChangedError
from anabranch.model.topics import TopicId
from anabranch.operations.links import change, create, delete
from anabranch.operations.links.caughtup import goal
from anabranch.operations.links.create import LinkExistsError
from anabranch.operations.links.show import show
from anabranch.operations.links.status import stored
from anabranch.operations.migrations import emptying, looking, own_configs
from anabranch.operations.migrations.desk import Result, Scene
from anabranch.operations.migrations.engine import NotYetError
from anabranch.operations.offsets.ranges import certain
from anabranch.state.maps.reading import read_maps
from anabranch.state.topics.control import Links
from anabranch.state.topics.journal import Journal


async def create_link(scene: Scene) -> Result:
    """Store the leg's link; one of its name that is another one is refused."""
    await _create(scene.here, scene.there, scene.leg.spec())
    return None


async def delete_link(scene: Scene) -> None:
    """Forget the leg's link, if it is the one that was made for the wave, and delete the topics that it made.

    Without its offset map nobody could go on with what it copied.  The topics go first, and the copies in others, as
    only the link says which they are; configs last, as the link would change them again.  Raises NotYetError until
    topics are gone.
    """
    await looking.delete_made(scene)
    if found := await copied(scene):
        await emptying.empty(scene.there, await emptying.cuts(scene.there, found, found))
    if await _delete(scene.there, scene.leg.spec()):
        await own_configs.put_back(scene)


async def prepare_reverse(scene: Scene) -> Result:
    """Store the way back, which begins where the copies end now.

    One that a run has left which could not delete it, for its source was lost, ends before: it is made again.
    """
    back = scene.leg.next.spec()
    await _create(scene.there, scene.here, back)
    if await _is_stale(scene):
        await _delete(scene.here, back)
        await _create(scene.there, scene.here, back)
    await _name_topics(scene.there, scene.here, scene.leg.next)
    return None


async def _name_topics(source: Cluster, target: Cluster, back: Leg) -> None:
    """Write down of which topics the way back's offset maps are, as its runs do.

    Where its source is lost before one has begun nothing else tells: maps are kept by the ids of topics there.
    """
    links = Links(target)
    await links.sync()
    known = {topic.source for topic in links.topics_of(back.link)}
    here, there = await source.metadata(sorted(back.topics)), await target.metadata(sorted(back.topics.values()))
    for name, copy in sorted(back.topics.items()):
        ids = here.topics[name].id, there.topics[copy].id
        if name not in known and all(one.int for one in ids):
            await links.put_topic(MirroredTopic(back.link, name, TopicId(ids[0]), copy, TopicId(ids[1])))


async def _is_stale(scene: Scene) -> bool:
    """Whether the way back begins before the end of what was copied: it would copy the rest back a second time."""
    maps, claims = await read_maps(scene.there, scene.leg.link), await Journal(scene.here).read()
    answer = await scene.there.metadata(sorted({lane.target.topic for lane in maps}))
    for lane in certain([*maps, *maps.doubts.values()]):
        key = LaneKey(scene.leg.next.link, TopicId(answer.topics[lane.target.topic].id), lane.target.partition)
        begins, has_begun = claims.claims(str(key)), lane.ranges.source_end or lane.ranges.target_end
        if has_begun and not (begins and begins[-1].claim.start == lane.ranges.target_end):
            return True
    return False


async def delete_reverse(scene: Scene) -> None:
    """Forget the way back, which has copied nothing."""
    await _delete(scene.here, scene.leg.next.spec())


async def _create(source: Cluster, target: Cluster, spec: LinkSpec) -> None:
    try:
        await create.apply(source, target, await create.plan(source, target, spec))
    except LinkExistsError:
        _, record = await stored(target, spec.id)
        if not _is_ours(record.wanted.spec, spec):
            raise


def _is_ours(found: LinkSpec, made: LinkSpec) -> bool:
    """Whether a link is the one that is made for a wave: what may be changed while it runs is not compared."""
    same = (found.back_of, found.source.context, found.target.context) == (
        made.back_of,
        made.source.context,
        made.target.context,
    )
    return same and (made.back_of is not None or (found.naming, found.filter) == (made.naming, made.filter))


async def _delete(target: Cluster, made: LinkSpec) -> bool:
    """Delete a link, and what is left of it where making or deleting it broke off; False where another has its name."""
    with suppress(UnknownLinkError):
        _, record = await stored(target, made.id)
        if not _is_ours(record.wanted.spec, made):
            return False
    with suppress(UnknownLinkError):
        await delete.apply(target, await delete.plan(target, made.id))
    return True


async def forget_link(scene: Scene) -> Result:
    """Forget a link of this leg, or of one before it, which may be stored on either cluster.

    With the first one of a wave that stays on the source goes what links have changed of its topics' configs.
    """
    made = scene.leg.of_link(scene.subject)
    if made is None:
        return None
    is_gone = await _delete(scene.there if made.there == scene.leg.there else scene.here, made.spec())
    if not is_gone or not ends_changes(scene):
        return None
    changed = await own_configs.put_back(scene)
    return {CONFIGS: changed} if changed else None


def ends_changes(scene: Scene) -> bool:
    """Whether the step forgets the first link of a wave that is given up."""
    return scene.run.what == WaveVerb.CANCEL.value and scene.subject == scene.leg.at(0).link


async def run_link(scene: Scene) -> Result:
    """Have the leg's link run."""
    await scene.desk.run_link(scene.leg.there, scene.subject)
    return None


async def end_link(scene: Scene) -> None:
    """Have a link of this leg, or of one before it, run no more that was made to run."""
    made = scene.leg.of_link(scene.subject)
    assert made is not None, f"{scene.subject} is no link of {scene.leg.link} or of one before it"
    await scene.desk.stop_link(made.there, scene.subject)


async def stop_link(scene: Scene) -> Result:
    """``end_link``, for good; a cancel writes down up to where topics that the migration did not make hold copies.

    Where the cluster is lost that has them, its leg's own link is not what is stopped.
    """
    await end_link(scene)
    if scene.run.what != WaveVerb.CANCEL.value or scene.subject != scene.leg.link:
        return None
    found = await copied(scene)
    return {COPIED: found} if found else None


async def copied(scene: Scene) -> emptying.Copied:
    """What is known of the copies of the leg's link in topics that the migration did not make."""
    with suppress(UnknownLinkError):
        _, record = await stored(scene.there, scene.leg.link)
        if _is_ours(record.wanted.spec, scene.leg.spec()):
            return await emptying.copied(scene, looking.kept_topics(scene))
    return {}


async def run_reverse(scene: Scene) -> Result:
    """Have the way back run, once no run of the leg's own link is there any more.

    The race: that link is paused, and its workers hear of it within some seconds.  One that has not yet would copy over
    there what the way back brings here, the way back would bring it again, and so on.
    """
    await scene.desk.stop_link(scene.leg.there, scene.leg.link)
    await scene.desk.run_link(scene.leg.here, scene.subject)
    return None


async def catch_up_wave(scene: Scene) -> Result:
    """``catch_up`` of the link by which applications go on, before a switch begins."""
    by = translated_by(scene.leg, scene.run.part)
    if by != scene.leg:
        scene = replace(scene, here=scene.there, there=scene.here)
    return await catch_up(replace(scene, subject=by.link))


async def catch_up(scene: Scene) -> Result:
    """Wait until no lane lacks more than a switch may begin with."""
    link = scene.subject
    aim = await goal(scene.here, scene.there, link)
    status = await show(scene.there, link)
    left = remaining_of(aim, status)
    if not left.within(scene.leg.migration.limits.most_lag):
        stopped = ", ".join(str(lane.source) for lane in left.stopped)
        what = f"lanes have stopped: {stopped}" if stopped else f"{left.records:,} records are left to copy"
        raise NotYetError(f"link {link}: {what}")
    return {"records": left.records}


async def caught_up(scene: Scene) -> Result:
    """``catch_up`` of a start: then its topics are there, and their ids are written down for a purge."""
    return {**(await catch_up(scene) or {}), IDS: await looking.made_ids(scene)}


async def verify(scene: Scene) -> Result:
    """Compare what the leg's link has copied, or that of a leg before it."""
    leg = scene.leg.of_link(scene.subject)
    assert leg is not None, f"{scene.subject} is no link of {scene.leg.migration.name}"
    return {"comparison": await scene.desk.verify(leg.there, leg.link, scene.run.began_ms)}


async def pause_link(scene: Scene) -> Result:
    """Pause the leg's link: its workers obey within two seconds, and it has nothing left to copy."""
    await _set_paused(scene.there, scene.subject, paused=True)
    return None


async def resume_link(scene: Scene) -> None:
    """Have it copy on."""
    await _set_paused(scene.there, scene.subject, paused=False)


async def let_copy(scene: Scene) -> Result:
    """Have a paused link copy what is left."""
    await resume_link(scene)
    return None


async def _set_paused(target: Cluster, link: str, *, paused: bool) -> None:
    _, record = await stored(target, link)
    if record.wanted.paused is not paused:
        try:
            await change.apply(target, await change.plan(target, link, change.PAUSE if paused else change.RESUME))
        except PlanChangedError as error:  # its rate was changed at the same time, which is no reason to turn back
            raise NotYetError(error.message) from error
