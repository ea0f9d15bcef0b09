"""Reading the source: one long poll per broker over all of its lanes that have room.

Only what is committed is read: an answer ends before the first open transaction.  It is cut into batches by their
headers and queued; the next fetch leaves as soon as that is done, so the broker reads its disk while the sender
works.  What cannot be read stops that lane with its exact offset, and no other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence

from anabranch.copier.lane.active import ActiveOwnership
from anabranch.copier.lane.fetched import PendingGapRecord
from anabranch.copier.lane.lane import Lane, LanePhase
from anabranch.copier.source.answer_sizes import AROUND_BYTES, answer_bytes
from anabranch.copier.source.broker_reads import BrokerReads
from anabranch.copier.source.log_ends import LOOK_S, READ_COMMITTED, look_at_ends
from anabranch.copier.source.missing import look_for
from anabranch.copier.source.refused import not_allowed, refused
from anabranch.copier.write_gate import WriteGate
from anabranch.errors import ClusterError
from anabranch.kafka import fetch
from anabranch.kafka.cluster import Cluster, TopicMeta
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import UNKNOWN_TOPIC, PermissionDeniedError
from anabranch.kafka.frames import Frame
from anabranch.kafka.session import FIRST, FetchSession
from anabranch.protocol.gap_records import GapRecord

PURPOSE = "fetch"
BUDGET_BYTES = 40 << 20
"""Bytes of answers, not of what is queued of them: one batch that waits keeps its whole answer in memory."""
POLL_MS = 500
POLL_TAKING_MS = 250
"""While lanes are being taken over: they are read only after the poll that they were not in."""
STUCK_S = 0.25
HELD_POLL_S = 0.02
GATHER_S = 0.002
"""Between reads of lanes at their end: what is produced meanwhile comes in one answer and leaves in one request, which
costs both clusters and the worker a third less under a steady load."""


class Fetcher:
    """The fetch loops of a worker, one task for each source broker that leads a lane."""

    def __init__(
        self,
        cluster: Cluster,
        gate: WriteGate,
        on_queued: Callable[[Iterable[Lane]], None],
        write_gap: Callable[[Lane, ActiveOwnership, GapRecord, PendingGapRecord], None],
    ) -> None:
        self._cluster = cluster
        self._gate = gate
        self._on_queued = on_queued
        self._write_gap = write_gap
        self._lanes: dict[tuple[str, int], Lane] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._sessions: dict[int, BrokerReads] = {}
        self._awaited: dict[int, int] = {}
        self._asking: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()

    def add(self, lanes: Iterable[Lane]) -> None:
        """Read these lanes too, as soon as they run."""
        for lane in lanes:
            self._lanes[(lane.assignment.source.topic, lane.assignment.source.partition)] = lane

    def wake(self) -> None:
        """Some lane has room again, or runs now."""
        self._wake.set()

    async def run(self) -> None:
        """Keep a loop per leader until cancelled."""
        looked = time.monotonic()
        try:
            while True:
                await self._place()
                await asyncio.sleep(0.2)
                if time.monotonic() - looked > LOOK_S:
                    await look_at_ends(self._cluster, self._lanes)
                    looked = time.monotonic()
                for task in self._tasks.values():
                    if task.done():
                        task.result()
                if self._asking is not None and self._asking.done():
                    self._asking.result()
        finally:
            tasks = [*self._tasks.values(), *([self._asking] if self._asking is not None else [])]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._tasks.clear()
            self._close_sessions()

    def _close_sessions(self) -> None:
        """Ask the brokers to forget what was read; whether they do is not waited for."""
        for reads in self._sessions.values():
            asked = reads.session.close()
            if asked is None or reads.connection.closed is not None:
                continue
            told = (asked.session, asked.epoch)
            future = fetch.submit(reads.connection, (), max_wait_ms=0, max_bytes=0, session=told)
            future.add_done_callback(_release)
        self._sessions.clear()

    async def _place(self) -> None:
        """Find the leaders of lanes that have none, and start their loops."""
        waiting = {LanePhase.RUNNING, LanePhase.TAKING}
        homeless = [lane for lane in self._lanes.values() if lane.source.leader < 0 and lane.phase in waiting]
        if not homeless:
            return
        try:
            answer = await self._cluster.metadata(sorted({lane.assignment.source.topic for lane in homeless}))
        except ClusterError:
            for lane in homeless:
                lane.source.absence.end()
            await asyncio.sleep(0.5)
            return
        doubtful = []
        for lane in homeless:
            topic = answer.topics[lane.assignment.source.topic]
            if topic.error == UNKNOWN_TOPIC or (topic.error == 0 and topic.id != lane.assignment.source_id.uuid):
                doubtful.append(lane)
            elif topic.error == 0:
                self._place_on(lane, topic)
        if doubtful and (self._asking is None or self._asking.done()):
            self._asking = asyncio.create_task(look_for(self._cluster, doubtful, self._place_on), name="ask-all")

    def _place_on(self, lane: Lane, topic: TopicMeta) -> None:
        """Read a lane from the leader of its partition, if it has one."""
        lane.source.is_there()
        part = topic.partitions.get(lane.assignment.source.partition)
        if part is None or part.leader < 0:
            return
        lane.source.leader, lane.source.epoch = part.leader, part.leader_epoch
        task = self._tasks.get(part.leader)
        if task is None or task.done():
            self._tasks[part.leader] = asyncio.create_task(self._loop(part.leader), name=f"fetch-{part.leader}")
        self.wake()

    async def _loop(self, node: int) -> None:
        turn = 0
        while True:
            mine = [lane for lane in self._lanes.values() if lane.source.leader == node]
            ready = [lane for lane in mine if lane.wants_fetch] if self._gate.is_open else []
            if ready and self._in_memory() > BUDGET_BYTES:
                await self._wait_for_memory()
                continue
            if not ready:
                self._wake.clear()
                await self._pause(POLL_MS / 1000)
                continue
            held = sum(lane.phase is LanePhase.RUNNING for lane in mine) > len(ready)
            if held and not any(lane.is_behind for lane in ready):
                # Only lanes at their end have room: a long poll would keep the held ones waiting behind it.
                self._wake.clear()
                await self._pause(HELD_POLL_S)
                ready = [lane for lane in mine if lane.wants_fetch]
                if not ready:
                    continue
            if node not in self._sessions or not self._sessions[node].session.epoch:
                # The answer's size limit must not starve the last ones; in a session the broker sees to that.
                turn += 1
                cut = turn % max(1, len(ready))
                ready = ready[cut:] + ready[:cut]
            try:
                connection = await self._cluster.connection(node, PURPOSE)
                held = sum(lane.phase is LanePhase.RUNNING for lane in mine) > len(ready)
                taking = any(lane.phase is LanePhase.TAKING for lane in mine)
                await self._fetch(node, connection, ready, 0 if held else POLL_TAKING_MS if taking else POLL_MS)
                if not any(lane.is_behind for lane in ready):
                    await asyncio.sleep(GATHER_S)
            except PermissionDeniedError as error:
                for lane in ready:
                    not_allowed(lane, error.message, error.hint)
            except ClusterError:
                for lane in self._lanes.values():  # those too that were placed here since this turn began
                    if lane.source.leader == node:
                        lane.source.leader = -1
                return

    def _in_memory(self) -> int:
        """Bytes of answers that are kept, and of batches that were written again."""
        return self._cluster.pool.lent + sum(lane.fetched.owned_bytes for lane in self._lanes.values())

    async def _wait_for_memory(self) -> None:
        """Let the senders work; where they don't, lanes that wait give up the answers that they keep alive."""
        self._wake.clear()
        before = self._cluster.pool.lent
        began = time.monotonic()
        await self._pause(STUCK_S)
        if time.monotonic() - began >= STUCK_S and self._cluster.pool.lent >= before:
            for lane in self._lanes.values():
                lane.fetched.leave_frames()

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _fetch(self, node: int, connection: Connection, ready: Sequence[Lane], max_wait_ms: int) -> None:
        """One poll; of a lane that its answer leaves out, nothing has changed since the session's answers before."""
        version = fetch.version_for(connection)
        reads = self._sessions.get(node)
        if reads is None:
            reads = self._sessions[node] = BrokerReads(FetchSession(), connection)
        session = reads.session
        if reads.connection is not connection:
            reads.connection, reads.at = connection, []
            session.lost()  # it outlives a connection, but not the broker
        reads.want(ready, version >= fetch.BY_ID)
        asked = reads.lanes
        request = session.next_request(reads.wanted)
        brokers = {node, *(lane.source.leader for lane in self._lanes.values() if lane.source.leader >= 0)}
        size = self._awaited[node] = answer_bytes(len(brokers), sum(self._awaited.values()))
        answered = False
        pause = 0.0
        filled: list[Lane] = []
        try:
            frame = await fetch.submit(
                connection,
                request.wanted,
                max_wait_ms=max_wait_ms,
                max_bytes=size - AROUND_BYTES,
                isolation=READ_COMMITTED,
                session=(request.session, request.epoch),
                forgotten=request.forgotten,
            )
            try:
                code, answers = fetch.parse(frame, version)
                connection.throttled(fetch.throttle_of(frame))
                whole = session.answered(code, fetch.session_of(frame))
                answered = True
                if not whole and request.epoch != FIRST:
                    return  # the broker has forgotten the session: all is asked again
                self._cluster.check(code, "Read", f"broker {connection.node}")
                if not answers and fetch.throttle_of(frame):
                    pause = fetch.pause_of(frame)  # by a quota: that tells nothing, not even that there is no news
                    asked = {}
                now = time.monotonic()
                denied = {(one.topic, one.partition) for one in answers if one.code or one.diverging is not None}
                for key, lane in asked.items():
                    lane.source.answered_at = now
                    if key not in denied:
                        lane.source.seen_at = now
                for answer in answers:
                    found = asked.get((answer.topic, answer.partition))
                    if found is None:
                        continue
                    whole = answer.code == 0 and answer.diverging is None
                    if whole:  # told once, even if the records come too late for the ownership that asked for them
                        found.source.take_ends(answer)
                    active = reads.asker(found, answer)
                    if active is None:
                        continue
                    if not whole:
                        await refused(connection, found, answer, self._cluster.transport.principal)
                    elif len(answer.records):
                        queued = found.take_in(active, answer, frame)
                        if queued.gap is not None:
                            self._write_gap(found, active, *queued.gap)
                        if queued.has_batches:
                            filled.append(found)
            finally:
                frame.release()
        finally:
            self._awaited.pop(node, None)
            if not answered:
                session.lost()
        if filled:
            self._on_queued(filled)
        if pause:
            await asyncio.sleep(pause)


def _release(future: asyncio.Future[Frame]) -> None:
    if not future.cancelled() and future.exception() is None:
        future.result().release()
