"""What is behind a consumer: the client of confluent-kafka that it reads by, and how it pauses and goes on.

Invariants
    U1  it goes on at what the group has committed there; where nothing is, at the start that it was told.
    U2  after a switch that was given up it goes on at the message after the last one that it gave to the application,
        unless the group's offset in that partition was moved meanwhile past that, or back.
    U3  a message, or a number, of before a change of cluster is never taken for an offset of the one after it.
    U4  confluent-kafka's consumer is called in threads of the application, or while one of them waits; one of a cluster
        that is lost is given up, and closed by itself.
    U5  of a cluster that is lost it hands over what it has given out, where commits are automatic, or else what the
        cluster is known to have committed for it.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import confluent_kafka
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, TopicPartition

from anabranch.model.clock import monotonic
from anabranch.model.routing import ClientReport, ClientRole, Route
from anabranch.model.topics import TopicPartition as AtPartition
from anabranch.sdk import peers
from anabranch.sdk.cache import LOG
from anabranch.sdk.config import merged, split
from anabranch.sdk.errors import (
    LostAssignmentError,
    MayNotError,
    StaleMessageError,
    StaleOffsetError,
    SwitchingError,
)
from anabranch.sdk.known import KnownOffsets
from anabranch.sdk.message import RoutedMessage
from anabranch.sdk.metrics import Counts
from anabranch.sdk.orders import Orders, Phase
from anabranch.sdk.quick import quick_poll
from anabranch.sdk.routed import RoutedClient

SLICE_S = 0.1
"""How long a call waits for messages before it looks again whether it is to pause."""
_ASK_S = 10.0
_TRY_S = 30.0
"""How long the old cluster is asked to take commits before a client that no switch waits for goes on without."""
_MOST_POSITIONS = 20_000
_CLOSED = "Consumer closed"
_FORKED = "this consumer is of the process that was forked: make one in each process"
_CALLBACKS = ("error_cb", "stats_cb", "throttle_cb")
Place = tuple[str, int]


@dataclass
class Subscribed:
    """What the application asked for: topics, or partitions by hand."""

    topics: tuple[str, ...] = ()
    callbacks: Mapping[str, Any] = field(default_factory=dict)
    by_hand: list[Any] | None = None


@dataclass
class Left:
    """Where the client stood as it left a cluster: ``positions`` and what was committed there, by the names there."""

    cluster: str = ""
    positions: Mapping[Place, int] = field(default_factory=dict)
    committed: Mapping[Place, int] = field(default_factory=dict)


class RoutedReader(RoutedClient):
    """A client that reads where its code's route leads."""

    def __init__(self, *args: Mapping[str, Any], **kwargs: Any) -> None:
        settings, given = split({**(args[0] if args else {}), **kwargs})
        confluent_kafka.Consumer(given).close()  # what is wrong with them is told here, and connects to nothing
        super().__init__(settings, given, ClientRole.CONSUMER, (), str(given.get("group.id", "")))
        self._auto_commits = str(self._given.get("enable.auto.commit", True)).lower() not in ("false", "0", "no")
        self._cooperative = (
            "cooperative" in str(self._given.get("partition.assignment.strategy", ""))
            or str(self._given.get("group.protocol", "")).lower() == "consumer"
        )
        self._due = True
        self._leaves = False
        self._era = 0
        self._plain = True
        self._cluster = ""
        self._left = Left()
        self._resumed: dict[Place, int] = {}
        self._subscribed = Subscribed()
        self._started: dict[Place, int] = {}
        self._committed: dict[Place, int] = {}
        self._assigned: dict[Place, None] = {}
        self._stands: list[Any] | None = None
        self._known = KnownOffsets()
        self._there: Mapping[str, str] = {}
        self._here: Mapping[str, str] = {}
        self._was_assigned = False
        self._stopped: dict[Place, Any] = {}
        self._cell: list[Callable[[float], Any]] = [_nothing]
        self._poll, self._counted = quick_poll(self._cell, SLICE_S, weakref.ref(self))
        self._consumed = Counts()
        self._measures = False
        self._gave: object = None
        self._end = _CLOSED
        self._acting, self._calls_back = threading.RLock(), list[object]()
        self._connecting = self._rejoins = False
        self._is_registered = False
        peers.join(self)

    def gave(self, metadata: object) -> bool:
        """Whether this group metadata is of this consumer."""
        return metadata is not None and self._gave is metadata

    def is_reading(self) -> bool:
        """Whether it has still to pause for a switch, of which it may not have heard yet."""
        with self._changed:
            return not self._closed and self._orders.phase in (Phase.OPEN, Phase.PAUSING)

    # -- messages --------------------------------------------------------------------------------------

    def poll_on(self, timeout: float) -> Any:
        """Do what is ordered, and wait on in slices, after a first look that found nothing."""
        until = None if timeout < 0 else monotonic() + max(0.0, timeout - SLICE_S)
        is_first = self._due
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
        inner = self._inner
        if inner is None:
            return None
        try:
            message = inner.poll(timeout)
        except RuntimeError as error:
            if not self.was_left(error):
                raise
            return None
        return message if message is None or self._plain else self._wrapped(message)

    def was_left(self, error: RuntimeError) -> bool:
        """Whether a call failed since another thread has left the cluster with the client meanwhile."""
        return not self._closed and error.args == (_CLOSED,)

    def _wrapped(self, raw: Any) -> RoutedMessage:
        topic = raw.topic()
        if raw.error() is None:
            self._known.delivered((topic, raw.partition()), raw.offset())
        return RoutedMessage(raw, self._era, self._here.get(topic, topic))

    def _with_current(self, message: Any, act: Callable[[Any, Any], Any]) -> Any:
        """Act on the client and its own message of one that was given out here; raises StaleMessageError."""
        era = message.era if isinstance(message, RoutedMessage) else 1
        inner = self._inner
        if inner is not None and era == self._era:
            try:
                return act(inner, message.raw if isinstance(message, RoutedMessage) else message)
            except RuntimeError as error:
                if not self.was_left(error):
                    raise
        raise StaleMessageError(str(message.topic()), message.partition(), message.offset(), self._goes_to())

    def _check(self, one: Any) -> None:
        """Raise StaleOffsetError for a number that may be of before a change of cluster."""
        if self._era <= 1 and self._inner is not None:
            return
        there = self._to(one)
        if self._era > 1 and not self._known.is_known((there.topic, there.partition), one.offset):
            raise StaleOffsetError(one.topic, one.partition, one.offset, self._goes_to())

    def _goes_to(self) -> str:
        target = self._orders.target or self._orders.told or self._orders.route
        return "?" if target is None else target.cluster

    def _to(self, one: Any) -> Any:
        """By the name there."""
        name = self._there.get(one.topic, one.topic)
        return one if name == one.topic else named(name, one)

    def _from(self, found: list[Any]) -> list[Any]:
        """By the application's names."""
        return [named(self._here[one.topic], one) if one.topic in self._here else one for one in found]

    def _known_now(self, found: list[Any]) -> list[Any]:
        if not self._plain:
            for one in found:
                self._known.told((one.topic, one.partition), [one.offset])
        return self._from(found)

    def _answered(self, found: Any) -> Any:
        self.noted(found)
        return found if found is None else self._from(found)

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
            self._name(self._orders.route)
            self._stands = None
        self._due = self._closed or self._measures or self._rejoins or self._orders.phase is not Phase.OPEN
        inner = self._inner
        self._cell[0] = _nothing if self._due or inner is None else inner.poll if self._plain else self._read
        self._changed.notify_all()

    def _name(self, route: Route) -> None:
        self._there = {topic: there for topic, there in route.topics.items() if topic != there}
        self._here = {there: topic for topic, there in self._there.items()}

    def _usable(self, timeout: float = -1) -> Any:
        """The client, where there is one by then; raises SwitchingError."""
        inner = self._inner
        if inner is not None and (self._leaves or self._calls_back or not self._due):
            return inner
        if not self._is_registered and not self._closed:
            self._ask_for(())
        block_s = self._settings.block_s
        if not self._ready(timeout if timeout >= 0 else block_s):
            raise SwitchingError(block_s, f"switch {self._orders.switch} is under way")
        return self._inner

    def _ready(self, timeout: float | None) -> bool:
        """Do what is ordered, in the application's thread; whether there is a client that reads by then.

        Not in a callback, in the middle of a call of the client that would be left.
        """
        if (self._leaves or self._calls_back) and not self._closed:
            return False
        until = None if timeout is None or timeout < 0 else monotonic() + timeout
        if not self._is_registered and not self._closed:
            self._ask_for(())
        tries_until = monotonic() + _TRY_S
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
            with self._acting:  # of two threads that read one does it
                if self._orders.phase is not phase or self._closed:
                    continue
                if phase is Phase.OPEN:
                    self._open()
                    return True
                if phase is Phase.GOING:
                    self._connect()
                    continue
                left = self._leave(gives_up=monotonic() > tries_until)
            if not left and until is not None and monotonic() >= until:
                return False

    def _open(self) -> None:
        """What is due of a client that may go on."""
        if self._rejoins:
            self._rejoins = False
            self._inner.unsubscribe()
            self._subscribe(self._inner)
        with contextlib.suppress(KafkaException):  # of partitions that are just being taken away
            self._measure()

    def _measure(self) -> None:
        """Positions and lag, as the client knows them without asking anybody."""
        with self._changed:
            self._measures = False
            self._heed()
        if self._inner is None:
            return
        positions, lag = {}, 0
        for one in self._inner.position(self._parts()):
            if one.offset >= 0:
                positions[f"{one.topic}-{one.partition}"] = one.offset
                marks = self._inner.get_watermark_offsets(one, cached=True)
                lag += max(0, marks[1] - one.offset) if marks is not None and marks[1] >= 0 else 0
        told = dict(sorted(positions.items())[:_MOST_POSITIONS])
        self._counts.positions, self._counts.lag = told, lag if positions else None

    # -- leaving and going on --------------------------------------------------------------------------

    def _leave(self, gives_up: bool) -> bool:
        """Commit what the application has handed over, and leave the group; whether it was done.

        A cluster that takes no commits keeps it there; unless a switch waits, the client gives up in the end: what was
        not committed is read again.
        """
        inner = self._inner
        left = self._left if inner is None and self._left.cluster == self._cluster else Left(self._cluster)
        if inner is not None and self._orders.lost:
            left, self._inner = self._stand_alone(inner), None
            self._assigned.clear()
            # It would wait for the cluster until the group's session is over.
            threading.Thread(target=inner.close, name="anabranch-lost", daemon=True).start()
        elif inner is not None:
            try:
                left = self._stood(inner)
            except KafkaException as error:
                with self._changed:
                    self._counts.failed(str(error))
                    kept = bool(self._orders.switch) or not gives_up
                if kept:
                    return False
                LOG.warning("cluster %s takes no commit: %s; what it has not is read again", self._cluster, error)
            with self._changed:
                if self._orders.phase is not Phase.PAUSING:
                    return True  # it need not leave any more
            self._left, self._leaves = left, True
            try:
                inner.close()
            finally:
                self._leaves, self._inner = False, None
        self._left, self._stands = left, None
        with self._changed:
            if self._orders.phase is Phase.PAUSING:
                switch = self._orders.paused()
                if switch:
                    self._hand(switch, self._cluster)
            elif self._orders.phase is Phase.OPEN:
                self._orders.left()
            self._heed()
        return True

    def _hand(self, switch: str, cluster: str) -> None:
        """Answer a switch; its positions are those on the cluster that it leaves, or none."""
        positions = self._left.positions if self._left.cluster == cluster else {}
        self._session.ready(switch, {f"{topic}-{part}": at for (topic, part), at in positions.items()}, {})

    def _stand(self, inner: Any) -> Left:
        """Where it stands, once all that was to be committed is: the broker takes commits in their order."""
        assigned, stands = self._parts(), self._positions(inner)
        if self._auto_commits:
            try:
                for one in inner.commit(asynchronous=False):
                    if one.error is not None:
                        raise KafkaException(one.error)
            except KafkaException as error:
                if error.args[0].code() != KafkaError._NO_OFFSET:
                    raise
        committed: dict[Place, int] = {}
        if self._given.get("group.id") and assigned:
            for one in inner.committed(assigned, _ASK_S):
                if one.error is not None:
                    raise KafkaException(one.error)
                committed[one.topic, one.partition] = one.offset
        positions: dict[Place, int] = {}
        for one in stands:
            at = one.offset if one.offset >= 0 else committed.get((one.topic, one.partition), OFFSET_INVALID)
            if at >= 0:
                positions[one.topic, one.partition] = at
        return Left(self._cluster, positions, committed)

    def _stood(self, inner: Any) -> Left:
        """Where it stands, waited for no longer than the cluster is thought to be there.

        confluent-kafka answers nothing until the group's session is over where it is not.  Raises KafkaException.
        """
        done: queue.Queue[Left | Exception] = queue.Queue()

        def stand() -> None:
            try:
                done.put(self._stand(inner))
            except Exception as error:
                done.put(error)

        threading.Thread(target=stand, name="anabranch-commit", daemon=True).start()
        while True:
            with contextlib.suppress(queue.Empty):
                found = done.get(timeout=SLICE_S)
                if isinstance(found, Exception):
                    raise found
                return found
            if self._orders.lost:
                raise KafkaException(KafkaError(KafkaError._WAIT_COORD, "the cluster does not answer"))

    def _stand_alone(self, inner: Any) -> Left:
        """Where it stands as far as is known without the cluster (U5)."""
        if not self._auto_commits:
            ours = {_of(one) for one in self._parts()}
            return Left(self._cluster, {place: at for place, at in self._committed.items() if place in ours})
        return Left(self._cluster, {_of(one): one.offset for one in self._positions(inner) if one.offset >= 0})

    def _positions(self, inner: Any) -> list[Any]:
        """The positions as it pauses: asked before anything is committed, since a client that waits for a cluster that
        does not answer tells no position either.
        """
        if self._stands is None:
            self._stands = inner.position(self._parts())
        return self._stands

    def _parts(self) -> list[Any]:
        """The partitions that it has, by the names there, as was last told.

        The client itself is not asked: where its cluster does not answer it stops the whole process until the group's
        session is over.
        """
        if self._subscribed.by_hand is not None:
            return [self._to(one) for one in self._subscribed.by_hand]
        return [TopicPartition(*place) for place in self._assigned]

    def noted(self, committed: list[Any] | None) -> None:
        """Remember what the cluster has committed."""
        for one in committed or ():
            if one.error is None and one.offset >= 0:
                self._committed[one.topic, one.partition] = one.offset

    def _noting(self) -> Callable[[Any, list[Any]], None]:
        """What is told of commits that nobody waited for; the application's own callback is told as well."""
        own, client = self._given.get("on_commit"), weakref.ref(self)

        def told(error: Any, partitions: list[Any]) -> None:
            one = client()
            if error is None and one is not None:
                one.noted(partitions)
            if own is not None:
                own(error, partitions)

        return told

    def _guarded(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """A callback in which calls of this consumer leave no cluster."""
        client = weakref.ref(self)

        def call(*args: Any) -> Any:
            one = client()
            if one is None:
                return callback(*args)
            with one.calling_back():
                return callback(*args)

        return call

    @contextlib.contextmanager
    def calling_back(self) -> Iterator[None]:
        """A callback runs: in whichever thread, no call of this consumer leaves its cluster meanwhile."""
        token = object()
        self._calls_back.append(token)
        try:
            yield
        finally:
            self._calls_back.remove(token)

    def _connect(self) -> None:
        with self._changed:
            target, starts = self._orders.target, dict(self._orders.starts)
            if target is None or self._orders.phase is not Phase.GOING:
                return  # a switch has begun meanwhile
            self._connecting = True
        try:
            self._connect_to(target, starts)
        finally:
            with self._changed:
                self._connecting = False
                self._answer(self._goes_to())

    def _answer(self, cluster: str) -> None:
        """Answer the switch that holds a client which has nothing to leave."""
        if self._orders.is_waiting and self._orders.switch and not self._connecting:
            self._hand(self._orders.switch, cluster)

    def _connect_to(self, target: Route, starts: Mapping[str, int]) -> None:
        if not target.may_read:
            raise MayNotError("read", target.code, target.cluster, target.rule)
        own = {name: self._guarded(self._given[name]) for name in _CALLBACKS if callable(self._given.get(name))}
        inner = confluent_kafka.Consumer(
            merged({**self._given, **own, "on_commit": self._guarded(self._noting())}, target)
        )
        self._name(target)
        if target.cluster != self._cluster:
            self._era += 1
            self._known, self._committed = KnownOffsets(), {}
            self._started = {_place(name): offset for name, offset in starts.items()}
        self._cluster = target.cluster
        self._plain = self._era == 1 and not self._there
        # Who is told that its partitions are taken away lets go of what it has not committed, and reads it again.
        told = {"on_revoke", "on_lost"} & self._subscribed.callbacks.keys()
        self._resumed = {} if told or self._left.cluster != self._cluster else dict(self._left.positions)
        self._inner = inner
        if self._subscribed.topics:
            self._subscribe(inner)
        elif self._subscribed.by_hand is not None:
            self._assign_by_hand(inner, target)
        LOG.info("consumer of %s: cluster %s, route %d", target.code, target.cluster, target.version)
        with self._changed:
            self._orders.connected(target)
            self._heed()

    def _subscribe(self, inner: Any) -> None:
        asked = self._subscribed
        callbacks: dict[str, Any] = {"on_assign": self._on_assign, "on_revoke": self._taken_away("on_revoke")}
        if "on_lost" in asked.callbacks:  # without it what is lost is told as revoked
            callbacks["on_lost"] = self._taken_away("on_lost")
        guarded = {name: self._guarded(one) for name, one in callbacks.items()}
        inner.subscribe([self._there.get(topic, topic) for topic in asked.topics], **guarded)

    def _taken_away(self, name: str) -> Callable[[Any, list[Any]], None]:
        callback = self._subscribed.callbacks.get(name)

        def call(inner: Any, partitions: list[Any]) -> None:
            if inner is not self._inner:  # one of a lost cluster, which is closed by itself
                return
            for one in partitions:
                self._assigned.pop(_of(one), None)
            if self._resumed:
                for one in inner.position(partitions):
                    if one.offset >= 0:  # it has read on since
                        self._resumed.pop(_of(one), None)
            if callback is not None:
                callback(self, self._from(partitions))

        return call

    def _was_called_back(self) -> bool:
        return bool(self._subscribed.topics)

    def _on_assign(self, inner: Any, partitions: list[Any]) -> None:
        """Have partitions begin where they are to (U1, U2); the application's own callback has the last word."""
        try:
            begun = self._begun(inner, partitions)
        except KafkaException as error:
            LOG.warning("cluster %s does not say what is committed, and is asked again: %s", self._cluster, error)
            (inner.incremental_assign if self._cooperative else inner.assign)([])
            with self._changed:
                self._rejoins = True
                self._heed()
            return
        if not self._cooperative:
            self._assigned.clear()
        self._assigned |= {_of(one): None for one in begun}
        self._was_assigned = False
        callback = self._subscribed.callbacks.get("on_assign")
        if callback is not None:
            callback(self, self._known_now(begun))
        if not self._was_assigned:
            (inner.incremental_assign if self._cooperative else inner.assign)(begun)
        stopped = [one for one in begun if (self._here.get(one.topic, one.topic), one.partition) in self._stopped]
        if stopped:
            inner.pause(stopped)

    def _begun(self, inner: Any, partitions: list[Any]) -> list[Any]:
        """The partitions with the offsets at which they begin, where that is not simply what is committed."""
        resumed = self._resumed
        wanted = [one for one in partitions if _of(one) in resumed or _of(one) in self._started]
        if not wanted:
            return partitions
        committed = {}
        for one in inner.committed(wanted, _ASK_S):
            if one.error is not None:
                raise KafkaException(one.error)
            committed[_of(one)] = one.offset
        begun = []
        for one in partitions:
            place, now = _of(one), committed.get(_of(one))
            before = self._left.committed.get(place, OFFSET_INVALID)
            if now is not None and place in resumed and before <= now <= resumed[place]:
                begun.append(TopicPartition(one.topic, one.partition, resumed[place]))
            elif now is not None and now < 0 and place in self._started:
                begun.append(TopicPartition(one.topic, one.partition, self._started[place]))
            else:
                begun.append(one)
        return begun

    def _assign_by_hand(self, inner: Any, target: Route) -> None:
        asked = [self._to(one) for one in self._subscribed.by_hand or ()]
        if self._era <= 1 and not self._left.cluster:
            inner.assign(asked)
            return
        begun = self._begun(inner, [TopicPartition(one.topic, one.partition) for one in asked])
        lost = [one for one in begun if one.offset < 0]
        if lost and self._given.get("group.id"):
            found = {_of(one): one.offset for one in inner.committed(lost, _ASK_S) if one.error is None}
            lost = [one for one in lost if found.get(_of(one), OFFSET_INVALID) < 0]
        if lost:
            self._subscribed = Subscribed()
            inner.assign([])
            with self._changed:
                self._orders.connected(target)
                self._heed()
            raise LostAssignmentError(", ".join(f"{one.topic}-{one.partition}" for one in lost), target.cluster)
        inner.assign(begun)

    # -- what the session tells, in its thread ---------------------------------------------------------

    def told(self, tell: Callable[[Orders], None]) -> None:
        """Take an order."""
        with self._changed:
            cluster = self._goes_to()
            tell(self._orders)
            self._answer(cluster)
            self._heed()

    def prepared(self, switch: str, _: int, lost: bool) -> None:
        """Take the order to pause: the next call does it."""
        self.told(lambda orders: orders.on_prepare(switch, lost))

    def forked(self) -> None:
        """The client in the child of a fork has no threads: it says so, rather than never read."""
        self._changed = threading.Condition(threading.RLock())  # whoever held it is not here
        self._acting = threading.RLock()
        self._closed, self._end, self._due, self._cell[0] = True, _FORKED, True, _nothing

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


def _nothing(_: float) -> None:
    """What is read where the next call has something to do first."""


def _of(one: Any) -> Place:
    return one.topic, one.partition


def _place(name: str) -> Place:
    return _of(AtPartition.parse(name))


def named(topic: str, one: Any) -> Any:
    """The same under another name; what has an error stays as it is, since none can be made that has."""
    if one.error is not None:
        return one
    more = {"metadata": one.metadata, "leader_epoch": one.leader_epoch}
    return TopicPartition(
        topic, one.partition, one.offset, **{name: value for name, value in more.items() if value is not None}
    )
