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
    W5  while its gate is shut nothing is pinned, moved or published: its clients have paused, and that is all.
    W6  once it is bound it ends with its table published, however late, unless whoever bound it gives it up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from anabranch.model.routing import ClientRole, Stragglers, WhenLost

Pair = tuple[str, str]
"""From which cluster to which."""


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

    @property
    def holds(self) -> bool:
        """Whether clients that it would move must not connect."""
        return self.is_open and self is not SwitchState.PUBLISHED


DEADLINE_MS = 60_000
"""How long a switch may take, unless another time is given, before it is given up."""


@dataclass(frozen=True, slots=True)
class SwitchPolicy:
    """How clients are moved to another cluster.

    ``at_once`` coordinates nothing: each client goes over as it hears of it, and no position is moved.
    """

    stragglers: Stragglers = Stragglers.CANCEL
    when_lost: WhenLost = WhenLost.WAIT
    timeout_ms: int = DEADLINE_MS
    at_once: bool = False


PLAIN_SWITCH = SwitchPolicy()
"""How clients are moved unless something else is said."""


@dataclass(frozen=True, slots=True)
class NamedClient:
    """A client that a switch moves; ``topics`` are what it reads or writes: names on ``before`` to names on ``after``.

    A subscription by a regular expression names none.
    """

    words: str
    role: ClientRole
    group: str
    before: str
    after: str
    topics: Mapping[str, str] = field(hash=False)

    @property
    def pair(self) -> Pair:
        """From which cluster to which."""
        return self.before, self.after


@dataclass(frozen=True, slots=True)
class Ready:
    """What a client handed over as it paused.

    ``positions`` are the next offsets of partitions that it had, TOPIC-PARTITION on the cluster ``before``;
    ``uncertain`` counts messages by partition of which it does not know whether they were appended there.
    ``static_member`` is the ``group.instance.id`` of one that stays in its group as it pauses (KIP-345).  ``topics``
    are those that it has asked for since it was named, as of `NamedClient`.
    """

    positions: Mapping[str, int] = field(default_factory=dict, hash=False)
    uncertain: Mapping[str, int] = field(default_factory=dict, hash=False)
    static_member: str = ""
    topics: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Switch:
    """The journal; times in ms.  ``version`` is the one that the new table has or would have.

    ``gathered`` is False until every instance has said whom it knows.  ``links`` copy from one cluster to the other.
    ``ends`` are what has to be copied of each cluster, pinned when all had paused; None before.  ``left`` are the
    clients that were left behind.  ``starts`` are where clients begin on their new cluster in partitions of which their
    group has committed nothing: by the id of one without a group, else by ``group_key``, for whichever member has them
    there.  ``lost`` are clusters without which it goes on, ``doubts`` what is not known because of that, in words.

    ``run`` is the run of a migration that asked for it, empty where a person did.  ``is_shut`` says whether it has a
    gate that is shut: all pause, and it waits until that is opened.  ``is_bound`` says whether the run is about to pass
    its point of no return, or has passed it: what follows counts on clients that stay paused until they are led.
    """

    id: str
    version: int
    began_ms: int
    deadline_ms: int
    stragglers: Stragglers
    named: Mapping[str, NamedClient] = field(hash=False)
    links: Mapping[Pair, str] = field(default_factory=dict, hash=False)
    gathered: bool = True
    state: SwitchState = SwitchState.PREPARING
    ready: Mapping[str, Ready] = field(default_factory=dict, hash=False)
    left: tuple[str, ...] = ()
    ends: Mapping[str, Mapping[str, int]] | None = field(default=None, hash=False)
    starts: Mapping[str, Mapping[str, int]] = field(default_factory=dict, hash=False)
    why: str = ""
    when_lost: WhenLost = WhenLost.WAIT
    lost: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    run: str = ""
    is_shut: bool = False
    is_bound: bool = False

    @property
    def groups(self) -> Mapping[str, Pair]:
        """The groups that are moved: from which cluster to which."""
        return {one.group: one.pair for one in self.named.values() if one.role is ClientRole.CONSUMER and one.group}

    @property
    def has_places(self) -> bool:
        """Whether it is to be found where somebody goes on, or what is not known of a cluster that is lost."""
        return bool(self.groups or self.lost or any(one.positions for one in self.ready.values()))

    def starts_of(self, client_id: str, group: str) -> Mapping[str, int]:
        """Where a client begins in partitions of which its group has committed nothing."""
        return self.starts.get(client_id) or self.starts.get(group_key(group), {})

    def static_members(self) -> Mapping[str, frozenset[str]]:
        """What has paused, and stays a member of its group, by group."""
        found: dict[str, set[str]] = {}
        for client_id, ready in self.ready.items():
            if ready.static_member:
                found.setdefault(self.named[client_id].group, set()).add(ready.static_member)
        return {group: frozenset(members) for group, members in found.items() if group}

    def read_up_to(self, pair: Pair | None = None) -> dict[str, dict[str, int]]:
        """Up to where members of groups have read, as they handed over: by group, and TOPIC-PARTITION where they are.

        Of two that had a partition, one after the other, the later one has read further.  Only those on ``pair``'s way
        if it is given.
        """
        found: dict[str, dict[str, int]] = {}
        for client_id, one in self.named.items():
            if one.group and pair in (None, one.pair):
                known = found.setdefault(one.group, {})
                handed = self.ready.get(client_id, Ready()).positions
                known |= {name: max(at, known.get(name, 0)) for name, at in handed.items()}
        return found

    def drained_topics(self) -> Mapping[Pair, frozenset[str]]:
        """Topics, by their names before, of which all that was written must be copied: those of producers that go."""
        found: dict[Pair, set[str]] = {}
        for client_id, one in self.named.items():
            if one.role is ClientRole.PRODUCER and client_id not in self.left:
                found.setdefault(one.pair, set()).update(one.topics)
        return {pair: frozenset(topics) for pair, topics in found.items()}

    def topics_by_pair(self) -> Mapping[Pair, Mapping[str, str]]:
        """All topics of all named clients that go from one cluster to another."""
        return topics_by_pair(self.named.values())


