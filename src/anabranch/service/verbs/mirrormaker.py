"""What is published for readers of MirrorMaker 2's topics."""

from __future__ import annotations

from typing import Any

from anabranch.mirrormaker.names import SEPARATOR
from anabranch.model.accounts import Role
from anabranch.operations.mirrormaker import publish
from anabranch.operations.mirrormaker.publish import Published, PublishPlan
from anabranch.service.reach import Reach
from anabranch.service.verb import LinkRequest, Name, Verb
from anabranch.service.words import command


class PublishRequest(LinkRequest):
    """A link's map as MirrorMaker 2's topics; ``source_alias`` is what that one would call the source.

    ``separator`` is its `replication.policy.separator`.
    """

    source_alias: Name | None = None
    separator: Name = SEPARATOR


def _words(request: PublishRequest) -> str:
    separator = None if request.separator == SEPARATOR else request.separator
    options = [("--source-alias", request.source_alias), ("--separator", separator), ("--target", request.target)]
    return command("mm2", "publish", request.link, options=options)


async def _plan(reach: Reach, request: PublishRequest) -> PublishPlan:
    clusters = await reach.clusters.pair(request.target, request.link)
    return await publish.plan(*clusters, request.link, source_alias=request.source_alias, separator=request.separator)


async def _apply(reach: Reach, request: PublishRequest, planned: PublishPlan) -> Published:
    return await publish.apply(*await reach.clusters.pair(request.target, request.link), planned)


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "mirrormaker.publish",
        "Publish a link's offset map as MirrorMaker 2 does",
        Role.APPROVER,
        PublishRequest,
        PublishPlan,
        Published,
        lambda request: f"link {request.link}",
        _words,
        _plan,
        _apply,
    ),
)
