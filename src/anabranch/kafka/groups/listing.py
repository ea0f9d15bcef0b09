"""All groups of a cluster, by asking each broker for those that it coordinates."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from kafka.protocol.admin import ListGroupsRequest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import ConnectionLostError
from anabranch.kafka.groups.coordinators import AGAIN, TIMEOUT_S, together
from anabranch.kafka.groups.describing import classic
from anabranch.kafka.groups.kinds import kind_of, state_of, streams_prefixes
from anabranch.model.groups import GroupKind, GroupState

_PAUSE_S = 0.2
_MAY_BE_STREAMS = (GroupKind.CLASSIC, GroupKind.SIMPLE)  # simple: an application whose position was reset


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """One group as its coordinator lists it; ``protocol`` is its protocol type, such as ``consumer``."""

    name: str
    kind: GroupKind
    state: GroupState
    protocol: str


async def list_groups(cluster: Cluster) -> list[ListedGroup]:
    """Every group that we may DESCRIBE, by name; brokers leave the others out without a word.

    Classic Streams applications are found by describing the classic groups; one that is not running by its topics
    (``streams_prefixes``), which an ordinary empty group can share with it by its name.  A group that moves between
    brokers while they are asked may be missed: its coordinator is loading then, which is waited for, up to 30 s.
    States are UNKNOWN on brokers before 2.6 (ListGroups v4, KIP-518).
    """
    listed = await listing(cluster)
    classics = [one.name for one in listed if one.kind in _MAY_BE_STREAMS]
    if not classics:
        return listed
    described = await classic(cluster, classics)
    prefixes = streams_prefixes((await cluster.metadata(None)).topics)
    return [_listed(one, described[one.name].kind, prefixes) if one.name in described else one for one in listed]


def _listed(one: ListedGroup, kind: GroupKind, prefixes: frozenset[str]) -> ListedGroup:
    asleep = one.kind in _MAY_BE_STREAMS and not one.state.is_active and one.name in prefixes
    kind = GroupKind.STREAMS if asleep or kind is GroupKind.STREAMS else one.kind
    return ListedGroup(one.name, kind, one.state, one.protocol)


async def listing(cluster: Cluster) -> list[ListedGroup]:
    """``list_groups`` without a look for classic Streams applications; one request to each broker."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        found: dict[str, ListedGroup] = {}
        codes: dict[int, int] = {}
        lost: list[ConnectionLostError] = []
        nodes = (await cluster.metadata([])).brokers
        await together(_of_broker(cluster, node, found, codes, lost) for node in nodes)
        if not codes and not lost:
            return [found[name] for name in sorted(found)]
        if time.monotonic() > deadline:
            if lost:
                raise lost[-1]
            node, code = next(iter(codes.items()))
            cluster.check(code, "ListGroups", f"broker {node}")
        await asyncio.sleep(_PAUSE_S)


async def _of_broker(
    cluster: Cluster,
    node: int,
    found: dict[str, ListedGroup],
    codes: dict[int, int],
    lost: list[ConnectionLostError],
) -> None:
    try:
        response = await cluster.call(ListGroupsRequest(states_filter=[], types_filter=[]), node, cap=5)
    except ConnectionLostError as error:
        lost.append(error)
        return
    if response.error_code in AGAIN:
        codes[node] = response.error_code
        return
    cluster.check(response.error_code, "ListGroups", "cluster")
    for group in response.groups:
        kind = kind_of(group.group_type or "", group.protocol_type)
        found[group.group_id] = ListedGroup(
            group.group_id, kind, state_of(group.group_state or ""), group.protocol_type
        )