def group_key(group: str) -> str:
    """Under which name the starts of a group's members stand; it is no client's id."""
    return f"group {group}"


def topics_by_pair(clients: Iterable[NamedClient]) -> dict[Pair, dict[str, str]]:
    """All topics of clients that go from one cluster to another."""
    found: dict[Pair, dict[str, str]] = {}
    for one in clients:
        found.setdefault(one.pair, {}).update(one.topics)
    return found


@dataclass(frozen=True, slots=True)
class Observed:
    """What is seen from outside: which clients are there, whether the pinned ends are copied, and the groups moved.

    ``live`` are those that may still act: whose leases run, and producers that have not said that they end.
    ``copied`` and ``moved`` are None where it was not looked, or a cluster did not answer; ``blocked`` says why.
    """

    now_ms: int
    live: frozenset[str]
    copied: bool | None = None
    moved: bool | None = None
    blocked: str = ""


class Action(StrEnum):
    """What is to be done next."""

    GATHER = "gather the clients of all instances"
    ASK = "ask clients to pause"
    WAIT = "wait for clients"
    HOLD = "wait until its gate is opened"
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
    late = observed.now_ms >= switch.deadline_ms and not switch.is_bound
    if not switch.gathered:
        return _until(late, Action.GATHER, observed.blocked or "whom it moves is asked")
    missing = tuple(
        client_id
        for client_id in switch.named
        if client_id not in switch.ready and client_id in observed.live and client_id not in switch.left
    )
    if missing:
        if not late:
            return Step(Action.ASK, f"{len(missing)} of {len(switch.named)} have not paused yet", missing)
        return _straggled(switch, missing)
    if switch.is_shut:
        return _until(late, Action.HOLD, "all have paused, and nobody has opened its gate")
    if switch.ends is None:
        return _until(late, Action.PIN, observed.blocked or "all have paused")
    if not observed.copied:
        return _until(late, Action.DRAIN, observed.blocked or "what was written last is being copied")
    if switch.has_places and not observed.moved:
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
    """The journal once a client has answered; a second answer, and one after the end, change nothing.

    A consumer that was not heard of for so long that it was not waited for may answer until groups are moved.  Topics
    that it came to until it paused are among those that it is named with, so that they are copied as well.
    """
    if client_id not in switch.named or client_id in switch.ready or not switch.state.holds:
        return switch
    if switch.state is not SwitchState.PREPARING and switch.named[client_id].role is not ClientRole.CONSUMER:
        return switch
    made = replace(switch, ready={**switch.ready, client_id: handed})
    if not handed.topics:
        return made
    one = switch.named[client_id]
    return replace(made, named={**switch.named, client_id: replace(one, topics={**one.topics, **handed.topics})})


def opened(switch: Switch) -> Switch:
    """The journal once its gate is opened, by a run that has passed its point of no return; again it is the same."""
    return replace(switch, is_shut=False, is_bound=True)


def bound(switch: Switch) -> Switch:
    """The journal once a run is about to pass its point of no return; again it is the same."""
    return replace(switch, is_bound=True)


def left_behind(switch: Switch, clients: tuple[str, ...]) -> Switch:
    """The journal once clients were given up; only producers are.  What is still to be done has as much time again."""
    assert all(switch.named[client_id].role is ClientRole.PRODUCER for client_id in clients)
    deadline = 2 * switch.deadline_ms - switch.began_ms
    return replace(switch, left=tuple(dict.fromkeys((*switch.left, *clients))), deadline_ms=deadline)
