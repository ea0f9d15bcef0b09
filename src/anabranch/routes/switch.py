"""A switch: live clients are moved to another cluster while they run, and none loses or repeats a record.

It is a journal that one instance goes on with, and a pure decision of the next step: `decide` looks at the journal and
at what is observed, and names one step; whoever carries it out writes its outcome down and asks again.  Killed
anywhere, it is asked again by the journal alone.

Invariants
    W1  the new table is published only when every named client has paused and handed over (``READY``), is gone, or was
        left behind by the stated policy; when every pinned end has been copied; and when every group has been moved.
    W2  before it is published nothing has changed for a client that it does not undo: a cancelled switch leaves every
        client on the cluster where it was, at the record where it was.
    W3  once it is published it is not cancelled: asked again it only goes on.
    W4  a client that is named stays named: one that comes meanwhile is held until the switch has ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from anabranch.model.routing import ClientRole


class SwitchState(StrEnum):
    """How far a switch has come; ``PUBLISHED`` is the point of no return."""

    PREPARING = "preparing"
    DRAINING = "draining"
    MOVING = "moving"
    PUBLISHED = "published"
    DONE = "done"
    CANCELLED = "cancelled"

    @property
    def is_open(self) -> bool:
        """Whether it has still to end."""
        return self not in (SwitchState.DONE, SwitchState.CANCELLED)


class Stragglers(StrEnum):
    """What becomes of a switch when a live client has not answered in time.

    ``CANCEL`` leaves all where they are.  ``LEAVE`` goes on without those producers; a group is never moved without
    one of its consumers.
    """

    CANCEL = "cancel"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class NamedClient:
    """A client that a switch moves; ``topics`` are those of the cluster ``before``, by their names there."""

    words: str
    role: ClientRole
    group: str
    before: str
    after: str
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ready:
    """What a client handed over as it paused.

    ``positions`` are the next offsets of partitions that it had, TOPIC-PARTITION on the cluster ``before``;
    ``uncertain`` counts messages by partition of which it does not know whether they were appended there.
    """

    positions: Mapping[str, int] = field(default_factory=dict, hash=False)
    uncertain: Mapping[str, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Switch:
    """The journal; times in ms.  ``version`` is the one that the new table has or would have.

    ``ends`` are what has to be copied of each cluster, pinned when all had paused; None before.  ``undo`` are the
    records of moved groups by link, ``left`` the clients that were left behind.
    """

    id: str
    version: int
    began_ms: int
    deadline_ms: int
    stragglers: Stragglers
    named: Mapping[str, NamedClient] = field(hash=False)
    state: SwitchState = SwitchState.PREPARING
    ready: Mapping[str, Ready] = field(default_factory=dict, hash=False)
    left: tuple[str, ...] = ()
    ends: Mapping[str, Mapping[str, int]] | None = field(default=None, hash=False)
    undo: Mapping[str, str] = field(default_factory=dict, hash=False)
    why: str = ""

    @property
    def groups(self) -> Mapping[str, tuple[str, str]]:
        """The groups that are moved: from which cluster to which."""
        return {
            one.group: (one.before, one.after)
            for one in self.named.values()
            if one.role is ClientRole.CONSUMER and one.group
        }

    def drained_topics(self) -> Mapping[str, frozenset[str]]:
        """Topics, by cluster, of which all that was written must be copied first: those of producers that go."""
        found: dict[str, set[str]] = {}
        for client_id, one in self.named.items():
            if one.role is ClientRole.PRODUCER and client_id not in self.left:
                found.setdefault(one.before, set()).update(one.topics)
        return {cluster: frozenset(topics) for cluster, topics in found.items()}


@dataclass(frozen=True, slots=True)
class Observed:
    """What is seen from outside: which clients are live, whether the pinned ends are copied, and the groups moved.

    ``copied`` and ``moved`` are None where it was not looked, or a cluster did not answer; ``blocked`` says why.
    """

    now_ms: int
    live: frozenset[str]
    copied: bool | None = None
    moved: bool | None = None
    blocked: str = ""


class Action(StrEnum):
    """What is to be done next."""

    ASK = "ask clients to pause"
    WAIT = "wait for clients"
    PIN = "pin what has to be copied"
    DRAIN = "wait until it is copied"
    MOVE = "move groups"
    PUBLISH = "publish the table"
    FINISH = "tell clients to go on"
    CANCEL = "tell clients to go on where they were"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Step:
    """One step; ``why`` is a sentence for people, ``clients`` those whom it concerns."""

    action: Action
    why: str
    clients: tuple[str, ...] = ()


def decide(switch: Switch, observed: Observed) -> Step:
    """The next step."""
    if switch.state in (SwitchState.DONE, SwitchState.CANCELLED):
        return Step(Action.NOTHING, "it has ended")
    if switch.state is SwitchState.PUBLISHED:
        return Step(Action.FINISH, f"version {switch.version} is published")
    if switch.why:
        return Step(Action.CANCEL, switch.why)
    missing = tuple(
        client_id
        for client_id in switch.named
        if client_id not in switch.ready and client_id in observed.live and client_id not in switch.left
    )
    late = observed.now_ms >= switch.deadline_ms
    if missing:
        if not late:
            return Step(Action.ASK, f"{len(missing)} of {len(switch.named)} have not paused yet", missing)
        return _straggled(switch, missing)
    if switch.ends is None:
        return Step(Action.PIN, "all have paused")
    if not observed.copied:
        return _until(late, Action.DRAIN, observed.blocked or "what was written last is being copied")
    if switch.groups and not observed.moved:
        return _until(late, Action.MOVE, observed.blocked or "groups are being moved")
    return Step(Action.PUBLISH, "all is copied and moved")


def _until(late: bool, action: Action, why: str) -> Step:
    return Step(Action.CANCEL, f"it was not done in time: {why}") if late else Step(action, why)


def _straggled(switch: Switch, missing: tuple[str, ...]) -> Step:
    """What is done about live clients that have not paused in time."""
    names = ", ".join(switch.named[client_id].words for client_id in missing[:3])
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    consumers = any(switch.named[client_id].role is ClientRole.CONSUMER for client_id in missing)
    if switch.stragglers is Stragglers.LEAVE and not consumers:
        return Step(Action.WAIT, f"left behind: {names}{more}", missing)
    return Step(Action.CANCEL, f"not paused in time: {names}{more}")


def paused(switch: Switch, client_id: str, handed: Ready) -> Switch:
    """The journal once a client has answered; a second answer, and one after the end, change nothing."""
    if client_id not in switch.named or client_id in switch.ready or switch.state is not SwitchState.PREPARING:
        return switch
    return replace(switch, ready={**switch.ready, client_id: handed})


def left_behind(switch: Switch, clients: tuple[str, ...]) -> Switch:
    """The journal once clients were given up; only producers are."""
    assert all(switch.named[client_id].role is ClientRole.PRODUCER for client_id in clients)
    return replace(switch, left=tuple(dict.fromkeys((*switch.left, *clients))))
