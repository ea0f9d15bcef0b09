"""What is behind a producer: the client of confluent-kafka that it writes by, and how it pauses and goes on.

Invariants
    P1  ``ready`` is answered only when nothing that was handed over is outstanding, and no call is on its way to the
        old client; a transaction that was begun there has ended.
    P2  a call finds either the old client or the new one (`quick`).
    P3  what a callback writes goes where the message went that it is called for: whoever pauses waits for it.
    P4  callbacks run in calls of the application; only where it makes none for so long that the switch would be given
        up, or for some seconds where the cluster is lost and nothing else is waited for, do they run in the session's
        thread.  Those of statistics and errors count as outstanding, too: the client's
        library does not tell them from those of messages.
    P5  of a cluster that is lost, what it has not acknowledged is told the application as not delivered, and counted;
        nothing more is handed over there, in callbacks neither.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import confluent_kafka

from anabranch.model.clock import monotonic, now_ms
from anabranch.model.routing import UNPLACED, ClientReport, ClientRole
from anabranch.sdk import peers
from anabranch.sdk.cache import LOG
from anabranch.sdk.config import split
from anabranch.sdk.errors import MayNotError, SwitchingError
from anabranch.sdk.gate import Gate
from anabranch.sdk.orders import Orders, Phase
from anabranch.sdk.peers import Linked, ReadingConsumer
from anabranch.sdk.quick import SHUT, SLICE_S, Way, quick_calls
from anabranch.sdk.reports import Reports
from anabranch.sdk.routed import RoutedClient
from anabranch.sdk.sent import Sent

_FLUSH_S = 0.2
_IDLE_S = 5.0
_CLOSED = "Producer has been closed"
_FORKED = "this producer is of the process that was forked: make one in each process"


class RoutedWriter(RoutedClient):
    """A client that writes where its code's route leads."""

    def __init__(self, *args: Mapping[str, Any], **kwargs: Any) -> None:
        settings, given = split({**(args[0] if args else {}), **kwargs})
        super().__init__(settings, given, ClientRole.PRODUCER, settings.topics, "")
        self._gate = Gate()
        self._cell: list[Way] = [SHUT]
        told = self._reporting()
        self._reports = Reports(given, told)
        counted = self._reports.told if self._reports.are_counted else None
        self._produce, self._poll = quick_calls(self._cell, self._gate, weakref.ref(self), counted)
        self._pausing, self._registering = threading.Lock(), threading.Lock()
        self._serving: list[int] = []
        self._detours = self._doubts = 0
        self._waits = False
        self._deadline = 0.0
        self._in_transaction = False
        self._is_transactional = self._must_init = False
        self._linked, self._sent = Linked(), Sent(given, told)
        self._end = _CLOSED
        peers.join_producer(self)
        self._session.register()
        self._session.follow()

    # -- when the way is not there ---------------------------------------------------------------------

    def produce_slowly(self, topic: str, *rest: Any) -> None:
        """Produce where the quick way is shut, or does not know the topic."""
        with self._changed:
            self._detours += 1  # the quick way, which led nowhere
        self.produce_within(self._settings.block_s, topic, *rest)

    @property
    def block_s(self) -> float:
        """How long calls are held back at most."""
        return self._settings.block_s

    def produce_within(self, timeout: float, topic: str, *rest: Any) -> None:
        """Produce, held back for so long at most."""
        value, key, partition, callback, timestamp, headers = rest
        callback = self._reports.told(callback)

        def hand_over(inner: Any, there: str) -> None:
            try:
                inner.produce(there, value, key, partition, callback, None, timestamp, headers)
            except Exception as error:
                self.failed(error)
                raise

        self._with_way(topic, hand_over, timeout)

    def _with_way(self, topic: str, hand_over: Callable[[Any, str], Any], timeout: float) -> Any:
        """Hand over by the way that there is, or that comes in time; raises SwitchingError."""
        until = monotonic() + timeout
        while True:
            self._gate.enter()
            try:
                names = self._cell[0][1]
                if topic in names:
                    # The way and the client change together, and who is inside keeps them from changing on.
                    return hand_over(self._inner, names[topic])
            finally:
                self._gate.leave()
            with self._changed:
                route = self._orders.route
                is_open = self._orders.phase is Phase.OPEN or self._cell[0] is not SHUT
                if self._closed:
                    raise RuntimeError(self._end)
                if self._orders.phase is Phase.PAUSING and not is_open and self._is_called_back():
                    if route is None or topic not in route.topics or self._orders.lost:
                        raise SwitchingError(0.0, self._why())
                    return hand_over(self._inner, route.topics[topic])  # P3; under the lock, for who pauses looks there
                self._detours += 1
            if is_open:
                self._learn(topic)
            elif not self._reopens(max(0.0, until - monotonic())):
                raise SwitchingError(timeout, self._why())

    def _reopens(self, timeout: float) -> bool:
        """Whether the way may be looked for again in that time; a callback pauses nothing, and waits."""
        if not self._is_called_back():
            return self._pause_for(timeout)
        with self._changed:
            return self._changed.wait_for(
                lambda: self._closed or not self._waits or self._orders.phase is Phase.PAUSING, timeout
            )

    @property
    def is_switching(self) -> bool:
        """Whether calls are held back at the moment."""
        return self._waits

    def try_produce(self, topic: str, *rest: Any) -> bool:
        """Hand over unless that would have to wait; whether it did."""
        value, key, partition, callback, timestamp, headers = rest
        callback = self._reports.told(callback)
        self._gate.enter()
        try:
            hand_over, names, _ = self._cell[0]
            there = names.get(topic)
            if there is not None:
                hand_over(there, value, key, partition, callback, None, timestamp, headers)
                return True
        except Exception as error:
            self.failed(error)
            raise
        finally:
            self._gate.leave()
        with self._changed:
            self._detours += 1
        return False

    def failed(self, error: Exception) -> None:
        """A call that handed nothing over; a full queue is no error."""
        with self._changed:
            self._detours += 1
            if not isinstance(error, BufferError):
                self.reported(str(error))

    def _learn(self, topic: str) -> None:
        """Have the service say where a topic leads; raises MayNotError, RouteProblemError, NoRouteError."""
        with self._registering:
            with self._changed:
                route = self._orders.route
                assert route is not None
                if topic in self._cell[0][1]:
                    return
                if not route.may_write:
                    raise MayNotError("write", route.code, route.cluster, route.rule)
            known = self._session.query
            topics = known.topics if topic in known.topics else (*known.topics, topic)
            standing = self._session.register(replace(known, topics=topics))
            if not standing.route.may_write:
                raise MayNotError("write", route.code, standing.route.cluster, standing.route.rule)

    def _why(self) -> str:
        switch = self._orders.switch
        return f"switch {switch} is under way" if switch else "the old cluster has not acknowledged what it was sent"

    def poll_slowly(self, timeout: float) -> int:
        """Poll where the quick way is shut, or for so long that it may be shut meanwhile."""
        until = None if timeout < 0 else monotonic() + timeout
        while True:
            left = SLICE_S if until is None else min(SLICE_S, max(0.0, until - monotonic()))
            if self._pause_for(left):
                serve = self._cell[0][2]
                if serve is None:
                    return 0
                with self._serves():
                    found = serve(left)
                if found:
                    return found
            if until is not None and monotonic() >= until:
                return 0

    @contextmanager
    def _serves(self) -> Iterator[None]:
        """This thread may be called back."""
        self._serving.append(threading.get_ident())
        try:
            yield
        finally:
            self._serving.remove(threading.get_ident())

    def _is_called_back(self) -> bool:
        """Whether this thread is in a callback, which whoever pauses waits for.

        The quick call does not say that it serves, so it is looked for on the stack: there is time for that here.
        """
        if threading.get_ident() in self._serving:
            return True
        quick, slow = self._poll.__code__, RoutedWriter.poll_slowly.__code__
        called, frame = None, sys._getframe()
        while frame.f_back is not None:
            called, frame = frame.f_code, frame.f_back
            if frame.f_code is quick and called is not slow and frame.f_locals.get("cell") is self._cell:
                return True
        return False

    def _usable(self, timeout: float = -1) -> Any:
        waited_s = timeout if timeout >= 0 else self._settings.block_s
        if not self._pause_for(waited_s):
            raise SwitchingError(waited_s, self._why())
        return self._inner

    def _pause_for(self, timeout: float | None) -> bool:
        """Pause if that is what is wanted, and wait until it goes on; whether it does so in that time."""
        until = monotonic() + (self._settings.block_s if timeout is None or timeout < 0 else timeout)
        while True:
            with self._changed:
                if self._closed:
                    raise RuntimeError(self._end)
                if not self._waits or self._is_called_back():
                    return True
                if self._orders.phase is Phase.GOING:
                    self._obey()  # it could not connect before, and says why here
                    continue
                pauses = self._orders.phase is Phase.PAUSING and not self._is_kept_open()
                if not pauses and not self._changed.wait(max(0.0, until - monotonic())):
                    return not self._waits
            if pauses:
                self._pause(until)
            if monotonic() >= until:
                return not self._waits

    def _pause_until_acknowledged(self, timeout: float | None) -> None:
        """Pause if that is what is wanted; once it has there is nothing to wait for."""
        until = monotonic() + (self._settings.block_s if timeout is None or timeout < 0 else timeout)
        while self._orders.phase is Phase.PAUSING and not self._is_kept_open():
            if self._is_called_back():
                return
            self._pause(until)
            if monotonic() >= until:
                return

    # -- pausing and going on --------------------------------------------------------------------------

    def _is_kept_open(self) -> bool:
        """Whether a transaction, or what belongs to one, has still to be ended where it was begun."""
        return self._in_transaction or (bool(self._orders.switch) and self._linked.is_reading(self._where()))

    def _where(self) -> str:
        """The cluster where it is, empty before the first."""
        return "" if self._orders.route is None else self._orders.route.cluster

    def has_open(self, consumer: ReadingConsumer) -> bool:
        """Whether a transaction is open in which it commits offsets of this consumer, as far as it is known."""
        return self._in_transaction and self._linked.has(consumer)

    def may_have_open(self, consumer: ReadingConsumer) -> bool:
        """The same, or it has committed no consumer's offsets yet."""
        return self._in_transaction and (not self._linked or self._linked.has(consumer))

    def _obey(self) -> None:
        """Have the way be what the orders say; under the lock."""
        if self._closed:
            return
        orders = self._orders
        if orders.phase is Phase.GOING:
            self._connect()
        is_open = orders.phase is Phase.OPEN or (orders.phase is Phase.PAUSING and self._is_kept_open())
        if is_open and self._inner is not None:
            assert orders.route is not None
            names = orders.route.topics if orders.route.may_write else {}
            self._cell[0] = (self._inner.produce, dict(names), self._inner.poll)
        else:
            self._cell[0] = SHUT
        self._waits = not is_open
        self._changed.notify_all()

    def _connect(self) -> None:
        target = self._orders.target
        assert target is not None
        former = self._orders.route
        if self._inner is None or former is None or not replace(former, topics={}).leads_as(replace(target, topics={})):
            left, life = self._inner, self._sent.another()
            given = self._configured(target, **life.callbacks, **self._reports.callbacks)
            self._inner, self._doubts = confluent_kafka.Producer(given), 0
            self._sent.goes_on(left, life)
            self._must_init = self._is_transactional
            LOG.info("producer of %s: cluster %s, route %d", target.code, target.cluster, target.version)
        self._orders.connected(target)

    def _pause(self, until: float, serves: bool = True) -> None:
        """Have all acknowledged that was handed over, then hand over to the session; in one thread at a time.

        Where it does not serve callbacks, it does nothing unless there are none to serve.
        """
        if not self._pausing.acquire(timeout=max(0.0, until - monotonic())):
            return
        try:
            with self._serves():
                self._pause_alone(until, serves)
        finally:
            self._pausing.release()

    def _pause_alone(self, until: float, serves: bool) -> None:
        inner = self._inner
        if self._orders.phase is not Phase.PAUSING or not self._gate.await_empty(max(_FLUSH_S, until - monotonic())):
            return
        if not serves and inner is not None and len(inner):
            return
        while True:
            while inner is not None and (inner.flush(_FLUSH_S) or len(inner)):
                if self._orders.lost:
                    self._doubts += len(inner)
                    inner.purge()  # each is told its application as not delivered
                    inner.flush(_FLUSH_S)
                    break
                if monotonic() >= until or self._orders.phase is not Phase.PAUSING:
                    return
                inner.poll(0)
            with self._changed:
                if self._orders.phase is not Phase.PAUSING or self._is_kept_open():
                    return
                if inner is None or self._orders.lost or not len(inner):  # else a callback has written meanwhile
                    self._handed(self._orders.paused())
                    return

    def _handed(self, switch: str) -> None:
        if switch:
            self._hand(switch)
        self._obey()

    def _hand(self, switch: str) -> None:
        self._session.ready(switch, {}, {UNPLACED: self._doubts} if self._doubts else {})

    def _enter_transaction(self) -> Any:
        until = monotonic() + self._settings.block_s
        while True:
            with self._changed:
                if not self._waits and not self._closed:
                    self._in_transaction = True
                    return self._inner
            if not self._pause_for(max(0.0, until - monotonic())):
                raise SwitchingError(self._settings.block_s, self._why())

    def _end_transaction(self, committed: bool) -> None:
        self._linked.ended(committed)
        with self._changed:
            self._in_transaction = False
            self._obey()

    # -- what the session tells, in its thread ---------------------------------------------------------

    def told(self, tell: Callable[[Orders], None]) -> None:
        """Take an order."""
        with self._changed:
            tell(self._orders)
            if self._orders.is_waiting and self._orders.switch:
                self._hand(self._orders.switch)
            self._obey()

    def tick(self) -> None:
        """An application that makes no calls is paused from here: at once where nothing is outstanding."""
        if self._sent.waits:
            self._sent.look()
        with self._changed:
            if self._orders.phase is not Phase.PAUSING or self._closed:
                self._deadline = 0.0
                return
            self._obey()
            if self._is_kept_open():
                return
            self._deadline = self._deadline or monotonic() + _IDLE_S
            late = monotonic() >= self._deadline
        self._pause(monotonic() + _FLUSH_S, serves=late)

    def prepared(self, switch: str, deadline_ms: int, lost: bool) -> None:
        """Half of the time is the application's; only then are its callbacks run by somebody else.

        Of a cluster that is lost nothing comes any more that the application would have to be waited for.
        """
        half = max(0.0, (deadline_ms - now_ms()) / 1000) / 2
        self._deadline = monotonic() + (min(half, _IDLE_S) if lost else half)
        self.told(lambda orders: orders.on_prepare(switch, lost))

    def forked(self) -> None:
        """The client in the child of a fork has no threads: it says so, rather than never deliver."""
        self._changed = threading.Condition(threading.RLock())  # whoever held it is not here
        self._closed, self._end, self._cell[0], self._waits = True, _FORKED, SHUT, True

    def figures(self) -> ClientReport:
        """What is reported."""
        with self._changed:
            self._counts.records = self._gate.passed() - self._detours
            self._counts.bytes = max(self._counts.bytes, self._sent.bytes)
            return self._counts.report()
