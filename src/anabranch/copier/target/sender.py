"""Writing to the target: one task per connection, one batch per lane and request, five requests in flight.

A request carries one batch for each lane that has one, because the broker serves a connection one request at a
time: what is put together shares the wait for the replicas.  Nothing is ever sent again: whatever goes wrong
ends the ownerships that were in flight, and those lanes are taken over again.  A connection that ends while
nothing of a lane is in flight leaves its ownership whole.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from anabranch.copier.lane.active import ActiveOwnership
from anabranch.copier.lane.lane import Lane
from anabranch.copier.target.gap_padding import GapPadding
from anabranch.copier.target.partition import TargetPartition
from anabranch.copier.write_gate import WriteGate
from anabranch.errors import AnabranchError
from anabranch.kafka import produce
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import ConnectionLostError
from anabranch.kafka.frames import Frame
from anabranch.kafka.partitions import LATEST, list_offset
from anabranch.model.clock import now_ms
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded, Stop

IN_FLIGHT = 5
REQUEST_BYTES = 1 << 20
RATE_LOOK_S = 0.5
LOOK_S = 0.25
BUSY_S = 0.1
"""Takeovers use the same connection, and nobody wakes the sender when they are answered."""


@dataclass(frozen=True, slots=True)
class _Sent:
    lane: Lane
    active: ActiveOwnership
    size: int
    newest_ms: int


class Sender:
    """Sends the batches of all lanes whose ownership is bound to one connection."""

    def __init__(
        self, connection: Connection, gate: WriteGate, on_room: Callable[[], None], on_ended: Callable[[], None]
    ) -> None:
        self.connection = connection
        self._gate = gate
        self._on_room = on_room
        self._on_ended = on_ended
        self._lanes: dict[str, Lane] = {}
        self._targets: dict[str, TargetPartition] = {}
        self._wake = asyncio.Event()
        self._version = produce.version_for(connection)
        self._checks: set[asyncio.Task[None]] = set()
        self._padding = GapPadding(lambda: gate.is_open, self._ended, self.wake)
        connection.on_close.append(self._closed)

    def add(self, lane: Lane, target: TargetPartition) -> None:
        """Send this lane's batches from now on; gaps before them are filled in ``target``."""
        self._lanes[lane.key] = lane
        self._targets[lane.key] = target
        self._wake.set()

    def remove(self, lane: Lane) -> None:
        """Forget a lane."""
        self._lanes.pop(lane.key, None)
        self._targets.pop(lane.key, None)

    def close(self) -> None:
        """Forget every lane, and let the connection forget this sender: the connection outlives it."""
        self._lanes.clear()
        self._targets.clear()
        if self._closed in self.connection.on_close:
            self.connection.on_close.remove(self._closed)

    def wake(self) -> None:
        """Some lane has batches, or may send again."""
        self._wake.set()

    @property
    def idle(self) -> bool:
        """Whether nothing is in flight."""
        return self.connection.closed is not None or self.connection.in_flight == 0

    async def run(self) -> None:
        """Send until the connection ends or the task is cancelled; then nothing is filled any more either."""
        try:
            await self._run()
        finally:
            await self._padding.end()

    async def _run(self) -> None:
        connection = self.connection
        while connection.closed is None:
            # What is sent while a login is made again would leave after the last look at the gate.
            if connection.in_flight >= IN_FLIGHT or connection.is_renewing or not self._gate.is_open:
                await self._pause(BUSY_S)
                continue
            chosen = self._choose()
            if not chosen:
                await self._pause(LOOK_S)
                continue
            size = self._send(chosen)
            self._on_room()
            wait = self._gate.take(size)
            while wait > 0:  # in small steps: the rate may be raised meanwhile
                await asyncio.sleep(min(wait, RATE_LOOK_S))
                wait = self._gate.take(0)
            await connection.writable.wait()
            await asyncio.sleep(0)  # let answers and fetches in between

    async def _pause(self, seconds: float) -> None:
        # Nothing else has run since it was found that nothing can be sent: what happens from here on wakes.
        self._wake.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass

    def _choose(self) -> list[Lane]:
        """The lanes whose next batch goes into the next request; those that idled are checked first."""
        chosen: list[Lane] = []
        size = 0
        for lane in list(self._lanes.values()):
            # One whose ownership was ended elsewhere may have been won again over another connection since.
            active = lane.active
            if active is None or active.connection is not self.connection or not lane.may_send:
                continue
            if (gap := lane.gap) is not None:
                if not active.pipeline.in_flight:
                    self._padding.start(lane, active, self._targets[lane.key], gap)
                continue
            if active.pipeline.needs_epoch_check():
                self._start_check(lane, active)
                continue
            size += lane.fetched.batches[0].header.size
            if chosen and size > REQUEST_BYTES:
                break
            chosen.append(lane)
        return chosen

    def _send(self, chosen: Iterable[Lane]) -> int:
        outgoing: list[produce.Outgoing] = []
        sent: dict[tuple[str | uuid.UUID, int], _Sent] = {}
        total = 0
        for lane in chosen:
            active = lane.active
            assert active is not None
            try:
                batch = lane.send(active)
            except OwnershipEnded as ended:
                self._ended(lane, active, ended)
                continue
            except LaneStopped as stopped:
                lane.stop(stopped)
                continue
            header = batch.header
            self._lanes[lane.key] = self._lanes.pop(lane.key, lane)  # to the end: the others come first next time
            target = lane.assignment.target
            records = batch.view[batch.at : batch.at + header.size]
            topic_id = lane.assignment.target_id.uuid
            outgoing.append(produce.Outgoing(target.topic, topic_id, target.partition, records))
            key = topic_id if self._version >= produce.BY_ID else target.topic
            sent[(key, target.partition)] = _Sent(lane, active, header.size, header.max_timestamp)
            total += header.size
            if batch.frame is not None:
                # The request is built below, before anything else can run: the bytes are copied by then.
                asyncio.get_running_loop().call_soon(batch.frame.release)
        # Last look before the bytes leave: a process that was stopped right here must not write on.
        if not outgoing:
            return 0
        if not self._gate.is_open:
            for one in sent.values():
                self._ended(one.lane, one.active, OwnershipEnded(one.lane.key, Ending.LEASE))
            return 0
        try:
            future = produce.submit(self.connection, outgoing)
        except ConnectionLostError:
            return 0  # on_close ends the ownerships
        future.add_done_callback(partial(self._answered, sent))
        return total

    def _answered(self, sent: dict[tuple[str | uuid.UUID, int], _Sent], future: asyncio.Future[Frame]) -> None:
        if future.cancelled() or future.exception() is not None:
            return  # on_close ends the ownerships
        frame = future.result()
        try:
            throttle, answers = produce.parse_with_throttle(frame, self._version)
            self.connection.throttled(throttle)
            for answer in answers:
                one = sent.pop((answer.topic, answer.partition), None)
                if one is not None and one.lane.active is one.active:
                    self._acknowledge(one, answer)
            for one in sent.values():
                self._ended(one.lane, one.active, OwnershipEnded(one.lane.key, Ending.BROKER, None, "no answer for it"))
        except AnabranchError as error:
            # Some batches stay without their answer: no later answer may be taken for theirs.
            self.connection.abort(f"an answer could not be used: {error.message}")
        finally:
            frame.release()
        self._wake.set()
        self._on_room()

    def _acknowledge(self, one: _Sent, answer: produce.Produced) -> None:
        try:
            one.lane.acknowledge(one.active, answer.code, answer.base_offset, answer.log_start, one.size)
        except OwnershipEnded as ended:
            self._ended(one.lane, one.active, ended)
        except LaneStopped as stopped:
            if stopped.reason is Stop.TOO_LARGE and one.lane.fetched.has_joined:
                # It may be a joined one: what comes next goes as it lies in the source.
                one.lane.fetched.joins = one.lane.fetched.has_joined = False
                self._ended(one.lane, one.active, OwnershipEnded(one.lane.key, Ending.TOO_LARGE, stopped.code))
            else:
                one.lane.stop(stopped)
        else:
            if one.newest_ms >= 0:
                one.lane.copied.tally.note_age(now_ms() - one.newest_ms)

    def _start_check(self, lane: Lane, active: ActiveOwnership) -> None:
        active.is_checking = True
        # The ownership may end before the task begins.
        task = asyncio.create_task(self._check_epoch(lane, active))
        self._checks.add(task)
        task.add_done_callback(self._checks.discard)

    async def _check_epoch(self, lane: Lane, active: ActiveOwnership) -> None:
        """After idling: a leader that lost and won its partition meanwhile leaves the connection whole (R1)."""
        target, epoch, pipeline = lane.assignment.target, active.ownership.leader_epoch, active.pipeline
        try:
            answer = await list_offset(self.connection, target.topic, target.partition, LATEST, epoch=epoch)
        except ConnectionLostError:
            return
        finally:
            active.is_checking = False
        if answer.code == 0:
            pipeline.epoch_confirmed()
        elif lane.active is active:
            verdict = lane.refusal(answer.code)
            if isinstance(verdict, LaneStopped):
                lane.stop(verdict)
            else:
                self._ended(lane, active, verdict)
        self._wake.set()

    def _ended(self, lane: Lane, active: ActiveOwnership, ended: OwnershipEnded) -> None:
        if ended.reason is Ending.NOT_IDENTITY and lane.active is active:
            lane.mapped_because = ended.detail
        active.pipeline.fail(ended.reason, ended.detail)
        if lane.end_ownership(active, ended):
            self.remove(lane)
            self._on_ended()

    def _closed(self, error: ConnectionLostError) -> None:
        for lane in list(self._lanes.values()):
            active = lane.active
            if active is None or active.connection is not self.connection:
                continue
            if lane.disconnected():
                self.remove(lane)
                self._on_ended()  # it is connected again when it has something to send
            else:
                self._ended(lane, active, OwnershipEnded(lane.key, Ending.DISCONNECTED, None, error.reason))
        self._wake.set()
