"""Trying contexts: each cluster is connected to as a link would, all of its brokers, and asked what we may do there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.probe import ClusterRole, facts
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.context_probe import ContextProbe
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import ClusterFacts

_MOST = 4
_WITHOUT = {
    "ALTER": "earlier owners are fenced through a coordinator, slower, and all lanes are mapped",
    "DESCRIBE_CONFIGS": "all lanes are mapped",
    "DESCRIBE": "what else is allowed is not known",
}


async def reach(contexts: Sequence[ClusterContext]) -> tuple[ContextProbe, ...]:
    """What each context's cluster tells, all at once; a failure is part of the answer and is never raised."""
    return tuple(await asyncio.gather(*(_reach(one) for one in contexts)))


async def _reach(context: ClusterContext) -> ContextProbe:
    try:
        async with open_cluster(context) as cluster:
            return await _look(cluster)
    except AnabranchError as error:
        return ContextProbe(context.name, error=error.message, hint=error.hint, exit_code=error.exit_code)


async def _look(cluster: Cluster) -> ContextProbe:
    seen = [topic.name for topic in (await cluster.metadata(None)).topics.values() if not topic.internal]
    source = await facts(cluster, ClusterRole.SOURCE, seen)
    target = await facts(cluster, ClusterRole.TARGET, [])
    return ContextProbe(
        cluster.name,
        cluster.transport.principal,
        source.cluster_id,
        source.version,
        source.brokers,
        (*_versions(source), *_topics(source, seen)),
        (*_versions(target), *_on_cluster(target)),
    )


def _versions(found: ClusterFacts) -> Iterable[Reason]:
    for api in found.apis:
        if not api.ok:
            offered = f"v{api.offered[0]} to v{api.offered[1]}" if api.offered else "nothing"
            what = f"offers {offered} of {api.name}; v{api.needed[0]} to v{api.needed[1]} is needed"
            yield Reason.found(Severity.ERROR, what, "upgrade its brokers")


def _topics(found: ClusterFacts, seen: Sequence[str]) -> Iterable[Reason]:
    """What may not be done on topics, the names of each operation together."""
    if not seen:
        what = "no topic is seen: there is none, or DESCRIBE is missing"
        yield Reason.found(Severity.WARNING, what, "allow DESCRIBE and READ on the topics that are to be copied")
    denied: dict[str, list[str]] = {}
    for one in found.permissions:
        if one.granted is False:
            denied.setdefault(one.operation, []).append(one.resource.removeprefix("topic "))
    for operation, names in denied.items():
        more = f" and {len(names) - _MOST:,} more" if len(names) > _MOST else ""
        what = f"may not {operation} on {len(names):,} of {len(seen):,} topics: {', '.join(names[:_MOST])}{more}"
        yield Reason.found(Severity.WARNING, what, f"allow {operation} on those of them that are to be copied")


def _on_cluster(found: ClusterFacts) -> Iterable[Reason]:
    for one in found.permissions:
        if one.granted is False:
            what = f"may not {one.operation} on {one.resource}: {_WITHOUT[one.operation]}"
            yield Reason.found(Severity.WARNING, what, f"allow {one.operation} on {one.resource} to {one.principal}")
