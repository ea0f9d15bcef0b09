"""What is against leading a wave's applications, looked at before any of them is held up; it changes nothing.

What is there as they are led may be another table, and other clients: each is looked at again then.
"""

from __future__ import annotations

from anabranch.errors import RefusedError
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.kafka.writers import active_producers
from anabranch.migration.legs import Leg
from anabranch.migration.spec import FenceKind
from anabranch.migration.steps import Part
from anabranch.model.clock import now_ms
from anabranch.model.counted import counted
from anabranch.model.reasons import Reason, Severity
from anabranch.model.routing import ClientRole
from anabranch.model.topics import TopicPartition
from anabranch.operations.migrations.leading import faults_of, led
from anabranch.operations.routes.planning import named_clients, plan_table
from anabranch.routes.switch import SwitchPolicy
from anabranch.routes.table import RouteTable
from anabranch.service.migration_routes import check_topics
from anabranch.service.route_desk import ServiceDesk

_OF_LATE_MS = 600_000


async def against(desk: ServiceDesk, leg: Leg, part: Part) -> tuple[Reason, ...]:
    """Why a part of a wave could not be led to a leg's end, all of it; raises UnknownPluginError, ClusterError."""
    newest = await desk.newest()
    before = RouteTable() if newest is None else newest.table
    if faults := faults_of(before, leg, part):
        return tuple(_error(one) for one in faults)
    return (*await _of_clients(desk, before, leg, part), *await not_held(desk, leg, part))


def _error(error: RefusedError) -> Reason:
    return Reason.found(Severity.ERROR, error.message, error.hint)


async def _of_clients(desk: ServiceDesk, before: RouteTable, leg: Leg, part: Part) -> tuple[Reason, ...]:
    """That a client uses topics of no wave; where clients pause first, that is looked at before anything is pinned."""
    table = led(before, leg, part)
    if table == before or FenceKind.ROUTES in leg.wave.fences:
        return ()
    try:
        planned = await plan_table(desk, table, "", SwitchPolicy(at_once=True))  # by whichever link
        check_topics(leg, named_clients(planned.impact))
    except RefusedError as error:
        return (_error(error),)
    return ()


async def not_held(desk: ServiceDesk, leg: Leg, part: Part) -> tuple[Reason, ...]:
    """That more producers wrote of late than have registered, and nothing else keeps those from writing.

    Copies of the way back have producer ids, too, so it is looked at before the first switch alone.
    """
    others = {FenceKind.ACL, FenceKind.HOOK} & {*leg.wave.fences}
    if part is Part.CONSUMERS or FenceKind.ROUTES not in leg.wave.fences or others or leg.number:
        return ()
    cluster, now = desk.clusters.cluster(leg.here), now_ms()
    answer = await cluster.metadata(sorted(leg.topics))
    there = {name: topic.partitions for name, topic in answer.topics.items() if topic.error == 0}
    partitions = [TopicPartition(name, at) for name, parts in there.items() for at in parts]
    try:
        entries = (await active_producers(cluster, answer, partitions)).values()
    except PermissionDeniedError:
        return ()  # which is told of the link
    recent = {one.producer_id for mine in entries for one in mine if now - one.last_timestamp < _OF_LATE_MS}
    queries = [one.query for one in await desk.registry.live()]
    held = sum(one.role is ClientRole.PRODUCER and one.code in leg.wave.codes for one in queries)
    if len(recent) <= held:
        return ()
    what = (
        f"wave {leg.wave.name}: {counted(len(recent), 'producer')} wrote to its topics within "
        f"{_OF_LATE_MS // 60_000} min, and {held:,} of its codes are registered: routes hold nobody else"
    )
    return (Reason.found(Severity.WARNING, what, "stop the others, or add fence acl, which keeps them from writing"),)
