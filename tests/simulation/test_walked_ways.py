"""Every way out of every stop, by the words of its command: the lane stops, somebody does that, a worker goes on.

What the target holds in the end is what it held when the lane had stopped, and then each record of the source from
where the decision says that the lane goes on.  What is missing or twice is what was named.
"""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from anabranch.model.decisions import PendingDecision
from anabranch.model.lane import LaneProgress, LaneState
from anabranch.model.link import ModePolicy
from anabranch.operations.links.change import refiltered
from anabranch.protocol.endings import Stop
from anabranch.protocol.ways import WAYS, ways_out
from qa import links
from qa.faults.proof import persisted_of
from qa.simulation.life import LINK
from qa.simulation.load import entries
from tests.chance import seed
from tests.simulation.stopping import BATCH, CAUSES, Scene
from tests.simulation.watched import TOPIC, Watched, watched

pytestmark = pytest.mark.test

NEVER_S = 1e9
LOOKS = 120
TRIALS = [
    pytest.param(stop, number, mode, id=f"{stop.name} {number + 1} {mode.value}", marks=marks)
    for mode, marks in ((ModePolicy.MAPPED, []), (ModePolicy.AUTO, [pytest.mark.full]))
    for stop, ways in WAYS.items()
    for number in range(len(ways))
    if (stop, mode) != (Stop.POSITION_LOST, ModePolicy.AUTO)  # its lane is identity, whose position is the target's end
]
MADE_AGAIN = {Stop.SOURCE_MADE_AGAIN, Stop.TARGET_MADE_AGAIN, Stop.SOURCE_GONE}
"""Stops that a plan finds, and whose way out is one."""


def test_every_stop_has_a_trial() -> None:
    """A new one is brought about here too, and its ways out are walked."""
    assert set(CAUSES) == set(WAYS) == set(Stop)


def lane_of(link: Watched) -> LaneProgress | None:
    """The link's one lane, as ``link show`` has it; None where there is none."""
    found = link.world.ask(lambda: links.show(link.life.context("target"), LINK)).lanes
    return found[0] if found else None


def until_stopped(link: Watched, stop: Stop) -> LaneProgress:
    """The lane, once it has stopped for this reason."""
    for _ in range(LOOKS):
        link.pass_(0.5)
        lane = lane_of(link)
        if lane is not None and lane.state is LaneState.STOPPED and lane.stop_reason:
            assert stop.value in lane.stop_reason
            return lane
    raise AssertionError(f"the lane did not stop: {lane}")


def until_copied(scene: Scene) -> None:
    """Until the lane has come to the end of its source."""
    end = scene.log(scene.source).led.log.end
    for _ in range(LOOKS):
        scene.link.pass_(0.5)
        lane = lane_of(scene.link)
        if lane is not None and lane.position == end and lane.state is LaneState.FOLLOWING:
            return
    raise AssertionError(f"the lane did not come to {end}: {lane}")


def digests(scene: Scene) -> list[bytes]:
    """What the target holds, in its order."""
    return [one.digest for one in entries(scene.log(scene.target), committed=False)]


def walk(scene: Scene, way: str, at: int) -> PendingDecision | None:
    """Do what a way out says, with the words of its command; returns what was decided about the lane."""
    contexts = [scene.link.life.context(name) for name in ("source", "target")]
    ask = scene.link.world.ask
    _, noun, verb, link, *rest = way[way.rindex("anabranch ") :].split()
    assert (noun, link) == ("link", LINK)
    if verb == "resume":
        ask(lambda: links.resume(contexts[1], link))
        return None
    if verb == "set":
        assert rest[0] == "--exclude"
        before = ask(lambda: links.show(contexts[1], link)).wanted.spec.filter
        ask(lambda: links.set_wanted(contexts[1], link, filter=refiltered(link, before, None, rest[1:])))
        return None
    assert verb == "accept" and rest[1:] in ([], ["--at", "OFFSET"])
    ends_runs = "end every run" in way
    if ends_runs:
        scene.link.end(scene.run)
    place, where = rest[0], at if rest[1:] else None
    (choice,) = ask(lambda: links.accept(contexts[0], contexts[1], link, place, where)).pending
    if ends_runs:
        scene.begin()
    assert isinstance(choice, PendingDecision)
    return choice


@pytest.mark.parametrize(("stop", "number", "mode"), TRIALS)
def test_each_way_out_leads_on(stop: Stop, number: int, mode: ModePolicy) -> None:
    """With the worker that is there, or where its runs are to be ended in the next one."""
    with watched(seed(3), mode, load_gap_s=NEVER_S, guarded=stop is Stop.OWNER_FORGOTTEN) as link:
        scene = Scene(link, link.run(lease_seconds=5.0 if stop in MADE_AGAIN else 600.0))
        with scene.patches:
            scene.write(6)
            until_copied(scene)
            scene.held = digests(scene)
            assert scene.held == list(scene.written.values())
            CAUSES[stop](scene)
            lane = until_stopped(link, stop)
            ways = ways_out(lane.stop_reason, LINK, TOPIC, 0)
            assert (len(ways), digests(scene)) == (len(WAYS[stop]), scene.held)
            bad_end = lane.stop_offset + BATCH if lane.stop_offset is not None else 0
            if stop is not Stop.SOURCE_GONE:
                scene.write(2)
            choice = walked(scene, ways[number], stop, bad_end)
            if "--exclude" in ways[number]:
                link.pass_(15.0)
                assert lane_of(link) is None
                return
            scene.write(2)
            until_copied(scene)
            start = lane.position
            if choice is not None:
                skip = choice.decision.skip
                start = skip[1] if skip is not None else choice.decision.start or 0
            judge(scene, start, choice)
            link.end(scene.run)


def walked(scene: Scene, way: str, stop: Stop, at: int) -> PendingDecision | None:
    """Walk; what is to be corrected first stops the lane again where it was not."""
    if "link resume" in way:
        walk(scene, way, at)
        scene.link.pass_(8.0)
        until_stopped(scene.link, stop)
        assert digests(scene) == scene.held
    if "link resume" in way or "make it" in way:
        scene.mend()
    return walk(scene, way, at)


def judge(scene: Scene, start: int, choice: PendingDecision | None) -> None:
    """Both logs, and the offset map, are as the decision has said."""
    there = digests(scene)
    assert there == scene.held + [one for offset, one in sorted(scene.written.items()) if offset >= start]
    missing = [offset for offset, one in sorted(scene.written.items()) if one not in {*there, *scene.deleted}]
    assert missing == (list(range(*choice.given_up)) if choice and choice.given_up else [])
    counts = Counter(there)
    repeated = [offset for offset, one in scene.written.items() if counts[one] > 1]
    assert not repeated or (choice and choice.twice and set(repeated) <= set(range(*choice.twice)))
    context = scene.link.life.context("target")
    persisted, _ = scene.link.world.ask(lambda: asyncio.run(persisted_of(context, LINK)))
    held = {one.offset: one.digest for one in entries(scene.log(scene.target), committed=False)}
    told = {}
    for run in persisted[(TOPIC, 0)].ranges:
        for at in range(run.length):
            told[run.source + at] = held.get(run.target + at)
    end = max(scene.written) + 1
    assert {offset: told.get(offset) for offset in range(start, end)} == {
        offset: scene.written[offset] for offset in range(start, end)
    }
    assert all(one is None or one == scene.written.get(offset) for offset, one in told.items())
