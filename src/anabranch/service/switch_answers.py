"""What the service answers of switches, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.model.routing import ClientRole
from anabranch.routes.journal import switch_of
from anabranch.routes.switch import Switch
from anabranch.store.switches import StoredSwitch


@dataclass(frozen=True, slots=True)
class SwitchSummary:
    """A switch: how far it has come, ``why`` it was given up, and how many of its clients have paused.

    ``lost`` are clusters without which it went on, ``doubts`` what is not known because of that.
    """

    id: str
    state: str
    version: int
    began_ms: int
    deadline_ms: int
    author: str
    reason: str
    clients: int
    paused: int
    left: int
    uncertain: int
    why: str
    lost: tuple[str, ...]
    doubts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SwitchedClient:
    """A client of a switch: ``positions`` are those that it handed over, ``starts`` where it begins then."""

    id: str
    words: str
    role: ClientRole
    group: str
    before: str
    after: str
    paused: bool
    left: bool
    positions: Mapping[str, int]
    uncertain: Mapping[str, int]
    starts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SwitchAnswer:
    """A switch with its clients; ``links`` are those whose maps say where they go on."""

    switch: SwitchSummary
    links: tuple[tuple[str, str, str], ...]
    clients: tuple[SwitchedClient, ...]


def switch_summary(switch: Switch) -> dict[str, Any]:
    """How far a switch has come, for listeners."""
    return {
        "id": switch.id,
        "state": switch.state.value,
        "version": switch.version,
        "clients": len(switch.named),
        "paused": len(switch.ready),
        "why": switch.why,
    }


def summary_of(stored: StoredSwitch) -> SwitchSummary:
    """A switch without its clients."""
    journal = switch_of(stored.journal)
    return SwitchSummary(
        journal.id,
        journal.state.value,
        journal.version,
        journal.began_ms,
        journal.deadline_ms,
        stored.author,
        stored.reason,
        len(journal.named),
        len(journal.ready),
        len(journal.left),
        sum(sum(ready.uncertain.values()) for ready in journal.ready.values()),
        journal.why,
        journal.lost,
        journal.doubts,
    )


def switch_answer(stored: StoredSwitch) -> SwitchAnswer:
    """A switch with its clients."""
    journal = switch_of(stored.journal)
    clients = []
    for client_id, one in journal.named.items():
        ready = journal.ready.get(client_id)
        clients.append(
            SwitchedClient(
                client_id,
                one.words,
                one.role,
                one.group,
                one.before,
                one.after,
                ready is not None,
                client_id in journal.left,
                {} if ready is None else ready.positions,
                {} if ready is None else ready.uncertain,
                journal.starts_of(client_id, one.group),
            )
        )
    links = tuple((*pair, link) for pair, link in sorted(journal.links.items()))
    return SwitchAnswer(summary_of(stored), links, tuple(clients))
