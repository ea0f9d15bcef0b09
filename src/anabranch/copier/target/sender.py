"""Writing to the target: one task per connection, one batch per lane and request, five requests in flight.

A request carries one batch for each lane that has one, because the broker serves a connection one request at a
time: what is put together shares the wait for the replicas.  Nothing is ever sent again: whatever goes wrong
ends the tenures that were in flight, and the keeper takes those lanes over again.  A connection that ends while
nothing of a lane is in flight leaves its tenure whole.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from anabranch.copier.lane import Lane, Phase, Queued
from anabranch.copier.target.gate import Gate
from anabranch.errors import AnabranchError
from anabranch.kafka import produce
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import ConnectionLostError
from anabranch.kafka.frames import Frame
from anabranch.kafka.partitions import LATEST, list_offset
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneMode
from anabranch.offsets.errors import RunOrderError
from anabranch.protocol.endings import Ending, LaneStopped, Stop, TenureEnded, refusal
from anabranch.protocol.fill import Hole, fill, jumps_over
from anabranch.protocol.guard import Weak, guard
from anabranch.protocol.pipeline import Pipeline
from anabranch.protocol.tenure import Tenure
from anabranch.records.errors import CorruptBatchError
from anabranch.records.patch import check_and_patch

IN_FLIGHT = 5
REQUEST_BYTES = 1 << 20
RATE_LOOK_S = 0.5
LOOK_S = 0.25
BUSY_S = 0.1
"""The keeper's requests use the same connection, and nobody wakes the sender when they are answered."""


@dataclass(frozen=True, slots=True)
class _Sent:
    lane: Lane
    pipeline: Pipeline
    size: int


