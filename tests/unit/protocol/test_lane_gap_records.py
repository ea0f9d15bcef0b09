"""What the journal of jumps tells of every batch that was sent, whatever was compacted or forgotten of it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.offsets.runs import Run, RunMap
from anabranch.protocol import Jump, JumpKey, JumpLog, Stretch, TailBatch
from anabranch.protocol.holes import breaks, cut
from anabranch.protocol.tail import tell
from anabranch.records.sequence import MODULUS, advance, sequence_of

pytestmark = pytest.mark.unit

LANE = "flights-0"
P = 7
STARTS = st.one_of(st.integers(0, 100), st.integers(MODULUS - 60, MODULUS + 5), st.integers(5 * MODULUS - 60, 1 << 40))


@dataclass(frozen=True)
class Sent:
    """A batch as it was sent: the source offsets of its records, its sequence, and where it lies in the target."""

    offsets: tuple[int, ...]
    sequence: int
    base: int

    @property
    def header(self) -> TailBatch:
        return TailBatch(self.base, self.base + len(self.offsets) - 1, P, self.sequence, False, 0)


@dataclass(frozen=True)
class Tenure:
    """What one producer id sent, and the jumps it wrote ahead."""

    start: int
    sent: tuple[Sent, ...]
    jumps: tuple[Jump, ...]

    @property
    def log(self) -> JumpLog:
        return JumpLog((at, jump.key, jump) for at, jump in enumerate(self.jumps))


def stretches(offsets: tuple[int, ...]) -> tuple[Stretch, ...]:
    """Rising offsets as stretches."""
    found: list[Stretch] = []
    for offset in offsets:
        if found and found[-1].end == offset:
            found[-1] = Stretch(found[-1].source, found[-1].length + 1)
        else:
            found.append(Stretch(offset, 1))
    return tuple(found)


@st.composite
def tenures(draw: st.DrawFn) -> Tenure:
    """Some fetch rounds of batches with holes between and inside them; a jump for each round that needs one."""
    start = draw(STARTS)
    following, sequence, base = start, sequence_of(start), 0
    sent: list[Sent] = []
    jumps: list[Jump] = []
    for rounds in draw(st.lists(st.lists(st.lists(st.sampled_from([0, 0, 0, 1, 5]), min_size=1, max_size=4)))):
        first: int | None = None
        ahead: tuple[int, ...] = ()
        begins = sequence
        for gaps in rounds:
            offsets = []
            behind = following
            for gap in gaps:
                offsets.append(following + gap)
                following += gap + 1
            if first is None and (offsets[0] != behind or len(stretches(tuple(offsets))) > 1):
                first, begins = offsets[0], sequence
            if first is not None:
                ahead += tuple(offsets)
            sent.append(Sent(tuple(offsets), sequence, base))
            sequence, base = advance(sequence, len(offsets)), base + len(offsets)
        if first is not None:
            jumps.append(Jump(LANE, P, begins, len(jumps), stretches(ahead)))
    return Tenure(start, tuple(sent), tuple(jumps))


@given(tenures())
def test_every_batch_is_told_as_it_was_sent(tenure: Tenure) -> None:
    """Holes, many jumps and a wrap of the sequence change nothing."""
    for batch in tenure.sent:
        told = tenure.log.tell(LANE, P, batch.sequence, len(batch.offsets), tenure.start)
        assert told == stretches(batch.offsets)


@given(tenures(), st.data())
def test_compaction_of_the_journal_changes_no_answer(tenure: Tenure, data: st.DataObject) -> None:
    """The last record of each key tells what all records do, before and after tombstones are gone."""
    superfluous = tenure.log.passed(LANE, P)
    forgotten = data.draw(st.integers(0, len(superfluous)), label="forgotten")
    records: list[tuple[JumpKey, Jump | None]] = [(jump.key, jump) for jump in tenure.jumps]
    records += [(jump.key, None) for jump in superfluous[:forgotten]]
    whole = JumpLog((at, key, jump) for at, (key, jump) in enumerate(records))
    last = {key: (at, jump) for at, (key, jump) in enumerate(records)}
    compacted = JumpLog(sorted(((at, key, jump) for key, (at, jump) in last.items()), key=lambda one: one[0]))
    cleaned = JumpLog((at, key, jump) for key, (at, jump) in last.items() if jump is not None)
    for log in (compacted, cleaned):
        assert log.count(LANE, P) == whole.count(LANE, P) == len(tenure.jumps)
        for batch in tenure.sent:
            asked = (LANE, P, batch.sequence, len(batch.offsets), tenure.start)
            assert log.tell(*asked) == whole.tell(*asked)


@given(tenures(), st.data())
def test_a_forgotten_jump_is_made_good_by_the_filed_runs_and_never_guessed(tenure: Tenure, data: st.DataObject) -> None:
    """Once all below a sequence is filed, every batch is told by the jumps that are left, or else by the runs."""
    if not tenure.sent:
        return
    filed = data.draw(st.integers(0, len(tenure.sent) - 1), label="batches filed")
    runs = RunMap()
    for batch in tenure.sent[:filed]:
        base = batch.base
        for source, length in stretches(batch.offsets):
            runs = runs.append(Run(source, base, length))
            base += length
    log = tenure.log
    for at, jump in enumerate(log.passed(LANE, P, tenure.sent[filed].sequence)):
        log.apply(100_000 + at, jump.key, None)
    for at, batch in enumerate(tenure.sent):
        told = tell(LANE, log, runs, batch.header, tenure.start)
        assert told is not None, f"batch {at} of {filed} filed"
        assert [o for source, length in told for o in range(source, source + length)] == list(batch.offsets)
    alone = [log.tell(LANE, P, b.sequence, len(b.offsets), tenure.start) for b in tenure.sent]
    assert all(told is None or told == stretches(b.offsets) for told, b in zip(alone, tenure.sent, strict=True))


@given(tenures(), st.data())
def test_the_jump_that_tells_the_last_acknowledged_batch_is_never_superfluous(
    tenure: Tenure, data: st.DataObject
) -> None:
    """A jump at the acknowledged sequence may be void, so the one before it is needed still."""
    if not tenure.sent:
        return
    last = tenure.sent[data.draw(st.integers(0, len(tenure.sent) - 1), label="last acknowledged")]
    log = tenure.log
    for at, jump in enumerate(log.passed(LANE, P, advance(last.sequence, len(last.offsets)))):
        log.apply(100_000 + at, jump.key, None)
    assert log.tell(LANE, P, last.sequence, len(last.offsets), tenure.start) == stretches(last.offsets)


@given(tenures(), st.permutations(range(3)))
def test_producer_ids_and_lanes_do_not_mix(tenure: Tenure, order: list[int]) -> None:
    """The jumps of one producer id of one lane tell nothing of another's."""
    log = JumpLog()
    offset = 0
    for who in order:
        for jump in tenure.jumps:
            lane, producer_id = (LANE, P) if who == 0 else (LANE, 100) if who == 1 else ("other-0", P)
            moved = jump if who == 0 else Jump(lane, producer_id, jump.sequence, jump.ordinal, (Stretch(3, 1),))
            log.apply(offset, moved.key, moved)
            offset += 1
    for batch in tenure.sent:
        asked = (LANE, P, batch.sequence, len(batch.offsets), tenure.start)
        assert log.tell(*asked) == tenure.log.tell(*asked)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=5), st.integers(0, 12), st.data())
