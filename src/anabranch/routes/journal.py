"""The journal of a switch as JSON values, as a store keeps it.

Invariant: ``switch_of(switch_fields(switch)) == switch``.  A journal that an earlier version has written is of no run,
and its switch has no gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.model.routing import ClientRole, Stragglers, WhenLost
from anabranch.routes.switch import NamedClient, Ready, Switch, SwitchState


def switch_fields(switch: Switch) -> dict[str, Any]:
    """A journal as JSON values."""
    return {
        "id": switch.id,
        "version": switch.version,
        "began_ms": switch.began_ms,
        "deadline_ms": switch.deadline_ms,
        "stragglers": switch.stragglers.value,
        "named": {client_id: _named_fields(one) for client_id, one in switch.named.items()},
        "gathered": switch.gathered,
        "links": [[*way, link] for way, link in switch.links.items()],
        "state": switch.state.value,
        "ready": {client_id: ready_fields(one) for client_id, one in switch.ready.items()},
        "left": list(switch.left),
        "ends": None if switch.ends is None else {name: dict(ends) for name, ends in switch.ends.items()},
        "starts": {client_id: dict(starts) for client_id, starts in switch.starts.items()},
        "why": switch.why,
        "when_lost": switch.when_lost.value,
        "lost": list(switch.lost),
        "doubts": list(switch.doubts),
        "run": switch.run,
        "is_shut": switch.is_shut,
        "is_bound": switch.is_bound,
    }


def switch_of(fields: Mapping[str, Any]) -> Switch:
    """The journal that `switch_fields` has written."""
    return Switch(
        fields["id"],
        fields["version"],
        fields["began_ms"],
        fields["deadline_ms"],
        Stragglers(fields["stragglers"]),
        {client_id: _named(one) for client_id, one in fields["named"].items()},
        {(before, after): link for before, after, link in fields["links"]},
        fields["gathered"],
        SwitchState(fields["state"]),
        {client_id: ready_of(one) for client_id, one in fields["ready"].items()},
        tuple(fields["left"]),
        fields["ends"],
        fields["starts"],
        fields["why"],
        WhenLost(fields["when_lost"]),
        tuple(fields["lost"]),
        tuple(fields["doubts"]),
        fields.get("run", ""),
        fields.get("is_shut", False),
        fields.get("is_bound", False),
    )


def ready_fields(ready: Ready) -> dict[str, Any]:
    """What a client handed over, as JSON values."""
    return {
        "positions": dict(ready.positions),
        "uncertain": dict(ready.uncertain),
        "static_member": ready.static_member,
        "topics": dict(ready.topics),
    }


def ready_of(fields: Mapping[str, Any]) -> Ready:
    """What `ready_fields` has written."""
    more = fields.get("static_member", ""), fields.get("topics", {})
    return Ready(fields["positions"], fields["uncertain"], *more)


def _named_fields(one: NamedClient) -> dict[str, Any]:
    return {
        "words": one.words,
        "role": one.role.value,
        "group": one.group,
        "before": one.before,
        "after": one.after,
        "topics": dict(one.topics),
    }


def _named(fields: Mapping[str, Any]) -> NamedClient:
    return NamedClient(**{**fields, "role": ClientRole(fields["role"])})
