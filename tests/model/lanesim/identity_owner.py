"""A worker that keeps target offsets equal to the source's: it pads the head, and fills holes before it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anabranch.model.lane import LaneMode
from anabranch.offsets.runs import RunMap
from anabranch.protocol import Ending, Pause, Pipeline, ReadJumps, ReadRuns, Tenure, TenureEnded
from anabranch.protocol.effects import AppendJumps, EmptyTransaction, Filler, StartFiller
from anabranch.protocol.fill import Hole, fill, jumps_over

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
    """I2, I3: holes are filled by WriteTxnMarkers, which nothing fences."""

    raw_markers = True


class NoFence(FillMutation):
    """I8: the coordinator is used, but a tenure goes on under the epoch that it finds."""

    fences = False


class UnguardedFill(Unguarded, FillMutation):
    """I6: believes the guard strong whatever the records' age."""

    described = Mutation.described


@dataclass(slots=True)
class IdentityOwner(Owner):
    """An owner in an ``IdentityWorld``; ``hole`` is what it fills now, ``jumped`` whether the lane has jumps."""

    world: IdentityWorld
    mutation: FillMutation
    hole: Hole | None = None
    jumped: bool = False

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
            case ReadJumps():
                return world.jump_log()
            case ReadRuns():
                return RunMap(world.source_start, 0)  # no jump of an identity lane is forgotten: runs tell nothing more
            case AppendJumps(jumps):
                return self._append_jumps(jumps)
            case StartFiller():
                if raw:
                    return Filler(0, FILLER_ID, 0)
                if not self.mutation.fences:
                    coordinator.epoch = coordinator.epoch or 1
                    return Filler(0, FILLER_ID, coordinator.epoch)
                self._post(Request(coordinator.start))
                self.waiting, self.several = 1, False
                return None
            case EmptyTransaction(_, filler):
                if raw:
                    self._post(Request(lambda: partition.mark(FILLER_ID, 0)))
                else:
                    self._post(Request(lambda: coordinator.empty(filler.epoch)))
                self.waiting, self.several = 1, False
                return None
            case Pause() if self.luck.random() < 0.5:
                coordinator.flush()
        return Owner._perform(self, effect)

    def _append_jumps(self, jumps: Any) -> bool:
        """In one batch: all of them or none."""
        known = self.luck.random() >= self.doubt
        outcome = 0 if known else self.luck.randrange(3)
        if outcome == 0:
            self.world.append_jumps(jumps)
        elif outcome == 1:
            self.world.late_appends.append(jumps)
        return known

    def _finished(self, value: Any) -> None:
        if self.hole is not None:
            assert self.pipeline is not None
            self.pipeline.filled(self.hole.end)
            self.hole, self.jumped = None, True
            self.world.seen["filled"] += 1
            return
        Owner._finished(self, value)
        if isinstance(value, Tenure):
            if value.mode is LaneMode.MAPPED:
                raise Violation("CONVERTED", value.why)
            self.jumped = value.jumps > 0
            if value.is_padded and value.claim.pads:
                self.world.cut_padding()

    def _copy(self) -> None:
        pipeline, tenure, connection = self.pipeline, self.tenure, self.connection
        assert pipeline is not None and tenure is not None and connection is not None
        if connection.broken:
            raise pipeline.fail(Ending.DISCONNECTED)
        if self._answered(connection):
            (code, base), _ = connection.answers.popleft()
            runs = pipeline.acknowledge(code, base)
            self.flight.popleft()
            assert self.generation is not None
            self.unfiled += [(self.generation, run) for run in runs if run.source >= self.world.source_start]
        elif not tenure.is_padded:
            self._pad(pipeline)
        elif self.ending:
            if not pipeline.in_flight:
                self._give_back(pipeline, tenure)
        elif pipeline.room() and self.world.source.has_more(pipeline.next_offset):
            self._go_on(pipeline, tenure)

    def _pad(self, pipeline: Pipeline) -> None:
        left = self.world.source_start - pipeline.next_offset
        if left and pipeline.room():
            self._confirm_epoch(pipeline)
            count = min(left, self.luck.choice((1, 2, 3)))
            self._emit(pipeline, pipeline.next_offset, count, self.world.partition.now_ms)
            self.world.seen["padded"] += 1
        elif not left and not pipeline.in_flight:
            raise TenureEnded(tenure_lane(self), Ending.LEASE)

    def _go_on(self, pipeline: Pipeline, tenure: Tenure) -> None:
        source = self.world.source
        at = pipeline.next_offset
        stretch = source.fetch(at, self.luck)[0][0]  # up to the next hole
        if stretch.source == at:
            last = max(self.world.timestamps[offset] for offset in offsets_of((stretch,)))
            self._confirm_epoch(pipeline)
            self._emit(pipeline, at, stretch.length, last)
            return
        if pipeline.in_flight and self.mutation.drains:
            return
        self.hole = Hole(at, stretch.source, pipeline.next_sequence)
        known = tenure.ahead == self.hole.end
        jumps = () if known else jumps_over(tenure, self.hole, self.jumped)
        self.work = fill(tenure, self.hole, jumps)
        self.answer = None

    def _emit(self, pipeline: Pipeline, first: int, count: int, timestamp: int) -> None:
        batch = (pipeline.send(first, count, timestamp), first, count, timestamp)
        self.flight.append(batch)
        self._post_batch(batch)

    def _forget(self) -> None:
        Owner._forget(self)
        self.hole = None


def tenure_lane(owner: IdentityOwner) -> str:
    """The lane of an owner's tenure."""
    assert owner.tenure is not None
    return owner.tenure.lane


__all__ = ["FillMutation", "IdentityOwner", "NoFence", "RawMarkers", "UnguardedFill"]