def test_a_cut_is_what_counting_record_by_record_gives(
    shape: list[tuple[int, int]], skip: int, data: st.DataObject
) -> None:
    """Skipping and taking across stretches, the last of which has no end."""
    held: list[Stretch] = []
    at = 10
    for gap, length in shape:
        at += gap + bool(held)
        held.append(Stretch(at, length))
        at += length
    count = data.draw(st.integers(1, 20))
    endless = [o for s in held[:-1] for o in range(s.source, s.end)]
    endless += range(held[-1].source, held[-1].source + skip + count)
    found = cut(held, skip, count)
    assert [o for source, length in found for o in range(source, source + length)] == endless[skip : skip + count]


def test_breaks_name_the_first_record_of_each_stretch_across_the_wrap() -> None:
    """Sequences wrap at 2^31, source offsets do not."""
    assert breaks(MODULUS - 2, (Stretch(MODULUS, 3), Stretch(MODULUS + 9, 1))) == [
        (MODULUS - 2, MODULUS),
        (1, MODULUS + 9),
    ]


def test_a_repeated_record_and_one_that_comes_late_change_nothing() -> None:
    """Reading on from an earlier offset is harmless, and of two jumps with one ordinal the first counts."""
    first, second = (Jump(LANE, P, 5 + at, at, (Stretch(50 + at, 1),)) for at in range(2))
    log = JumpLog([(0, first.key, first), (1, second.key, second), (0, first.key, None)])
    late = Jump(LANE, P, 90, 1, (Stretch(1000, 1),))
    log.apply(2, late.key, late)
    assert log.count(LANE, P) == 2
    assert log.tell(LANE, P, 5, 1, 0) == (Stretch(50, 1),)
    assert log.tell(LANE, P, 6, 2, 0) == (Stretch(51, 2),)


def test_an_id_whose_first_jump_is_forgotten_does_not_tell_what_lies_before() -> None:
    """Its plain beginning could be meant, or the forgotten jump: nobody can know (H4)."""
    first, second = (Jump(LANE, P, 5 + at, at, (Stretch(50 + 9 * at, 1),)) for at in range(2))
    log = JumpLog([(0, first.key, first), (1, second.key, second)])
    assert log.tell(LANE, P, 4, 1, 4) == (Stretch(4, 1),)
    log.apply(2, first.key, None)
    assert log.tell(LANE, P, 4, 1, 4) is None
    assert log.tell(LANE, P, 5, 1, 4) is None
    assert log.tell(LANE, P, 6, 1, 4) == (Stretch(59, 1),)
