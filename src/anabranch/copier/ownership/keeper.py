"""Taking lanes over: resolve the start, run the takeover, bring the runs up to the log's tail, let batches flow.

A lane whose owner is somebody else and alive is left to them: of two runs of one link, or of a task and its
speculative twin, one copies and the other waits.  That is politeness, not safety: claims decide, whoever is
heard of.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from anabranch.copier.lane import Lane, Phase
from anabranch.copier.ownership.histories import shut_out_histories
from anabranch.copier.source.agreement import epoch_before, surviving, truncated
from anabranch.copier.source.epochs import UNKNOWN
from anabranch.copier.target import headgap
from anabranch.copier.target.gate import Gate
from anabranch.copier.target.target import TargetPartition
from anabranch.errors import AnabranchError, ProtocolError, RefusedError
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import BrokerRefusedError, PermissionDeniedError
from anabranch.kafka.headers import header_at
from anabranch.kafka.offset_at import offset_at
from anabranch.kafka.partitions import EARLIEST, LATEST
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneMode, LaneProgress
from anabranch.model.start import StartKind
from anabranch.offsets.errors import RunOrderError
from anabranch.offsets.runs import Run
from anabranch.protocol.claims import ClaimState
from anabranch.protocol.endings import Ending, LaneStopped, Stop, TenureEnded, copied
from anabranch.protocol.guard import DEFAULT_EXPIRATION_MS, barred
from anabranch.protocol.pipeline import Pipeline
from anabranch.protocol.tail import GRANT
from anabranch.protocol.takeover import release, takeover
from anabranch.protocol.tenure import Bid, Filed, Reported, Tenure
from anabranch.state.maps.rebuild import LaneLog, LogRange, UntoldBatchError, rebuild
from anabranch.state.segments.runs import RunBook
from anabranch.state.topics.control import Progress, Runs
from anabranch.state.topics.journal import Journal, Jumps

AT_ONCE = 16
SILENCE_S = 6.0
PILE = 20
LOOK_S = 0.005
_LONGEST_EXPIRATION_MS = 2**31 - 1
_EXPIRATION_AGAIN_MS = 60_000
"""Brokers take another expiration while they run: each takeover goes by one that is not older than this."""
PURPOSE = "produce"
_TELL_THEIR_OFFSET = {Stop.POSITION_LOST, Stop.DIVERGED, Stop.SOURCE_TRUNCATED, Stop.CLAIMS_LOST}


@dataclass(slots=True)
class _Retry:
    failures: int = 0
    at: float = 0.0
    won_at: int = -1
    untold: bool = False
    book: RunBook | None = None  # of the runs that were read again for an attempt, which all went wrong since

    def later(self, longest: float) -> None:
        self.failures += 1
        self.at = time.monotonic() + min(longest, 0.05 * 2 ** min(self.failures, 10)) * random.uniform(0.5, 1.0)


class Keeper:
    """Takes over whatever lane is in phase TAKING, some at a time, until cancelled."""

    def __init__(
        self,
        owner: str,
        source: Cluster,
        target: Cluster,
        journal: Journal,
        jumps: Jumps,
        progress: Progress,
        runs: Runs,
        on_taken: Callable[[Lane], None],
        gate: Gate,
    ) -> None:
        self._owner = owner
        self._run = owner.partition("/")[0]
        self._source = source
        self._target = target
        self._journal = journal
        self._jumps = jumps
        self._progress = progress
        self._runs = runs
        self._on_taken = on_taken
        self._gate = gate
        self._retries: dict[str, _Retry] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._expiration_ms: int | None = None
        self._longest_expiration_ms = 0
        self._expiration_asked_ms = 0
        self._by_coordinator: bool | None = None
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Some lane must be taken over."""
        self._wake.set()

    async def run(self, lanes: list[Lane], may_take: Callable[[], bool]) -> None:
        """Take lanes over while ``may_take`` says so."""
        try:
            while True:
                self._wake.clear()
                if may_take():
                    self._start(lanes)
                try:
                    async with asyncio.timeout(0.05 if self._tasks else 0.2):
                        await self._wake.wait()
                except TimeoutError:
                    pass
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
            self._tasks.clear()

    def _start(self, lanes: list[Lane]) -> None:
        for key, task in list(self._tasks.items()):
            if task.done():
                del self._tasks[key]
                task.result()
        now = time.monotonic()
        for lane in lanes:
            if len(self._tasks) >= AT_ONCE:
                return
            if lane.key in self._tasks:
                continue
            if lane.phase is Phase.RUNNING and lane.pipeline is not None:
                if lane.connection is None and lane.queue:
                    going_on = self._connect(lane, lane.pipeline)
                    self._tasks[lane.key] = asyncio.create_task(going_on, name=f"connect-{lane.key}")
                elif lane.pipeline.is_aging():
                    renewal = self._renew(lane, lane.pipeline)
                    self._tasks[lane.key] = asyncio.create_task(renewal, name=f"renew-{lane.key}")
            if lane.phase is not Phase.TAKING:
                continue
            if self._retries.setdefault(lane.key, _Retry()).at > now or self.is_anothers(lane):
                continue
            self._tasks[lane.key] = asyncio.create_task(self._take(lane), name=f"take-{lane.key}")

    async def _connect(self, lane: Lane, pipeline: Pipeline) -> None:
        """Go on with a tenure whose connection ended while nothing was in flight, if its leader is the same still."""
        tenure = lane.tenure
        if lane.pipeline is not pipeline or tenure is None:
            return  # it ended before this began
        try:
            target = await self._open(lane, lane.position)
            if target.leader_epoch != tenure.leader_epoch:
                raise TenureEnded(lane.key, Ending.LEADER_EPOCH)
            await target.confirm()
            if target.connection.closed is not None:
                raise TenureEnded(lane.key, Ending.DISCONNECTED, None, target.connection.closed.reason)
        except TenureEnded as ended:
            lane.end_tenure(pipeline, ended)
        except LaneStopped as stopped:
            lane.stop(stopped)
        except AnabranchError as error:
            lane.end_tenure(pipeline, TenureEnded(lane.key, Ending.BROKER, None, error.message))
        else:
            if lane.pipeline is pipeline and lane.phase is Phase.RUNNING:
                pipeline.reconnected()
                lane.place, lane.connection = target, target.connection
                self._on_taken(lane)

    async def _renew(self, lane: Lane, pipeline: Pipeline) -> None:
        """Give a lane back and end its tenure, so that it is claimed again before its claim is too old (A1).

        Nothing is sent meanwhile, and what is in flight is answered first: then nothing is in doubt, and the producer
        id is used again.
        """
        if lane.pipeline is not pipeline:
            return  # it ended before this began
        lane.renewing = True
        try:
            while lane.pipeline is pipeline and (pipeline.in_flight or lane.checking):
                await asyncio.sleep(LOOK_S)
            if lane.pipeline is not pipeline:
                return
            try:
                await self.give_back(lane)
            finally:
                # Were it released a second time, that might land after the next claim and hide it.
                pipeline.fail(Ending.RENEWED)
                lane.end_tenure(pipeline, TenureEnded(lane.key, Ending.RENEWED))
        finally:
            lane.renewing = False

    def is_anothers(self, lane: Lane) -> bool:
        """Whether the lane is another's who filed progress lately; the own run's lanes are ours to take at once,
        unless they were taken from us.  Nothing is filed of such a lane: it would hide that its owner is alive."""
        claims = self._journal.claims.claims(lane.key)
        if not claims or claims[-1].claim.state.value == "released":
            return False
        holder = claims[-1].claim.owner
        if holder == self._owner:
            return False
        lost = lane.ended is not None and lane.ended.reason in {Ending.FENCED, Ending.SUPERSEDED}
        if holder.partition("/")[0] == self._run and not lost:
            return False
        if 0 <= now_ms() - claims[-1].claim.claimed_at_ms < SILENCE_S * 1000:
            return True  # who has claimed just now has had no time to file
        heard = self._progress.heard.get(lane.assignment.lane)
        if heard is None or heard[0] == self._owner:
            return False
        return time.monotonic() - heard[1] < SILENCE_S

    async def _take(self, lane: Lane) -> None:
        retry = self._retries[lane.key]
        try:
            await self._take_over(lane)
        except TenureEnded as ended:
            lane.ended = ended
            if ended.mapped_because:
                lane.want_mapped, lane.want_mapped_why = True, ended.mapped_because
            if ended.reason is Ending.UNKNOWN_PARTITION:
                lane.waiting = ended.why
            if ended.reason is not Ending.NOT_IDENTITY:
                retry.later(self._longest_wait(lane))
        except LaneStopped as stopped:
            # A takeover knows the lane's start only; how far the lane came is known here, unless that is in doubt.
            if stopped.offset < lane.position and stopped.reason not in _TELL_THEIR_OFFSET:
                stopped = replace(stopped, offset=lane.position)
            lane.stop(stopped)
        except PermissionDeniedError as error:
            lane.stop_at(Stop.NOT_ALLOWED, lane.position, error.message, error.hint)
        except RunOrderError as error:
            lane.waiting = f"what is filed of its offset map contradicts itself: {error.message}"
            retry.later(self._longest_wait(lane))
        except AnabranchError as error:
            lane.waiting = error.message
            retry.later(self._longest_wait(lane))
        else:
            lane.waiting = ""
            if lane.position == retry.won_at:
                retry.later(
                    self._longest_wait(lane)
                )  # the tenure before this one copied nothing: should this one end, wait before the next
            else:
                retry.failures, retry.won_at = 0, lane.position

    def _longest_wait(self, lane: Lane) -> float:
        """Each claim that is not released costs every later owner a marker: where they pile up, wait longer."""
        standing = sum(one.claim.state is ClaimState.CLAIMED for one in self._journal.claims.claims(lane.key))
        return 2.0 if standing < PILE else 30.0

    async def _take_over(self, lane: Lane) -> None:
        start, retry = await self._start_of(lane), self._retries[lane.key]
        known_to = self._journal.claims.end
        others = await self._refresh_runs(lane, retry.untold or lane.is_untold)
        kept = await self._surviving(lane)
        target = await self._open(lane, start)
        expiration = await self._expiration(target)
        claims, filed = self._journal.claims, self._progress.lanes.into(lane.assignment.target)
        await target.drive(shut_out_histories(lane.assignment, lane.position, claims, filed, now_ms()))
        mode, why = await self._mode(lane, start, expiration)
        told = self._told(lane)
        bid = Bid(
            lane=lane.key,
            owner=self._owner,
            mode=mode,
            start=start,
            leader_epoch=target.leader_epoch,
            expiration_ms=expiration,
            now_ms=now_ms(),
            filed=_filed(lane, told),
            held=lane.held,
            why=why,
            expiration_known=self._expiration_ms is not None,
            longest_expiration_ms=self._longest_expiration_ms,
            reported=None if told is None else Reported(told.position, told.target_end),
            source_end=await self._source_end(lane, start, told),
            begun_at=lane.assignment.begun_at,
            claims_deleted=self._journal.is_shortened,
        )
        lane.held = None
        # Where this attempt fails after its claim, the next one finds its own last: what another filed may be missing.
        retry.untold = True
        tenure = await target.drive(takeover(bid))
        while not tenure.is_padded:
            padding = await self._open(lane, start, headgap.PURPOSE)
            tenure = await padding.drive(takeover(replace(bid, leader_epoch=padding.leader_epoch, now_ms=now_ms())))
            if not tenure.is_padded:
                await headgap.pad(padding, tenure, self._gate, lambda told: setattr(lane, "waiting", told))
            target = await self._open(lane, start)
            tenure = await target.drive(takeover(replace(bid, leader_epoch=target.leader_epoch, now_ms=now_ms())))
        fixed = self._journal.claims.fixed(lane.key)
        if fixed is not None and fixed.pads:
            await headgap.cut(target, fixed.start)
        # Who was cut off, or was stopped, learns by its own claim that another had the lane since.
        others = others or not self._journal.claims.untouched_since(lane.key, known_to - 1, tenure.producer_id)
        if others:
            # They may have filed runs, and forgotten jumps behind them, until this takeover shut them out.
            await self._refresh_runs(lane, others)
        if tenure.mode is LaneMode.MAPPED:  # identity owners share a claim, and none of them is the later one
            self._runs.claimed(lane.assignment.lane, tenure.claim_offset)
        await self._complete_runs(lane, tenure)
        lane.tally.add_found(lane.book.map)
        retry.untold, retry.book = False, None
        if kept is not None and kept < tenure.position:
            lane.position = tenure.position
            raise truncated(lane.key, kept, tenure.position)
        await self._note_epoch(lane, tenure.position)
        if lane.phase is not Phase.TAKING:
            return
        if target.connection.closed is not None:
            raise TenureEnded(lane.key, Ending.DISCONNECTED, None, target.connection.closed.reason)
        lane.place = target
        lane.begin(tenure, Pipeline(tenure, sole_writer=False), target.connection)
        self._on_taken(lane)

    async def _surviving(self, lane: Lane) -> int | None:
        """Where the source's history parts from what was filed of the lane; None where it does not.

        What this process has read itself, its next fetch asks about.
        """
        known = self._known_epoch(lane)
        if known is None or lane.trail.at(known[0]) == known[1]:
            return None
        return await surviving(self._source, lane.assignment.source, *known)

    def _known_epoch(self, lane: Lane) -> tuple[int, int] | None:
        """What was filed last, by whomever: what a process files itself keeps what it was told."""
        filed = self._progress.lanes.get(lane.assignment.lane)
        return lane.source_epoch if filed is None else filed.source_epoch

    async def _note_epoch(self, lane: Lane, position: int) -> None:
        """See to it that the next fetch can name the epoch of the record before it, if one was copied."""
        if lane.trail.at(position) != UNKNOWN or lane.book.last is None:
            return
        known = self._known_epoch(lane)
        if known is not None and known[0] == position:
            epoch = known[1]
        else:
            epoch = await epoch_before(self._source, lane.assignment.source, position)
        lane.trail.note(epoch, position - 1, position)

    async def _refresh_runs(self, lane: Lane, others: bool = False) -> bool:
        """Take the runs that another owner has filed since, if one had the lane; jumps that those cover may be
        forgotten.  Returns whether one had it."""
        claims = self._journal.claims.claims(lane.key)
        others = others or (bool(claims) and claims[-1].claim.owner != self._owner)
        if others:
            await self._runs.sync()
            retry = self._retries[lane.key]
            if lane.book is not retry.book or self._runs.has_news(lane.assignment.lane):
                lane.book = retry.book = await self._runs.whole_book(lane.assignment.lane)
                lane.is_untold = False
        return others

    async def _open(self, lane: Lane, start: int, purpose: str = PURPOSE) -> TargetPartition:
        if self._by_coordinator is None:
            operations = await admin.cluster_operations(self._target)
            markers = admin.Operation.ALTER.allowed_by(operations) or admin.Operation.CLUSTER_ACTION.allowed_by(
                operations
            )
            self._by_coordinator = not markers
        return await TargetPartition.open(
            self._target,
            self._journal,
            self._jumps,
            self._runs,
            lane.assignment,
            purpose,
            start,
            self._by_coordinator,
        )

    async def forgo(self, lane: Lane) -> None:
        """A lane was left: nothing of a takeover is under way when this returns, or a claim that comes late would end
        the tenure of whoever has the lane by then."""
        task = self._tasks.get(lane.key)
        if task is not None and not task.done():
            del self._tasks[lane.key]
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def give_back(self, lane: Lane) -> None:
        """After a clean lease: release the claim, and keep the producer id for the next one."""
        tenure, pipeline = lane.tenure, lane.pipeline
        if tenure is None or pipeline is None:
            return
        try:
            target = await self._open(lane, lane.position)
            lane.held = await target.drive(release(tenure, pipeline))
        except AnabranchError:
            lane.held = None

    # -- what a bid needs ------------------------------------------------------------------------------

    async def _start_of(self, lane: Lane) -> int:
        """The source offset at which the lane begins; an earlier claim's stands whatever this says."""
        known = self._journal.claims.claims(lane.key)
        if known:
            return self._journal.claims.start(lane.key, known[0].claim.start)
        start = lane.assignment.start
        if start.kind is StartKind.OFFSETS:
            assert start.value is not None
            return start.value
        at = {StartKind.EARLIEST: EARLIEST, StartKind.LATEST: LATEST}.get(start.kind, start.value)
        assert at is not None
        offset = await offset_at(self._source, lane.assignment.source, at)
        if offset < 0:  # no record that young: begin behind the last one
            offset = await offset_at(self._source, lane.assignment.source, LATEST)
        return offset

    def _told(self, lane: Lane) -> LaneProgress | None:
        """What was filed last of how far the lane came; None where it had not begun."""
        filed = self._progress.lanes.get(lane.assignment.lane)
        return filed if filed is not None and (filed.position or filed.records or filed.target_end) else None

    async def _source_end(self, lane: Lane, start: int, told: LaneProgress | None) -> int | None:
        """The end of the source's log, asked for where sequences alone may not tell where the lane is in it."""
        last = lane.book.last
        reached = max(0 if last is None else last.source_end, 0 if told is None else told.high_watermark)
        if max(reached, lane.source.high_watermark) - start < GRANT:
            return None
        return await offset_at(self._source, lane.assignment.source, LATEST)

    async def _mode(self, lane: Lane, start: int, expiration: int) -> tuple[LaneMode, str]:
        """Identity is bid for only where it can be held: the choice is made before it matters, never after."""
        if lane.want_mapped:
            return LaneMode.MAPPED, lane.want_mapped_why or "the link asks for mapped lanes"
        known = self._journal.claims.mode(lane.key)
        if known is not None:
            filed = lane.mode_reason if lane.mode is LaneMode.MAPPED else ""
            return known, filed or "an earlier owner made the lane mapped"
        why = barred(bool(self._by_coordinator), self._expiration_ms, now_ms(), None)
        why = why or barred(False, expiration, now_ms(), await self._first_timestamp(lane, start))
        if why:
            return LaneMode.MAPPED, why
        if start and (why := await headgap.why_not(self._target, lane.assignment, start)):
            return LaneMode.MAPPED, why
        return LaneMode.IDENTITY, ""

    async def _first_timestamp(self, lane: Lane, start: int) -> int | None:
        """The maximum timestamp of the first batch to copy; None where there is none yet."""
        source = lane.assignment.source
        meta, part = await self._source.partition(source.topic, source.partition)
        connection = await self._source.connection(part.leader)
        try:
            _, header = await header_at(
                connection, source.topic, meta.id, source.partition, start, epoch=part.leader_epoch
            )
        except (ProtocolError, RefusedError):
            return None  # the fetcher meets the same bytes and says what is wrong with them
        return None if header is None else header.max_timestamp

    async def _expiration(self, target: TargetPartition) -> int:
        """``producer.id.expiration.ms`` of the target; the longest possible where it is not told."""
        if self._expiration_ms is None or now_ms() - self._expiration_asked_ms >= _EXPIRATION_AGAIN_MS:
            try:
                configs = await admin.broker_configs(self._target, target.leader)
            except (PermissionDeniedError, BrokerRefusedError):
                self._expiration_ms = None
                return _LONGEST_EXPIRATION_MS
            entry = configs.get("producer.id.expiration.ms")
            self._expiration_ms = int(entry.value) if entry and entry.value else DEFAULT_EXPIRATION_MS
            self._longest_expiration_ms = max(self._longest_expiration_ms, self._expiration_ms)
            self._expiration_asked_ms = now_ms()
        return self._expiration_ms

    async def _complete_runs(self, lane: Lane, tenure: Tenure) -> None:
        """Bring the lane's book up to its last batch in the target's log.

        Where the log was truncated, the cut is filed before anything is sent: what will lie there next is something
        else, and runs are believed below the log's end.  In a lane without holes the shift between both sides only
        ever grows, so where it is the same at both ends of what is missing, one run covers it; else the headers in
        between are read.
        """
        book = lane.book
        if book.map.target_end > tenure.tail_end:
            book = await self._runs.cut(lane.assignment.lane, book, tenure.tail_end)
            if book.last is None and book.first:
                book = await self._below_retired(lane, tenure)
            lane.book = book
            await self._runs.file({(lane.assignment.lane, number): runs for number, runs in book.unfiled()})
        last = book.last
        if tenure.mode is LaneMode.IDENTITY and last is None and not tenure.jumps:
            start = tenure.claim.start
            if tenure.position > start:
                book.append(Run(start, start, tenure.position - start))
            return
        from_source = last.source + last.length if last is not None else None
        # Where a person had the lane begin again, it has the runs of the generation before.
        from_target = max(0 if last is None else last.target_end, self._first_target(lane, tenure))
        if from_target >= tenure.tail_end:
            return
        holey = self._jumps.jumps.knows(lane.key)
        if not holey and from_source is not None and tenure.position - from_source == tenure.tail_end - from_target:
            book.append(Run(from_source, from_target, tenure.tail_end - from_target))
            return
        target = lane.assignment.target
        within = LogRange(target.topic, target.partition, from_target, tenure.tail_end)
        near = from_source if from_source is not None else self._journal.claims.start(lane.key, tenure.position)
        log = LaneLog(lane.key, self._journal.claims.producer_ids(lane.key), self._jumps.jumps, book.map)
        found = await rebuild(self._target, within, log, near)
        try:
            for run in found:
                book.append(run)
        except RunOrderError:
            lane.book = await self._from_log(lane, tenure)

    async def _below_retired(self, lane: Lane, tenure: Tenure) -> RunBook:
        """The book where a target was truncated below all that is filed, since what lay there was retired.

        What the log tells of it is filed together with the cut.  Raises LaneStopped where it does not tell all.
        """
        try:
            return await self._from_log(lane, tenure)
        except UntoldBatchError as error:
            raise LaneStopped(
                lane.key,
                Stop.POSITION_LOST,
                tenure.position,
                detail=f"the target was truncated to {tenure.tail_end}, below what its offset map tells of since the "
                f"records there were deleted on both sides: {error.message}",
                fix=copied(lane.key),
            ) from error

    async def _from_log(self, lane: Lane, tenure: Tenure) -> RunBook:
        """The book as the target's log alone tells it, where what is filed is not what lies there.

        An owner that was stopped may have filed, once more, what it had sent before an unclean election took that.
        What the log no longer has is kept as it was filed.  Raises UntoldBatchError where jumps are forgotten.
        """
        claims, target = self._journal.claims, lane.assignment.target
        first = max(self._first_target(lane, tenure), await offset_at(self._target, target, EARLIEST))
        within = LogRange(target.topic, target.partition, first, tenure.tail_end)
        near = max(claims.start(lane.key, tenure.position), tenure.position - (tenure.tail_end - first))
        log = LaneLog(lane.key, claims.producer_ids(lane.key), self._jumps.jumps)
        found = await rebuild(self._target, within, log, near)
        until = found[0].target if found else tenure.tail_end
        book = await self._runs.cut(lane.assignment.lane, lane.book, until)
        for run in found:
            book.append(run)
        book.refile(book.first)
        return book

    def _first_target(self, lane: Lane, tenure: Tenure) -> int:
        """The target offset below which the lane has no records: behind its padding, if it began with that."""
        fixed = self._journal.claims.fixed(lane.key)
        if fixed is not None and fixed.pads:
            return fixed.start
        return self._journal.claims.floor(lane.key, tenure.tail_end)


def _filed(lane: Lane, told: LaneProgress | None) -> Filed | None:
    """Where the lane's runs end; the epoch as this process was acknowledged, or took the lane over, or as was filed.

    What was filed of the epoch is older than what this process knows, but where another had the lane since.
    """
    last = lane.book.last
    if last is None:
        return None
    known = None if told is None else told.target_epoch
    if known is None or (known[1] <= lane.acknowledged_epoch and known[0] <= last.target_end):
        return Filed(last.source_end, last.target_end, lane.acknowledged_epoch)
    return Filed(last.source_end, last.target_end, known[1], known[0])
