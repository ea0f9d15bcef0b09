"""A worker that keeps target offsets equal to the source's: it pads the head, and fills gaps before it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anabranch.model.lane import LaneMode
from anabranch.offsets.offset_map import OffsetMap
from anabranch.protocol import Ending, Ownership, OwnershipEnded, Pause, Pipeline, ReadGapRecords, ReadMappedRanges
from anabranch.protocol.effects import AppendGapRecords, EmptyTransaction, PaddingProducer, StartPadding
from anabranch.protocol.gap_padding import OffsetGap, fill, gap_records_over
from anabranch.protocol.gap_records import OffsetSpan

from .identity_world import FILLER_ID, IdentityWorld
from .mutations import Mutation, Unguarded
from .owner import Owner
from .partition import Violation
from .source import offsets_of
from .world import Request


class FillMutation(Mutation):
    """The protocol as implemented."""

    raw_markers = False
    drains = True
    fences = True
    checks_end = True


class RawMarkers(FillMutation):
    """I2, I3: gaps are filled by WriteTxnMarkers, which nothing fences."""

    raw_markers = True


class NoFence(FillMutation):
    """I8: the coordinator is used, but an ownership goes on under the epoch that it finds."""

    fences = False


class UnguardedFill(Unguarded, FillMutation):
    """I6: believes the guard strong whatever the records' age."""

    described = Mutation.described


@dataclass(slots=True)
class IdentityOwner(Owner):
    """An owner in an ``IdentityWorld``; ``gap`` is what it fills now, ``has_gap_record`` whether the lane has gap
    records.
    """

    world: IdentityWorld
    mutation: FillMutation
    gap: OffsetGap | None = None
    has_gap_record: bool = False

    @property
    def done(self) -> bool:
        pipeline = self.pipeline
        return (
            pipeline is not None
            and self.work is None
            and pipeline.clean
            and pipeline.position >= self.world.source_start
            and not self.world.source.has_more(pipeline.position)
        )

    def step(self) -> None:
        """Now and then the coordinator gets to its marker."""
        if self.luck.random() < 0.1:
            self.world.coordinator.flush()
        Owner.step(self)

    def _perform(self, effect: Any) -> Any:
        world, partition, coordinator = self.world, self.world.partition, self.world.coordinator
        raw = self.mutation.raw_markers
        match effect:
            case ReadGapRecords():
                return world.gap_record_log()
            case ReadMappedRanges():
                return OffsetMap(
                    world.source_start, 0
                )  # no gap record of an identity lane is forgotten: runs tell nothing more
            case AppendGapRecords(gap_records):
                return self._append_gap_records(gap_records)
            case StartPadding():
                if raw:
                    return PaddingProducer(0, FILLER_ID, 0)
                if not self.mutation.fences:
                    coordinator.epoch = coordinator.epoch or 1
                    return PaddingProducer(0, FILLER_ID, coordinator.epoch)
                self._post(Request(coordinator.start))
                self.waiting, self.several = 1, False
                return None
            case EmptyTransaction(_, padder):
                if raw:
                    self._post(Request(lambda: partition.mark(FILLER_ID, 0)))
                else:
                    self._post(Request(lambda: coordinator.empty(padder.epoch)))
                self.waiting, self.several = 1, False
                return None
            case Pause() if self.luck.random() < 0.5:
                coordinator.flush()
        return Owner._perform(self, effect)

    def _append_gap_records(self, gap_records: Any) -> bool:
        """In one batch: all of them or none."""
        known = self.luck.random() >= self.doubt
        outcome = 0 if known else self.luck.randrange(3)
        if outcome == 0:
            self.world.append_gap_records(gap_records)
        elif outcome == 1:
            self.world.late_appends.append(gap_records)
        return known

    def _finished(self, value: Any) -> None:
        if self.gap is not None:
            assert self.pipeline is not None
            self.pipeline.filled(self.gap.end)
            self.gap, self.has_gap_record = None, True
            self.world.seen["filled"] += 1
            return
        Owner._finished(self, value)
        if isinstance(value, Ownership):
            if value.mode is LaneMode.MAPPED:
                raise Violation("CONVERTED", value.why)
            self.has_gap_record = value.gap_records > 0
            if value.is_padded and value.claim.pads:
                self.world.cut_padding()

    def _copy(self) -> None:
        pipeline, ownership, connection = self.pipeline, self.ownership, self.connection
        assert pipeline is not None and ownership is not None and connection is not None
        if connection.broken:
            raise pipeline.fail(Ending.DISCONNECTED)
        if self._answered(connection):
            (code, base), _ = connection.answers.popleft()
            ranges = pipeline.acknowledge(code, base)
            self.flight.popleft()
            assert self.generation is not None
            self.unpersisted += [(self.generation, run) for run in ranges if run.source >= self.world.source_start]
        elif not ownership.is_padded:
            self._pad(pipeline)
        elif self.ending:
            if not pipeline.in_flight:
                self._give_back(pipeline, ownership)
        elif pipeline.room() and self.world.source.has_more(pipeline.next_offset):
            self._go_on(pipeline, ownership)

    def _pad(self, pipeline: Pipeline) -> None:
        left = self.world.source_start - pipeline.next_offset
        if left and pipeline.room():
            self._confirm_epoch(pipeline)
            count = min(left, self.luck.choice((1, 2, 3)))
            self._emit(pipeline, pipeline.next_offset, count, self.world.partition.now_ms)
            self.world.seen["padded"] += 1
        elif not left and not pipeline.in_flight:
            raise OwnershipEnded(ownership_lane(self), Ending.LEASE)

    def _go_on(self, pipeline: Pipeline, ownership: Ownership) -> None:
        source = self.world.source
        at = pipeline.next_offset
        span = source.fetch(at, self.luck)[0][0]  # up to the next gap
        if span.source == at:
            last = max(self.world.timestamps[offset] for offset in offsets_of((span,)))
            self._confirm_epoch(pipeline)
            self._emit(pipeline, at, span.length, last)
            return
        if pipeline.in_flight and self.mutation.drains:
            return
        self.gap = OffsetGap(at, span.source, pipeline.next_sequence)
        self.work = fill(ownership, self.gap, gap_records_over(ownership, self.gap, self.has_gap_record))
        self.answer = None

    def _emit(self, pipeline: Pipeline, first: int, count: int, timestamp: int) -> None:
        batch = (pipeline.send((OffsetSpan(first, count),), timestamp), first, count, timestamp)
        self.flight.append(batch)
        self._post_batch(batch)

    def _forget(self) -> None:
        Owner._forget(self)
        self.gap = None


def ownership_lane(owner: IdentityOwner) -> str:
    """The lane of an owner's ownership."""
    assert owner.ownership is not None
    return owner.ownership.lane


__all__ = ["FillMutation", "IdentityOwner", "NoFence", "RawMarkers", "UnguardedFill"]
