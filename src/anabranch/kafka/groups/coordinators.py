"""Asking many groups' coordinators at once, and asking again while a group moves or loads.

Requests name many groups where the protocol lets them, in chunks that bound what one answer weighs.
Sources: KIP-699 (FindCoordinator v4), KIP-709 (OffsetFetch v8).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from kafka.protocol.metadata import FindCoordinatorRequest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import ConnectionLostError
from anabranch.kafka.groups.errors import check_group

GROUP = 0
AGAIN = frozenset({14, 15, 16})  # COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
TIMEOUT_S = 30.0
_PAUSE_S = 0.1
_FOUND_AT_ONCE = 1000
_IN_FLIGHT = 50
_MANY_KEYS = 4  # FindCoordinator from here on names many groups (KIP-699)

Ask = Callable[[int, Sequence[str]], Awaitable[Mapping[str, int]]]


async def ask_groups(cluster: Cluster, names: Iterable[str], size: int, ask: Ask, request: str) -> None:
    """Call ``ask(node, names)`` for every group, at most ``size`` of one coordinator at once, until none is left.

    ``ask`` keeps what it is told and returns the groups that nothing was told about yet, with the codes (one of
    AGAIN): those are asked again, wherever they are by then, for 30 s.  A lost connection counts as such an answer,
    so ``ask`` must only read, or do what may be done twice.  Raises the error of the last code.
    """
    pending = list(dict.fromkeys(names))
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        again: dict[str, int] = {}
        lost: list[ConnectionLostError] = []
        nodes, unknown = await _find(cluster, pending)
        again |= unknown

        async def of_node(node: int, mine: list[str], again: dict[str, int], lost: list[ConnectionLostError]) -> None:
            for at in range(0, len(mine), size):
                chunk = mine[at : at + size]
                try:
                    again |= await ask(node, chunk)
                except ConnectionLostError as error:
                    lost.append(error)
                    again |= dict.fromkeys(chunk, 15)

        await together(of_node(node, mine, again, lost) for node, mine in nodes.items())
        if not again:
            return
        if time.monotonic() > deadline:
            if lost:
                raise lost[-1]
            name, code = next(iter(again.items()))
            check_group(cluster, code, request, name)
        pending = list(again)
        await asyncio.sleep(_PAUSE_S)


async def ask_group(
    cluster: Cluster, name: str, request: Any, code_of: Callable[[Any], int], cap: int | None = None
) -> Any:
    """The answer of a group's coordinator, asked again for 30 s while it did nothing; errors are the caller's.

    Raises ConnectionLostError, with an unknown outcome, without asking again.
    """
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        node = await cluster.coordinator(name, GROUP)
        try:
            answer = await cluster.call(request, node, cap=cap)
        except ConnectionLostError:
            cluster.forget_coordinator(name, GROUP)
            raise
        if code_of(answer) not in AGAIN:
            return answer
        cluster.forget_coordinator(name, GROUP)
        if time.monotonic() > deadline:
            return answer
        await asyncio.sleep(_PAUSE_S)


async def together(calls: Iterable[Awaitable[None]]) -> None:
    """Run all to their end, then raise the first error: none is left running behind its caller's back."""
    for outcome in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


async def _find(cluster: Cluster, names: Sequence[str]) -> tuple[dict[int, list[str]], dict[str, int]]:
    """(groups by the node that coordinates them, groups without one with the code)."""
    nodes: dict[int, list[str]] = {}
    unknown: dict[str, int] = {}
    many = (await cluster.any_connection()).offers(FindCoordinatorRequest.API_KEY) >= _MANY_KEYS
    size = _FOUND_AT_ONCE if many else 1
    chunks = [list(names[at : at + size]) for at in range(0, len(names), size)]
    for at in range(0, len(chunks), _IN_FLIGHT):
        requests = [
            FindCoordinatorRequest(key=chunk[0], key_type=GROUP, coordinator_keys=chunk)
            for chunk in chunks[at : at + _IN_FLIGHT]
        ]
        for request, response in zip(requests, await answers(cluster, requests, cap=_MANY_KEYS), strict=True):
            # Before KIP-699 (3.0) a request names one group, and the answer is about it.
            for answer in response.coordinators or [response]:
                name = answer.key if response.coordinators else request.key
                if answer.error_code in AGAIN:
                    unknown[name] = answer.error_code
                    continue
                check_group(cluster, answer.error_code, "Describe", name, answer.error_message)
                nodes.setdefault(answer.node_id, []).append(name)
    return nodes, unknown


async def answers(cluster: Cluster, requests: Iterable[Any], cap: int, node: int | None = None) -> list[Any]:
    """Several requests on their way to one broker at once, and their answers in that order; raises the first error."""
    found = await asyncio.gather(
        *(cluster.call(request, node, cap=cap) for request in requests), return_exceptions=True
    )
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return found
