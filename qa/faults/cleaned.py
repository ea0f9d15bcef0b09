"""Comparing copies of compacted logs: what was cleaned at the source may or may not be in the target, all else must."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qa.faults.ledger import Ledger, Place
from qa.logcompare import ComparedRecord, Differences

_SAMPLES = 5


def compare_cleaned(
    source: Sequence[ComparedRecord],
    target: Sequence[ComparedRecord],
    ledger: Ledger,
    place: Place,
    *,
    both: bool = False,
) -> Differences:
    """Say what is wrong with a copy of a log that the cleaner went over.

    Every record that the source still has must be there (where the target is cleaned ``both``: or a later one of its
    key), and no record that it never held; in the source's order, none twice; and both must tell the same latest
    value of each key.  Every record of the load is unlike all others.
    """
    offsets = {digest: offset for offset, digest in ledger.at[place].items()}
    offsets.update({entry.digest: entry.offset for entry in source})
    unplaced = ledger.somewhere[place]
    samples: list[str] = []
    seen: set[bytes] = set()
    repeated = reordered = foreign = 0
    furthest = -1
    newest: dict[bytes | None, int] = {}
    for entry in target:
        offset = offsets.get(entry.digest)
        if entry.digest in seen:
            repeated += 1
            samples.append(f"target offset {entry.offset} repeats a record: {entry.preview}")
        elif offset is None and entry.digest not in unplaced:
            foreign += 1
            samples.append(f"target offset {entry.offset} holds no record that the source ever had: {entry.preview}")
        elif offset is not None:
            if offset < furthest:
                reordered += 1
                samples.append(f"target offset {entry.offset} comes too late: source offset {offset}")
            furthest = newest[entry.key] = max(furthest, offset)
        seen.add(entry.digest)
    lost = [entry for entry in source if entry.digest not in seen]
    if both:
        lost = [entry for entry in lost if newest.get(entry.key, -1) < entry.offset]
    samples += [f"source offset {entry.offset} is not in the target: {entry.preview}" for entry in lost]
    latest = [_latest(entries) for entries in (source, target)]
    altered = sum(latest[0].get(key) != latest[1].get(key) for key in latest[0].keys() | latest[1].keys())
    if altered and not samples:
        samples.append(f"the latest values of {altered} keys differ")
    return Differences(len(lost), repeated, reordered, altered, foreign, tuple(samples[:_SAMPLES]))


def _latest(entries: Iterable[ComparedRecord]) -> dict[bytes | None, bytes]:
    """The digest of the newest record of each key that is not deleted."""
    latest: dict[bytes | None, bytes] = {}
    for entry in entries:
        if entry.deletes:
            latest.pop(entry.key, None)
        else:
            latest[entry.key] = entry.digest
    return latest
