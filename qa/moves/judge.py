"""What a moved consumer read, before and after, held against the source's log: all, none twice, in order; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from qa.faults.ledger import Ledger, Place
from qa.logcompare import ComparedRecord

Reads = Mapping[Place, Sequence[ComparedRecord]]
_SAMPLES = 3


@dataclass(slots=True)
class Judgement:
    """Records read on either side, and what is wrong with their union; ``samples`` are sentences."""

    before: int = 0
    after: int = 0
    missing: int = 0
    repeated: int = 0
    reordered: int = 0
    foreign: int = 0
    samples: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> int:
        """All of them; 0 means that the consumer has noticed nothing of the move."""
        return self.missing + self.repeated + self.reordered + self.foreign

    def note(self, text: str) -> None:
        """Keep the first few sentences."""
        if len(self.samples) < _SAMPLES:
            self.samples.append(text)


def judge(source: Reads, before: Reads, after: Reads, ledger: Ledger | None = None) -> Judgement:
    """Compare, partition by partition, the source's final log with what was read of it in two places.

    Every record has a digest of its own.  Of a compacted topic the final log lacks what the cleaner took since, before
    or after it was read: ``ledger`` knows those records, and their offsets.
    """
    verdict = Judgement()
    for partition in sorted({*source, *before, *after}):
        _judge(
            verdict, partition, source.get(partition, ()), before.get(partition, ()), after.get(partition, ()), ledger
        )
    return verdict


def _judge(
    verdict: Judgement,
    partition: Place,
    source: Sequence[ComparedRecord],
    before: Sequence[ComparedRecord],
    after: Sequence[ComparedRecord],
    ledger: Ledger | None,
) -> None:
    where = f"{partition[0]}-{partition[1]}"
    held = {} if ledger is None else {digest: offset for offset, digest in ledger.at[partition].items()}
    held.update({entry.digest: entry.offset for entry in source})
    unplaced = frozenset[bytes]() if ledger is None else ledger.somewhere[partition]
    verdict.before += len(before)
    verdict.after += len(after)
    seen: dict[bytes, str] = {}
    furthest = -1
    for side, entries in (("source", before), ("target", after)):
        for entry in entries:
            offset = held.get(entry.digest)
            if entry.digest in seen:
                verdict.repeated += 1
                first = seen[entry.digest]
                verdict.note(
                    f"{where}: read on the {first}, and again on the {side} at {entry.offset}: {entry.preview}"
                )
            elif offset is None and entry.digest not in unplaced:
                verdict.foreign += 1
                verdict.note(f"{where}: the source never held what the {side} has at {entry.offset}: {entry.preview}")
            elif offset is not None and offset < furthest:
                verdict.reordered += 1
                verdict.note(f"{where}: source offset {offset} was read on the {side} behind {furthest}")
            if offset is not None:
                furthest = max(furthest, offset)
            seen.setdefault(entry.digest, f"{side} at {entry.offset}")
    for entry in source:
        if entry.digest not in seen:
            verdict.missing += 1
            verdict.note(f"{where}: source offset {entry.offset} was never read: {entry.preview}")
