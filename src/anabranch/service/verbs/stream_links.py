"""Starting and stopping a link as a stream: by the verbs of links, with their plans and their launcher."""

from __future__ import annotations

from typing import Any

from anabranch.model.plans import check_holds
from anabranch.operations.streams.changing import ChangedStream, RunStreamPlan, StreamVerb
from anabranch.service.board import SeenCluster, SeenLink
from anabranch.service.reach import Reach
from anabranch.service.verb import LinkRequest, Verb
from anabranch.service.verbs import links
from anabranch.service.verbs.links import LinkStopRequest
from anabranch.streams.links import state_of_link
from anabranch.streams.state.results import StateChoice
from anabranch.streams.states import StreamWanted

_OF_LINKS: dict[str, Verb[Any, Any]] = {verb.word: verb for verb in links.VERBS}
_RUN, _STOP = _OF_LINKS["run"], _OF_LINKS["stop"]


async def plan(reach: Reach, found: tuple[SeenCluster, SeenLink], verb: StreamVerb) -> RunStreamPlan:
    """What would be done with a link; raises what the plans of `links.run` and `links.stop` raise."""
    cluster, seen = found
    link = seen.status.spec.id
    planned = await _planned(reach, cluster.name, link, verb)
    state, _ = state_of_link(seen.status, seen.totals)
    return RunStreamPlan(
        *(link, verb, state, 0, StateChoice.REFUSE, "", "", ()),
        hash=planned.hash,
        revision=0,
        target=cluster.name,
    )


async def apply(reach: Reach, planned: RunStreamPlan) -> ChangedStream:
    """Do it, and wait until it is so; raises what `links.run` and `links.stop` raise, and PlanChangedError."""
    link, target, verb = planned.stream, planned.target, planned.verb
    now = await _planned(reach, target, link, verb)
    check_holds(f"link {link!r}", planned, now, f"anabranch stream show {link} --target {target}")
    on_link = LinkRequest(target=target, link=link)
    if verb is not StreamVerb.START:
        await _STOP.apply(reach, LinkStopRequest(target=target, link=link), now)
    if verb is StreamVerb.STOP:
        return ChangedStream(link, 0, StreamWanted.STOPPED.value, target)
    if verb is StreamVerb.RESTART:
        now = await _RUN.plan(reach, on_link)
    done = await _RUN.apply(reach, on_link, now)
    return ChangedStream(link, 0, StreamWanted.RUNNING.value, target, done.run)


async def _planned(reach: Reach, target: str, link: str, verb: StreamVerb) -> Any:
    """The plan of the link's own verb; a restart begins with its end."""
    if verb is StreamVerb.START:
        return await _RUN.plan(reach, LinkRequest(target=target, link=link))
    return await _STOP.plan(reach, LinkStopRequest(target=target, link=link))
