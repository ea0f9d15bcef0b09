"""Whether links that lead back into a link's source can be seen."""

from __future__ import annotations

from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster
from anabranch.model.reasons import Reason, Severity
from anabranch.state.codecs.topics import LINKS


async def blind_to_loops(source: Cluster) -> list[Reason]:
    """A finding where we may not even know whether links into the source exist: metadata leaves such topics out."""
    found = (await source.metadata([LINKS])).topics[LINKS]
    if found.error != admin.TOPIC_AUTHORIZATION_FAILED:
        return []
    principal = source.transport.principal
    return [
        Reason.found(
            Severity.WARNING,
            f"{principal} may not Describe topic {LINKS} of {source.name}: a loop of links cannot be found out",
            f"kafka-acls --add --allow-principal {principal} --operation Read --topic __anabranch_ "
            "--resource-pattern-type prefixed",
        )
    ]
