"""Reading the source: one long poll per broker over all of its lanes that have room.

Only what is committed is read: an answer ends before the first open transaction.  It is cut into batches by their
headers and queued; the next fetch leaves as soon as that is done, so the broker reads its disk while the sender
works.  Where offsets without a record lie between, a jump is handed on to be written ahead, one for each
lane and answer.  What cannot be read stops that lane with its exact offset, and no other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from anabranch.copier.lane import Lane, Phase, Queued, Ticket
from anabranch.copier.source.agreement import is_cleaned, truncated
from anabranch.copier.source.epochs import UNKNOWN, EpochTrail
from anabranch.copier.source.joining import joined, read_joining
from anabranch.copier.source.missing import look_for
from anabranch.copier.target.gate import Gate
from anabranch.errors import ClusterError
from anabranch.kafka import fetch
from anabranch.kafka.cluster import Cluster, TopicMeta
from anabranch.kafka.connection import Connection
from anabranch.kafka.errors import UNKNOWN_TOPIC, PermissionDeniedError
from anabranch.kafka.frames import Frame
from anabranch.kafka.partitions import LATEST, list_offset, list_offsets
from anabranch.kafka.session import FIRST, FetchSession, Key
from anabranch.model.lane import LaneMode
from anabranch.protocol.endings import Ending, Stop, TenureEnded, accepting
from anabranch.protocol.holes import Jump, Stretch
from anabranch.protocol.pipeline import Pipeline
from anabranch.protocol.reading import Reading, read
from anabranch.records.errors import OldFormatError

PURPOSE = "fetch"
LOOK = "look"
LOOK_S = 1.0
LANE_BYTES = 1 << 20
ANSWER_BYTES = 8 << 20
ANSWERS_BYTES = 16 << 20
"""What the answers of all brokers may bring at once, beyond the budget that was kept when they were asked."""
AROUND_BYTES = 64 << 10
"""Left for what stands around the records of an answer, so that it fits a frame of a power of two."""
BUDGET_BYTES = 40 << 20
"""Bytes of answers, not of what is queued of them: one batch that waits keeps its whole answer in memory."""
POLL_MS = 500
POLL_TAKING_MS = 250
"""While lanes are being taken over: they are read only after the poll that they were not in."""
STUCK_S = 0.25
READ_COMMITTED = 1
HELD_POLL_S = 0.02


@dataclass(slots=True)
class _Reads:
    """What is read from one broker: ``at`` is what ``lanes`` and ``wanted`` were made of."""

    session: FetchSession
    connection: Connection
    at: list[tuple[Lane, int, int, int]] = field(default_factory=list)
    lanes: dict[Key, Lane] = field(default_factory=dict)
    wanted: dict[Key, fetch.Wanted] = field(default_factory=dict)


class Fetcher:
    """The fetch loops of a worker, one task for each source broker that leads a lane."""

    def __init__(
        self,
        cluster: Cluster,
        gate: Gate,
        on_queued: Callable[[Iterable[Lane]], None],
        on_jump: Callable[[Lane, Pipeline, Jump, Ticket], None],
    ) -> None:
        self._cluster = cluster
        self._gate = gate
        self._on_queued = on_queued
        self._on_jump = on_jump
        self._lanes: dict[tuple[str, int], Lane] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._sessions: dict[int, _Reads] = {}
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
                    await self._look()
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

    async def _look(self) -> None:
        """Ask for the ends of lanes that were not fetched lately (paused, slowed, stopped): their lag grows too."""
        stale = time.monotonic() - LOOK_S
        by_leader: dict[int, dict[tuple[str, int], Lane]] = {}
        for key, lane in self._lanes.items():
            if lane.source.leader >= 0 and lane.source.told_at < stale and lane.phase is not Phase.OVER:
                by_leader.setdefault(lane.source.leader, {})[key] = lane
        for leader, lanes in by_leader.items():
            wanted = {key: (LATEST, lane.source.epoch) for key, lane in lanes.items()}
            try:
                connection = await self._cluster.connection(leader, LOOK)
                answers = await list_offsets(connection, wanted, isolation=READ_COMMITTED)
            except ClusterError:
                continue  # whoever fetches from this broker meets the same and says so
            for key, answer in answers.items():
                if answer.code == 0:
                    told = lanes[key].source
                    told.seen_at = time.monotonic()
                    told.stable = max(told.stable, answer.offset)
                    told.high_watermark = max(told.high_watermark, answer.offset)

    async def _place(self) -> None:
        """Find the leaders of lanes that have none, and start their loops."""
        waiting = {Phase.RUNNING, Phase.TAKING}
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
            held = sum(lane.phase is Phase.RUNNING for lane in mine) > len(ready)
            if held and not any(lane.source.high_watermark > lane.fetch_at for lane in ready):
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
                held = sum(lane.phase is Phase.RUNNING for lane in mine) > len(ready)
                taking = any(lane.phase is Phase.TAKING for lane in mine)
                await self._fetch(node, connection, ready, 0 if held else POLL_TAKING_MS if taking else POLL_MS)
            except PermissionDeniedError as error:
                for lane in ready:
                    lane.stop_at(Stop.SOURCE_NOT_ALLOWED, lane.fetch_at, error.message, error.hint)
            except ClusterError:
                for lane in self._lanes.values():  # those too that were placed here since this turn began
                    if lane.source.leader == node:
                        lane.source.leader = -1
                return

    def _in_memory(self) -> int:
        """Bytes of answers that are kept, and of batches that were written anew."""
        return self._cluster.pool.lent + sum(lane.owned_bytes for lane in self._lanes.values())

    async def _wait_for_memory(self) -> None:
        """Let the senders work; where they don't, lanes that wait give up the answers that they keep alive."""
        self._wake.clear()
        before = self._cluster.pool.lent
        began = time.monotonic()
        await self._pause(STUCK_S)
        if time.monotonic() - began >= STUCK_S and self._cluster.pool.lent >= before:
            for lane in self._lanes.values():
                lane.leave_frames()

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
            reads = self._sessions[node] = _Reads(FetchSession(), connection)
        session = reads.session
        if reads.connection is not connection:
            reads.connection, reads.at = connection, []
            session.lost()  # it outlives a connection, but not the broker
        _want(reads, ready, version >= fetch.BY_ID)
        asked, wanted = reads.lanes, reads.wanted
        request = session.ask(wanted)
        answered = False
        pause = 0.0
        filled: list[Lane] = []
        try:
            frame = await fetch.submit(
                connection,
                request.wanted,
                max_wait_ms=max_wait_ms,
                max_bytes=max(LANE_BYTES, min(ANSWER_BYTES, ANSWERS_BYTES // len(self._sessions))) - AROUND_BYTES,
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
                    return  # the broker has forgotten the session: all is asked anew
                self._cluster.check(code, "Read", f"broker {connection.node}")
                if not answers and fetch.throttle_of(frame):
                    pause = fetch.pause_of(frame)  # by a quota: that tells nothing, not even that there is no news
                    asked = {}
                now = time.monotonic()
                refused = {(one.topic, one.partition) for one in answers if one.code or one.diverging is not None}
                for key, lane in asked.items():
                    lane.source.told_at = now
                    if key not in refused:
                        lane.source.seen_at = now
                for answer in answers:
                    found = asked.get((answer.topic, answer.partition))
                    if found is None:
                        continue
                    whole = answer.code == 0 and answer.diverging is None
                    if whole:  # told once, even if the records come too late for the tenure that asked for them
                        told = found.source
                        told.log_start, told.stable = answer.log_start, answer.last_stable
                        told.high_watermark = answer.high_watermark
                    if (
                        found.phase is not Phase.RUNNING
                        or found.fetch_at != wanted[answer.topic, answer.partition].offset
                    ):
                        continue  # taken over anew meanwhile: these bytes belong to a tenure that is over
                    if not whole:
                        await self._refused(connection, found, answer)
                    elif len(answer.records) and self._queue(found, answer, frame):
                        filled.append(found)
            finally:
                frame.release()
        finally:
            if not answered:
                session.lost()
        if filled:
            self._on_queued(filled)
        if pause:
            await asyncio.sleep(pause)

    def _queue(self, lane: Lane, answer: fetch.Fetched, frame: Frame) -> bool:
        """Queue what an answer brought; False where it brought nothing to send."""
        across = (
            lane.tenure is None or lane.tenure.mode is LaneMode.MAPPED
        )  # what identity has joined, it could not fill
        if lane.joins:
            found = read_joining(answer.records, lane.fetch_at, answer.aborted, across_holes=across)
        else:
            found = read(answer.records, lane.fetch_at, answer.aborted)
        _note_epochs(lane.trail, lane.fetch_at, found)
        ticket: Ticket | None = None
        jumped: list[Stretch] = []
        sequence = lane.queue_sequence
        for batch in joined(found.batches, across_holes=across) if lane.joins else found.batches:
            if ticket is None and lane.needs_jump(batch.stretches):
                ticket, sequence = Ticket(), lane.queue_sequence
            if ticket is not None:
                jumped += batch.stretches
            held = None if batch.owned else frame
            lane.has_joined = lane.has_joined or (lane.joins and batch.owned)
            lane.put(Queued(batch.view, batch.at, batch.header, held, batch.stretches, ticket))
        lane.passed(found.position, found.epoch)
        if ticket is not None and lane.pipeline is not None:
            self._on_jump(lane, lane.pipeline, lane.jump(sequence, jumped), ticket)
        if found.fault is not None and lane.drained:
            # Else what is queued is sent first; then the same bytes are met again with nothing before them.
            fault = found.fault
            if isinstance(fault, OldFormatError):
                lane.stop_at(Stop.OLD_FORMAT, max(fault.offset, lane.fetch_at), fault.message, fault.hint)
            else:
                lane.stop_at(Stop.CORRUPT, lane.fetch_at, fault.message, fault.hint)
        return bool(found.batches)

    async def _refused(self, connection: Connection, lane: Lane, answer: fetch.Fetched) -> None:
        if answer.diverging is not None:
            await self._diverging(connection, lane, *answer.diverging)
        elif answer.code == 1:
            await self._out_of_range(connection, lane)
        elif answer.code == 29:
            lane.stop_at(
                Stop.SOURCE_NOT_ALLOWED,
                lane.fetch_at,
                f"{self._cluster.transport.principal} may not Read topic {lane.assignment.source.topic}",
                "grant READ on the source topic to the link's principal",
            )
        else:
            # The leader moved, or this partition alone has trouble: look for it again, the others go on.
            lane.source.leader = -1

    async def _diverging(self, connection: Connection, lane: Lane, epoch: int, end: int) -> None:
        """The source has another history from some offset on, or its cleaner took all of an epoch's records."""
        kept, at = lane.trail.agreed(epoch, end), lane.fetch_at
        if kept < at <= end:
            place = lane.assignment
            cleaned = await is_cleaned(connection, place.source, place.source_id.uuid, kept, at, lane.source.epoch)
            if lane.phase is not Phase.RUNNING or lane.fetch_at != at:
                return
            if cleaned is None:
                lane.source.leader = -1
                return
            if cleaned:
                lane.trail.forget()
                lane.last_epoch = UNKNOWN
                return
        _lost(lane, kept)

    async def _out_of_range(self, connection: Connection, lane: Lane) -> None:
        """The position is outside the source's log: say which records are lost, never skip them."""
        source, at = lane.assignment.source, lane.fetch_at
        start = await list_offset(connection, source.topic, source.partition, -2, epoch=lane.source.epoch)
        end = await list_offset(connection, source.topic, source.partition, -1, epoch=lane.source.epoch)
        if lane.phase is not Phase.RUNNING or lane.fetch_at != at:
            return  # the next tenure may begin elsewhere, and asks from there
        if start.code or end.code:
            lane.source.leader = -1
        elif lane.fetch_at < start.offset:
            lane.source.log_start = start.offset
            if lane.drained:
                lane.stop_at(
                    Stop.SOURCE_EXPIRED,
                    lane.fetch_at,
                    f"offsets {lane.fetch_at:,} to {start.offset - 1:,} "
                    "are gone from the source by retention or deletion",
                    f"let the lane go on behind them: {accepting(lane.key)}",
                )
        elif lane.fetch_at > end.offset:
            _lost(lane, end.offset)
        else:
            lane.source.leader = -1  # a leader that has only just begun: it will have its epochs


def _want(reads: _Reads, ready: Sequence[Lane], by_id: bool) -> None:
    """Say what is to be read; where nothing has changed since the last time, the same objects say it."""
    at = [(lane, lane.fetch_at, lane.last_epoch, lane.source.epoch) for lane in ready]
    if at == reads.at:
        return
    lanes: dict[Key, Lane] = {}
    wanted: dict[Key, fetch.Wanted] = {}
    for lane, offset, last_epoch, epoch in at:
        source, topic_id = lane.assignment.source, lane.assignment.source_id.uuid
        key = (topic_id if by_id else source.topic, source.partition)
        lanes[key] = lane
        wanted[key] = fetch.Wanted(source.topic, topic_id, source.partition, epoch, offset, last_epoch, LANE_BYTES)
        if not lane.source.told_at and key in reads.session.held:
            reads.session.lost()  # of a lane that is new here, the broker thinks that all has been told
    reads.at, reads.lanes, reads.wanted = at, lanes, wanted


def _release(future: asyncio.Future[Frame]) -> None:
    if not future.cancelled() and future.exception() is None:
        future.result().release()


def _note_epochs(trail: EpochTrail, start: int, found: Reading) -> None:
    """Remember under which epochs an answer was written; epochs only rise, so mostly its two ends tell it all."""
    if found.position == start:
        return
    if not found.batches or found.batches[0].header.leader_epoch == found.epoch:
        trail.note(found.epoch, start, found.position)
        return
    for batch in found.batches:
        trail.note(batch.header.leader_epoch, start, batch.through)
        start = batch.through
    if start < found.position:
        trail.note(found.epoch, start, found.position)


def _lost(lane: Lane, kept: int) -> None:
    """The source kept its history up to ``kept``: what was sent and is lost needs a person, what was only read not."""
    pipeline = lane.pipeline
    sent = lane.position if pipeline is None else max(lane.position, pipeline.next_offset)
    if kept < sent:
        lane.stop(truncated(lane.key, kept, sent))
    elif pipeline is not None:
        detail = f"the source lost offsets {kept:,} to {lane.fetch_at - 1:,}, which were not copied yet"
        lane.trail.cut(kept)
        lane.end_tenure(pipeline, TenureEnded(lane.key, Ending.BROKER, None, detail))
