"""What is behind a consumer: the client of confluent-kafka that it reads by, and how it pauses and goes on.

Invariants
    U4  confluent-kafka's consumer is called in threads of the application, or while one of them waits; one of a cluster
        that is lost is given up, and closed by itself.  Where the application waits in a commit for such a cluster, the
        commit has failed, whatever comes of it later.

Where partitions begin is in ``beginning`` (U1, U2), what counts on one cluster alone in ``era`` (U3), how messages are
given out in ``giving`` (M1, M2), and where it stands as it leaves in ``standing`` (U5).
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from anabranch.model.clock import monotonic
from anabranch.model.routing import ClientReport, Route
from anabranch.sdk import peers
from anabranch.sdk.cache import LOG
from anabranch.sdk.callbacks import Callbacks
from anabranch.sdk.config import split
from anabranch.sdk.era import Era
from anabranch.sdk.errors import LostAssignmentError, MayNotError, SwitchingError
from anabranch.sdk.giving import GivingReader
from anabranch.sdk.metrics import Counts
from anabranch.sdk.names import Names, Place, place_of
from anabranch.sdk.orders import Orders, Phase
from anabranch.sdk.partitions import Subscribed, nowhere
from anabranch.sdk.quick import ReadWay, quick_poll
from anabranch.sdk.settling import Settling
from anabranch.sdk.standing import ASK_S, Left, stood, stood_alone
from anabranch.sdk.waiting import Waiting

SLICE_S = 0.1
"""How long a call waits for messages before it looks again whether it is to pause."""
_TRY_S = 30.0
"""How long the old cluster is asked to take commits before a client that no switch waits for goes on without."""
_ID_S = 5.0
"""How long a cluster is asked for its id in one go."""
_METADATA = 8
"""Of how much group metadata, the last that it gave, it is known that it is this consumer's."""
_CLOSED = "Consumer closed"
_FORKED = "this consumer is of the process that was forked: make one in each process"


