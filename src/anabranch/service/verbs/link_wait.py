"""Waiting until a link has copied what its source holds, as an operation that tells what is left."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from anabranch.kafka.security import open_cluster
from anabranch.model.accounts import Role
from anabranch.model.caughtup import Remaining, remaining_of
from anabranch.model.plans import plan_hash
from anabranch.model.reports import LinkStatus
from anabranch.operations.links import wait
from anabranch.operations.links.caughtup import goal
from anabranch.operations.links.show import show
from anabranch.operations.links.wait import CaughtUp
from anabranch.service.errors import OperationLostError
from anabranch.service.reach import Reach
from anabranch.service.verb import LinkRequest, Offset, Verb
from anabranch.service.words import command

LOOK_S = 5.0
"""How often at most what is left is kept, and told to listeners."""


class WaitRequest(LinkRequest):
    """A link, how many records each lane may still lag, and for how many seconds it is waited for at most."""

    lag: Offset = 0
    timeout_s: Annotated[float, Field(gt=0, le=86_400)] = 3_600.0


@dataclass(frozen=True, slots=True)
class WaitPlan:
    """What would be waited for, as of now: so many partitions of the source, and what is left of them, in words.

    What the source holds is read again as the wait begins; ``hash`` covers the link alone.
    """

    link: str
    partitions: int
    records: int
    left: str
    hash: str


async def _plan(reach: Reach, request: WaitRequest) -> WaitPlan:
    source, target = await reach.clusters.pair(request.target, request.link)
    aim = await goal(source, target, request.link)
    status = await show(target, request.link)
    found = remaining_of(aim, status)
    hash_ = plan_hash(request.link, status.record.created_at_ms)
    return WaitPlan(request.link, len(aim.logs), found.records, wait.why(found, status), hash_)


async def _apply(reach: Reach, request: WaitRequest, _: WaitPlan) -> CaughtUp:
    """Wait, over connections of its own: the pool's are closed where a context is changed meanwhile.

    Raises OperationLostError as soon as the service ends, and what the operation raises.
    """
    source, _target = await reach.clusters.pair(request.target, request.link)
    told, told_at = "", 0.0

    async def tell(found: Remaining, status: LinkStatus) -> None:
        nonlocal told, told_at
        left, now = wait.why(found, status), time.monotonic()
        if left != told and now - told_at >= LOOK_S:
            told, told_at = left, now
            await reach.tell({"stage": "waiting", "records": found.records, "left": left})

    context = reach.clusters.context
    async with open_cluster(context(source.name)) as here, open_cluster(context(request.target)) as there:
        waiting = wait.wait(here, there, request.link, request.lag, request.timeout_s, tell)
        done = await reach.until_ending(waiting)
    if done is None:
        raise OperationLostError(goes_on=shown(request))
    return done


def _words(request: WaitRequest) -> str:
    options: list[tuple[str, object]] = [("--caught-up", True), ("--timeout", f"{request.timeout_s:g}s")]
    options += [("--lag", request.lag or None), ("--target", request.target)]
    return command("link", "wait", request.link, options=options)


def shown(request: LinkRequest) -> str:
    """The command that shows the link."""
    return command("link", "show", request.link, options=[("--target", request.target)])


WAIT = Verb(
    "links.wait",
    "Wait until a link has copied what its source holds as the wait begins",
    Role.OPERATOR,
    WaitRequest,
    WaitPlan,
    CaughtUp,
    lambda request: f"link {request.link}",
    _words,
    _plan,
    _apply,
    execute="",
    goes_on=shown,
)