class Sender:
    """Sends the batches of all lanes whose tenure is bound to one connection."""

    def __init__(
        self, connection: Connection, gate: Gate, on_room: Callable[[], None], on_ended: Callable[[], None]
    ) -> None:
        self.connection = connection
        self._gate = gate
        self._on_room = on_room
        self._on_ended = on_ended
        self._lanes: dict[str, Lane] = {}
        self._wake = asyncio.Event()
        self._version = produce.version_for(connection)
        self._checks: set[asyncio.Task[None]] = set()
        self._fills: set[asyncio.Task[None]] = set()
        connection.on_close.append(self._closed)

    def add(self, lane: Lane) -> None:
        """Send this lane's batches from now on."""
        self._lanes[lane.key] = lane
        self._wake.set()

    def remove(self, lane: Lane) -> None:
        """Forget a lane."""
        self._lanes.pop(lane.key, None)

    def close(self) -> None:
        """Forget every lane, and let the connection forget this sender: the connection outlives it."""
        self._lanes.clear()
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
            for task in self._fills:
                task.cancel()
            await asyncio.gather(*self._fills, return_exceptions=True)

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
            # One whose tenure was ended elsewhere may have been won again over another connection since.
            if lane.connection is not self.connection or not lane.may_send:
                continue
            assert lane.pipeline is not None
            if lane.hole is not None:
                if not lane.pipeline.in_flight:
                    self._start_fill(lane, lane.pipeline, lane.hole)
                continue
            if lane.pipeline.needs_epoch_check():
                self._start_check(lane, lane.pipeline)
                continue
            size += lane.queue[0].header.size
            if chosen and size > REQUEST_BYTES:
                break
            chosen.append(lane)
        return chosen

    def _send(self, chosen: Iterable[Lane]) -> int:
        outgoing: list[produce.Outgoing] = []
        sent: dict[tuple[str | uuid.UUID, int], _Sent] = {}
        total = 0
        for lane in chosen:
            pipeline, tenure = lane.pipeline, lane.tenure
            assert pipeline is not None and tenure is not None
            queued = lane.queue[0]
            header = queued.header
            try:
                if tenure.mode is LaneMode.IDENTITY:
                    self._keep_identity(lane, tenure, pipeline, queued)
                stretches = queued.stretches if len(queued.stretches) > 1 else None
                sequence = pipeline.send(header.base_offset, header.count, header.max_timestamp, stretches)
                check_and_patch(queued.view, queued.at, header, tenure.producer_id, 0, sequence)
            except TenureEnded as ended:
                self._ended(lane, pipeline, ended)
                continue
            except LaneStopped as stopped:
                lane.stop(stopped)
                continue
            except CorruptBatchError as error:
                lane.stop_at(Stop.CORRUPT, header.base_offset, error.message, error.hint)
                continue
            lane.take()
            self._lanes[lane.key] = self._lanes.pop(lane.key, lane)  # to the end: the others come first next time
            target = lane.assignment.target
            batch = queued.view[queued.at : queued.at + header.size]
            topic_id = lane.assignment.target_id.uuid
            outgoing.append(produce.Outgoing(target.topic, topic_id, target.partition, batch))
            key = topic_id if self._version >= produce.BY_ID else target.topic
            sent[(key, target.partition)] = _Sent(lane, pipeline, header.size)
            total += header.size
            if queued.frame is not None:
                # The request is built below, before anything else can run: the bytes are copied by then.
                asyncio.get_running_loop().call_soon(queued.frame.release)
        # Last look before the bytes leave: a process that was stopped right here must not write on.
        if not outgoing:
            return 0
        if not self._gate.is_open:
            for one in sent.values():
                self._ended(one.lane, one.pipeline, TenureEnded(one.lane.key, Ending.LEASE))
            return 0
        try:
            future = produce.submit(self.connection, outgoing)
        except ConnectionLostError:
            return 0  # on_close ends the tenures
        future.add_done_callback(partial(self._answered, sent))
        return total

    @staticmethod
    def _keep_identity(lane: Lane, tenure: Tenure, pipeline: Pipeline, queued: Queued) -> None:
        """An identity lane turns mapped before a batch that its guard or a hole would not hold, never after."""
        source = queued.stretches[0].source
        if pipeline.next_offset == tenure.position and tenure.ahead >= 0 and source != tenure.ahead:
            found = f"an earlier owner found source offset {tenure.ahead:,} next, now it is {source:,}"
            why = f"{found}: the source log changes"
        elif len(queued.stretches) > 1:
            why = f"the source log is compacted: it has holes behind offset {queued.stretches[0].end - 1:,}"
        else:
            timestamps = [*pipeline.timestamps(), queued.header.max_timestamp]
            strength = guard(tenure.expiration_ms, now_ms(), timestamps)
            if not isinstance(strength, Weak):
                return
            why = strength.reason
        raise TenureEnded(lane.key, Ending.NOT_IDENTITY, detail=why)

    def _start_fill(self, lane: Lane, pipeline: Pipeline, hole: Hole) -> None:
        """Fill the hole before a lane's next batch while other lanes go on; the lane waits for it."""
        assert lane.tenure is not None
        try:
            self._keep_identity(lane, lane.tenure, pipeline, lane.queue[0])
            if why := lane.budget.take(hole, lane.missing(hole), time.monotonic()):
                raise TenureEnded(lane.key, Ending.NOT_IDENTITY, detail=why)
        except TenureEnded as ended:
            self._ended(lane, pipeline, ended)
            return
        lane.checking = True
        task = asyncio.create_task(self._fill(lane, pipeline, lane.tenure, hole), name=f"fill-{lane.key}")
        self._fills.add(task)
        task.add_done_callback(self._fills.discard)

    async def _fill(self, lane: Lane, pipeline: Pipeline, tenure: Tenure, hole: Hole) -> None:
        jumps = () if tenure.ahead == hole.end else jumps_over(tenure, hole, lane.jumps > 0)
        try:
            assert lane.place is not None
            await lane.place.drive(fill(tenure, hole, jumps), lambda: self._gate.is_open)
        except TenureEnded as ended:
            self._ended(lane, pipeline, ended)
        except LaneStopped as stopped:
            if lane.pipeline is pipeline:
                lane.stop(stopped)
        except AnabranchError as error:
            self._ended(lane, pipeline, TenureEnded(lane.key, Ending.BROKER, None, error.message))
        else:
            if lane.pipeline is pipeline and lane.phase is Phase.RUNNING:
                lane.filled(hole)
        finally:
            if lane.pipeline is pipeline:
                lane.checking = False
            self._wake.set()

    def _answered(self, sent: dict[tuple[str | uuid.UUID, int], _Sent], future: asyncio.Future[Frame]) -> None:
        if future.cancelled() or future.exception() is not None:
            return  # on_close ends the tenures
        frame = future.result()
        try:
            throttle, answers = produce.parse_with_throttle(frame, self._version)
            self.connection.throttled(throttle)
            for answer in answers:
                one = sent.pop((answer.topic, answer.partition), None)
                if one is not None and one.lane.pipeline is one.pipeline:
                    self._acknowledge(one, answer)
            for one in sent.values():
                self._ended(one.lane, one.pipeline, TenureEnded(one.lane.key, Ending.BROKER, None, "no answer for it"))
        except AnabranchError as error:
            # Some batches stay without their answer: no later answer may be taken for theirs.
            self.connection.abort(f"an answer could not be used: {error.message}")
        finally:
            frame.release()
        self._wake.set()
        self._on_room()

    def _acknowledge(self, one: _Sent, answer: produce.Produced) -> None:
        try:
            runs = one.pipeline.acknowledge(answer.code, answer.base_offset)
        except TenureEnded as ended:
            self._ended(one.lane, one.pipeline, ended)
        except LaneStopped as stopped:
            if stopped.reason is Stop.TOO_LARGE and one.lane.has_joined:
                # It may be a joined one: what comes next goes as it lies in the source.
                one.lane.joins = one.lane.has_joined = False
                self._ended(one.lane, one.pipeline, TenureEnded(one.lane.key, Ending.TOO_LARGE, stopped.code))
            else:
                one.lane.stop(stopped)
        else:
            try:
                one.lane.copied(runs, one.size)
                one.lane.target_start = answer.log_start
            except RunOrderError as error:
                one.lane.stop_at(Stop.DIVERGED, runs[0].source, error.message, error.hint)

    def _start_check(self, lane: Lane, pipeline: Pipeline) -> None:
        assert lane.tenure is not None
        lane.checking = True
        # The tenure may end before the task begins.
        task = asyncio.create_task(self._check_epoch(lane, pipeline, lane.tenure.leader_epoch))
        self._checks.add(task)
        task.add_done_callback(self._checks.discard)

    async def _check_epoch(self, lane: Lane, pipeline: Pipeline, leader_epoch: int) -> None:
        """After idling: a leader that lost and won its partition meanwhile leaves the connection whole (R1)."""
        target = lane.assignment.target
        try:
            answer = await list_offset(self.connection, target.topic, target.partition, LATEST, epoch=leader_epoch)
        except ConnectionLostError:
            return
        finally:
            if lane.pipeline is pipeline:
                lane.checking = False
        if answer.code == 0:
            pipeline.epoch_confirmed()
        elif lane.pipeline is pipeline:
            verdict = refusal(lane.key, answer.code, pipeline.next_offset)
            if isinstance(verdict, LaneStopped):
                lane.stop(verdict)
            else:
                self._ended(lane, pipeline, verdict)
        self._wake.set()

    def _ended(self, lane: Lane, pipeline: Pipeline, ended: TenureEnded) -> None:
        if ended.reason is Ending.NOT_IDENTITY and lane.pipeline is pipeline:
            lane.want_mapped, lane.want_mapped_why = True, ended.detail
        pipeline.fail(ended.reason, ended.detail)
        if lane.end_tenure(pipeline, ended):
            self.remove(lane)
            self._on_ended()

    def _closed(self, error: ConnectionLostError) -> None:
        for lane in list(self._lanes.values()):
            if lane.connection is not self.connection or lane.pipeline is None:
                continue
            if lane.disconnected():
                self.remove(lane)
                self._on_ended()  # the keeper connects it again when it has something to send
            else:
                self._ended(lane, lane.pipeline, TenureEnded(lane.key, Ending.DISCONNECTED, None, error.reason))
        self._wake.set()