class RoutedReader(GivingReader):
    """A client that reads where its code's route leads."""

    def __init__(self, *args: Mapping[str, Any], **kwargs: Any) -> None:
        settings, given = split({**(args[0] if args else {}), **kwargs})
        confluent_kafka.Consumer(given).close()  # what is wrong with them is told here, and connects to nothing
        super().__init__(settings, given, str(given.get("group.id", "")))
        self._left = Left()
        self._subscribed = Subscribed()
        self._settling, self._was_held = Settling(self._given), False
        self._stands: list[Any] | None = None
        self._was_assigned = False
        self._stopped: dict[Place, Any] = {}
        self._cell: list[ReadWay] = [(_nothing, self._era, self._names)]
        self._poll, self._counted = quick_poll(self._cell, SLICE_S, weakref.ref(self))
        self._consumed = Counts()
        self._measures = False
        self._gave: deque[tuple[object, Era]] = deque(maxlen=_METADATA)
        self._delivered_then = 0
        self._undone: Era | None = None
        self._sent: dict[Place, int] = {}
        self._tries_until: float | None = None
        self._end = _CLOSED
        self._acting, self._callbacks = threading.RLock(), Callbacks()
        self._connecting = self._rejoins = False
        self._is_registered = False
        # It does not keep this alive, by which its thread is ended.
        itself = weakref.ref(self)
        self._waiting = Waiting(lambda: (one := itself()) is None or one._gives_up())
        peers.join(self)

    def gave(self, metadata: object) -> bool:
        """Whether this group metadata is of this consumer."""
        return any(one is metadata for one, _ in list(self._gave))

    def is_reading(self, cluster: str) -> bool:
        """Whether it is on this cluster, and has still to pause for a switch, of which it may not have heard yet."""
        with self._changed:
            is_there = not self._closed and self._era.cluster == cluster
            return is_there and self._orders.phase in (Phase.OPEN, Phase.PAUSING)

    def transaction_ended(self, committed: bool) -> None:
        """One that commits its offsets has."""
        self._delivered_then, self._undone = self._delivered(), None
        sent, self._sent = self._sent, {}
        if committed:
            self._era.committed |= sent

    def _delivered(self) -> int:
        """How many messages the application has."""
        return self._counted()[0] + self._consumed.records

    def _is_kept_open(self) -> bool:
        """Whether what it has delivered belongs to a transaction that has still to end where it was begun (X2)."""
        is_here = self._inner is not None and not self._orders.lost
        return is_here and self._delivered() > self._delivered_then and peers.have_open(self)

    # -- messages --------------------------------------------------------------------------------------

    def poll_on(self, timeout: float) -> Any:
        """Do what is ordered, and wait on in slices, after a first look that found nothing.

        That has waited for a slice, unless there is something to do: an application that polls in short waits is not to
        turn round and round while it is held.
        """
        is_first = self._due
        until = None if timeout < 0 else monotonic() + max(0.0, timeout - (0.0 if is_first else SLICE_S))
        while is_first or until is None or monotonic() < until:
            is_first = False
            left = None if until is None else max(0.0, until - monotonic())
            if self._due and not self._ready(left):
                return None
            message = self._read(SLICE_S if left is None else min(SLICE_S, left))
            if message is not None:
                return message
        return None

    def _read(self, timeout: float) -> Any:
        era, names = self._era, self._names  # before the client: another thread may go on with it meanwhile
        inner = self._inner
        if inner is None:
            return None
        try:
            if self._settling.is_on:
                self._settle(inner)
            message = inner.poll(timeout)
        except RuntimeError as error:
            if not self.was_left(error):
                raise
            return None
        if message is None or self._is_as_is(inner):
            return message
        return self.given(message, era, names)

    def read_error(self, error: Any) -> None:
        """What a message tells in place of a record; the end of a partition is none."""
        if error.code() != KafkaError._PARTITION_EOF:
            self.reported(str(error))

    def was_left(self, error: RuntimeError) -> bool:
        """Whether a call failed since another thread has left the cluster with the client meanwhile."""
        return not self._closed and error.args == (_CLOSED,)

    def _goes_to(self) -> str:
        target = self._orders.target or self._orders.told or self._orders.route
        return "?" if target is None else target.cluster

    def _back(self, found: list[Any]) -> list[Any]:
        """By the application's names."""
        return [self._names.back(one) for one in found]

    def _known_now(self, found: list[Any]) -> list[Any]:
        if not self._plain:
            for one in found:
                self._era.known.told(place_of(one), [one.offset])
        return self._back(found)

    # -- the route -------------------------------------------------------------------------------------

    def _ask_for(self, topics: tuple[str, ...]) -> None:
        """Register with these topics; raises MayNotError, RouteProblemError, NoRouteError."""
        known = self._session.query
        if self._is_registered and known.topics == topics:
            return
        route = self._session.register(replace(known, topics=topics)).route
        self._is_registered = True
        if not route.may_read:
            raise MayNotError("read", route.code, route.cluster, route.rule)
        self._session.follow()

    def _heed(self) -> None:
        """Have the next call look at the orders; under the lock."""
        if self._orders.phase is Phase.OPEN and self._orders.route is not None:
            self._era.called(self._orders.route.topics)
            self._names = Names.of(self._orders.route)
            self._plain = self._era.is_plain and self._names.are_plain
            self._stands = None
        self._due = self._closed or self._measures or self._rejoins or self._orders.phase is not Phase.OPEN
        self._as_is = self._plain or (self._are_told_apart() and not self._floors.open)
        inner = self._inner
        is_quick = self._as_is and not self._settling.is_on and not self._leaves
        read = _nothing if self._due or inner is None else inner.poll if is_quick else self._read
        self._cell[0] = (read, self._era, self._names)
        self._changed.notify_all()

    def _usable(self, timeout: float = -1) -> Any:
        """The client, where there is one by then; raises SwitchingError."""
        inner = self._inner
        if inner is not None and (self._leaves or self._callbacks.are_running or not self._due):
            return inner
        if not self._is_registered and not self._closed:
            self._ask_for(())
        waited_s = timeout if timeout >= 0 else self._settings.block_s
        if not self._ready(waited_s):
            raise SwitchingError(waited_s, f"switch {self._orders.switch} is under way")
        return self._inner

    def _ready(self, timeout: float | None) -> bool:
        """Do what is ordered, in the application's thread; whether there is a client that reads by then.

        Not in a callback, in the middle of a call of the client that would be left.
        """
        if (self._leaves or self._callbacks.are_running) and not self._closed:
            return False
        until = None if timeout is None or timeout < 0 else monotonic() + timeout
        if not self._is_registered and not self._closed:
            self._ask_for(())
        while True:
            with self._changed:
                if self._closed:
                    raise RuntimeError(self._end)
                phase = self._orders.phase
                if phase in (Phase.HELD, Phase.PAUSED):
                    left = None if until is None else max(0.0, until - monotonic())
                    if not self._changed.wait(SLICE_S if left is None else min(left, SLICE_S)) and left == 0.0:
                        return False
                    continue
            if phase is Phase.PAUSING and self._is_kept_open():
                return True
            with self._acting:  # of two threads that read one does it
                if self._orders.phase is not phase or self._closed:
                    continue
                if phase is Phase.OPEN:
                    self._open()
                    return True
                if phase is Phase.GOING:
                    if self._connect():
                        continue
                    left = False
                else:
                    left = self._leave()
            if not left and until is not None and monotonic() >= until:
                return False

    def _open(self) -> None:
        """What is due of a client that may go on."""
        self._tries_until = None
        if self._rejoins:
            self._rejoins = False
            self._inner.unsubscribe()
            self._subscribe(self._inner)
        with contextlib.suppress(KafkaException):  # of partitions that are just being taken away
            self._measure()

    def _settle(self, inner: Any) -> None:
        """Have the group settle soon, as a member that has just come to it."""

        def subscribe() -> None:
            if self._subscribed.topics and inner is self._inner:
                with contextlib.suppress(KafkaException):  # it is told with the next message
                    self._subscribe(inner)

        if self._settling.beat(subscribe):
            with self._changed:
                self._heed()

    def _measure(self) -> None:
        """Positions and lag, as the client knows them without asking anybody."""
        with self._changed:
            self._measures = False
            self._heed()
        if self._inner is not None:
            stood = self._inner.position(self._parts())
            self._note(stood)
            self._counts.measure(self._inner, stood)

    # -- leaving and going on --------------------------------------------------------------------------

    def _gives_up(self) -> bool:
        """Whether the cluster that it is to leave is waited for no more: it is lost, or has taken no commit for long.

        The time goes on across calls, since the application may poll in short waits.
        """
        with self._changed:
            orders = self._orders
            if orders.lost or orders.switch or orders.phase is not Phase.PAUSING:
                self._tries_until = None
                return orders.lost
            if self._tries_until is None:
                self._tries_until = monotonic() + _TRY_S
            return monotonic() > self._tries_until

    def _leave(self) -> bool:
        """Commit what the application has handed over, and leave the group; whether it was done.

        A cluster that takes no commits keeps it there; unless a switch waits, the client gives up in the end: what was
        not committed is read again.
        """
        self._gives_up()  # from now on it is counted
        inner = self._inner
        cluster = self._era.cluster
        self._settling.end()
        if inner is not None and not self._orders.lost:  # it would answer nothing while it waits for the cluster
            self._era.saw(inner)
        left = self._left if inner is None and self._left.cluster == cluster else Left(cluster)
        if inner is not None and self._orders.lost:
            positions = [] if self._is_by_commits() else self._positions(inner)
            left = self._stand_alone(positions)
            self._give_up(inner)
        elif inner is not None:
            gave_up = False
            try:
                left = self._waiting.answer(lambda: self._stand(inner))
            except KafkaException as error:
                with self._changed:
                    if not self._orders.lost:  # else it is only waited for no more: the next turn leaves without it
                        self.reported(str(error))
                    gave_up = self._gives_up() and not self._orders.lost
                if not gave_up:
                    return False
                LOG.warning("cluster %s takes no commit: %s; what it has not is read again", cluster, error)
            with self._changed:
                if self._orders.phase is not Phase.PAUSING:
                    return True  # it need not leave any more
                self._left, self._leaves = left, True
                self._heed()
            try:
                if gave_up:
                    self._give_up(inner)
                else:
                    inner.close()
            finally:
                self._leaves, self._inner = False, None
                self._partitions.clear()
        self._left, self._stands = left, None
        if self._delivered() > self._delivered_then:
            self._undone = self._era
        with self._changed:
            self._floors.open.clear()
            if self._orders.phase is Phase.PAUSING:
                switch = self._orders.paused()
                if switch:
                    self._hand(switch)
            elif self._orders.phase is Phase.OPEN:
                self._orders.left()
            self._heed()
        return True

    def _give_up(self, inner: Any) -> None:
        """Have a client of a cluster that does not answer close by itself: that waits until its session is over."""
        self._inner = None
        self._partitions.clear()
        threading.Thread(target=inner.close, name="anabranch-lost", daemon=True).start()

    def _hand(self, switch: str) -> None:
        """Answer a switch, by what counts on the cluster where the service has it, which it may not have reached yet.

        There it would begin as it was told, as long as its group has given it nothing; where it stood before that
        counts no more.
        """
        cluster, left = self._goes_to(), self._left
        found = dict(self._orders.begins)
        if left.cluster == cluster:
            is_new = not (left.positions or left.committed or self._orders.lost)
            found |= _named(self._era.started if is_new else left.handed(self._commits_itself, self._orders.lost))
        self._session.ready(switch, found, {}, str(self._given.get("group.instance.id") or ""))

    def _stand(self, inner: Any) -> Left:
        """Where it stands, once all that was to be committed is; raises KafkaException."""
        partitions, positions, last = self._parts(), self._positions(inner), dict(self._partitions.last)
        grouped = [*partitions, *(TopicPartition(*place) for place in last)] if self._given.get("group.id") else []
        if self._subscribed.topics and not grouped:
            # Where nothing is asked of a cluster that is gone, closing the client would wait for it.
            inner.list_topics(self._names.there.get(self._subscribed.topics[0], self._subscribed.topics[0]), ASK_S)
        left = stood(inner, self._era.cluster, positions, grouped, self._auto_commits, bool(self._subscribed.topics))
        return replace(left, began=self._partitions.since(partitions), last=last)

    def _stand_alone(self, positions: list[Any]) -> Left:
        left = self._alone(self._parts(), positions)
        return replace(left, last=dict(self._partitions.last))

    def _alone(self, partitions: list[Any], positions: list[Any]) -> Left:
        given_out = None if self._is_by_commits() else positions
        since = self._partitions.since(partitions)
        return stood_alone(self._era.cluster, partitions, self._era.committed, given_out, since)

    def _positions(self, inner: Any) -> list[Any]:
        """The positions as it pauses: asked before anything is committed, since a client that waits for a cluster that
        does not answer tells no position either.
        """
        if self._stands is None:
            self._stands = self._partitions.stood(inner, self._parts())
            self._note(self._stands)
        return self._stands

    def _parts(self) -> list[Any]:
        """The partitions that it has, by the names there."""
        by_hand = self._subscribed.by_hand
        return self._partitions.listed() if by_hand is None else [self._names.to(one) for one in by_hand]

    def _connect(self) -> bool:
        """Connect where it goes on; False where a cluster is waited for that does not tell its id."""
        with self._changed:
            target, starts = self._orders.target, dict(self._orders.starts)
            if target is None or self._orders.phase is not Phase.GOING:
                return True  # a switch has begun meanwhile
            self._connecting = True
        try:
            return self._connect_to(target, starts)
        except Exception as error:
            self.reported(str(error))
            raise
        finally:
            with self._changed:
                self._connecting = False
                self._answer()

    def _answer(self) -> None:
        """Answer the switch that holds a client which has nothing to leave."""
        if self._orders.is_waiting and self._orders.switch and not self._connecting:
            self._was_held = True
            self._hand(self._orders.switch)

    def _connect_to(self, target: Route, starts: Mapping[str, int]) -> bool:
        if not target.may_read:
            raise MayNotError("read", target.code, target.cluster, target.rule)
        era = self._era.at(target, starts, lambda: self._id_there(target))
        if era is None:
            return False
        if era is not self._era and era.cluster == self._era.cluster:
            LOG.warning("cluster %s is another one by its id than before: no position is taken there", era.cluster)
            self._left = Left()
        era.called(target.topics)
        callbacks = self._callbacks.configured(self._given, era.noted, self._reporting())
        inner = confluent_kafka.Consumer(self._configured(target, **callbacks))
        with self._changed:
            if era is not self._era:
                self._floors.leave()
            self._era, self._names = era, Names.of(target)
            self._plain = era.is_plain and self._names.are_plain
        # Who is told that its partitions are taken away lets go of what it has not committed, and reads it again.
        told = {"on_revoke", "on_lost"} & self._subscribed.callbacks.keys()
        goes_over, self._was_held = self._was_held or bool(self._left.cluster), False
        left = self._left if self._left.cluster == era.cluster else Left()
        self._partitions.resume(left.began if told else left.positions, left.began)
        self._inner = inner
        if self._subscribed.topics:
            if goes_over:
                self._settling.prepare(inner, self._topics_there())
            self._subscribe(inner)
            if goes_over:
                self._settling.begin()
        elif self._subscribed.by_hand is not None:
            self._assign_by_hand(inner, target)
        LOG.info("consumer of %s: cluster %s, route %d", target.code, target.cluster, target.version)
        with self._changed:
            self._orders.connected(target)
            self._heed()
        return True

    def _id_there(self, target: Route) -> str:
        """The id of the cluster where a route leads; empty where it does not answer for some seconds."""
        asked = confluent_kafka.Consumer(self._configured(target))
        try:
            return str(asked.cluster_id(_ID_S) or "")
        except KafkaException:
            return ""
        finally:
            asked.close()

    def _subscribe(self, inner: Any) -> None:
        asked = self._subscribed
        callbacks: dict[str, Any] = {"on_assign": self._on_assign, "on_revoke": self._taken_away("on_revoke")}
        lost = "on_lost" if "on_lost" in asked.callbacks else "on_revoke"  # by which an application without it is told
        callbacks["on_lost"] = self._taken_away(lost, are_lost=True)
        guarded = {name: self._callbacks.guarded(one) for name, one in callbacks.items()}
        inner.subscribe(self._topics_there(), **guarded)

    def _topics_there(self) -> list[str]:
        """The topics that it has asked for, by the names there."""
        return [self._names.there.get(topic, topic) for topic in self._subscribed.topics]

    def _taken_away(self, name: str, are_lost: bool = False) -> Callable[[Any, list[Any]], None]:
        callback = self._subscribed.callbacks.get(name)

        def call(inner: Any, partitions: list[Any]) -> None:
            if inner is not self._inner:  # one of a lost cluster, which is closed by itself
                return
            if are_lost:
                self._partitions.lose(self._alone(partitions, self._partitions.stood(inner, partitions)).positions)
            self._ends(inner, partitions)
            self._partitions.go(inner, partitions)
            if callback is not None:
                callback(self, self._back(partitions))

        return call

    def _on_assign(self, inner: Any, partitions: list[Any]) -> None:
        """Have partitions begin where they are to (U1, U2); the application's own callback has the last word."""
        try:
            begun = self._begun(inner, partitions)
        except KafkaException as error:
            LOG.warning("cluster %s does not say what is committed, and is asked again: %s", self._era.cluster, error)
            self._partitions.assign(inner, [])
            with self._changed:
                self._rejoins = True
                self._heed()
            return
        self._partitions.come(begun)
        self._settling.assigned()
        self._was_assigned = False
        callback = self._subscribed.callbacks.get("on_assign")
        if callback is not None:
            callback(self, self._known_now(begun))
        if not self._was_assigned:
            self._partitions.assign(inner, begun)
            self._begins(begun)
            with self._changed:
                for place in self._partitions.since(begun):  # another member may have committed since it last had them
                    self._era.committed.pop(place, None)
        self._stop(inner, begun)

    def _begun(self, inner: Any, partitions: list[Any]) -> list[Any]:
        return self._partitions.begun(inner, partitions, self._left.committed, self._era.started)

    def _assign_by_hand(self, inner: Any, target: Route) -> None:
        asked = [self._names.to(one) for one in self._subscribed.by_hand or ()]
        if self._era.number <= 1 and not self._left.cluster:
            self._partitions.begins(asked)
            self._begins(asked)
            inner.assign(asked)
            self._stop(inner, asked)
            return
        begun = self._begun(inner, [TopicPartition(one.topic, one.partition) for one in asked])
        lost = nowhere(inner, begun, bool(self._given.get("group.id")))
        if lost:
            self._subscribed = Subscribed()
            inner.assign([])
            with self._changed:
                self._orders.connected(target)
                self._heed()
            raise LostAssignmentError(", ".join(f"{one.topic}-{one.partition}" for one in lost), target.cluster)
        self._partitions.begins(begun)
        self._begins(begun)
        inner.assign(begun)
        self._stop(inner, begun)

    def _stop(self, inner: Any, partitions: list[Any]) -> None:
        """Those that the application has paused stay so."""
        here = self._names.here
        stopped = [one for one in partitions if (here.get(one.topic, one.topic), one.partition) in self._stopped]
        if stopped:
            inner.pause(stopped)

    # -- what the session tells, in its thread ---------------------------------------------------------

    def told(self, tell: Callable[[Orders], None]) -> None:
        """Take an order."""
        with self._changed:
            tell(self._orders)
            self._answer()
            self._heed()

    def prepared(self, switch: str, _: int, lost: bool) -> None:
        """Take the order to pause: the next call does it."""
        self.told(lambda orders: orders.on_prepare(switch, lost))

    def forked(self) -> None:
        """The client in the child of a fork has no threads: it says so, rather than never read."""
        self._changed = threading.Condition(threading.RLock())  # whoever held it is not here
        self._acting = threading.RLock()
        self._closed, self._end, self._due = True, _FORKED, True
        self._cell[0] = (_nothing, self._era, self._names)

    def tick(self) -> None:
        """Some time has passed."""

    def figures(self) -> ClientReport:
        """What is reported."""
        with self._changed:
            records, size = self._counted()
            self._counts.records, self._counts.bytes = records + self._consumed.records, size + self._consumed.bytes
            found = self._counts.report()
            self._measures = True
            self._heed()
        return found


def _named(positions: Mapping[Place, int]) -> dict[str, int]:
    """As they are told: by TOPIC-PARTITION."""
    return {f"{topic}-{part}": at for (topic, part), at in positions.items()}


def _nothing(_: float) -> None:
    """What is read where the next call has something to do first."""
