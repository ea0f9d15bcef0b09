"""Plants a bug in every Python process that has this directory on its path: the fault test must find it.

``ANABRANCH_PLANTED`` names bugs, separated by commas.  ``remembered`` lets a new owner go on from the position that
was persisted last, instead of the one that the target's log tells: what is appended after the last filing is copied
once more (broken rule R2). ``altered`` turns one byte of a few batches over and mends their checksums, as faulty memory
would. ``unwritten`` sends records past gaps without the gap record that tells the next owner which they are.
``undropped`` passes on the records of aborted transactions, as a reader does that overlooks the list of them.
"""

from __future__ import annotations

import os
from typing import Any


def _remembered() -> None:
    from anabranch.protocol import mapped
    from anabranch.protocol.tail import Tail

    read_tail = mapped.read_tail

    def read(request: Any, log: Any, below: int, killed: Any) -> Any:
        tail = yield from read_tail(request, log, below, killed)
        if request.persisted is not None and request.persisted.source_end < tail.position:
            return Tail(request.persisted.source_end, tail.target_end, tail.last_timestamp)
        return tail

    mapped.read_tail = read


def _altered() -> None:
    from anabranch.copier.lane import lane

    check_and_patch = lane.check_and_patch
    count = 0

    def patch(view: memoryview, at: int, header: Any, *rest: Any) -> None:
        nonlocal count
        count += 1
        check_and_patch(view, at, header, *rest)
        if count % 50 == 0 and header.codec == 0:
            import google_crc32c

            end = at + header.size
            view[end - 2] ^= 1
            view[at + 17 : at + 21] = google_crc32c.value(bytes(view[at + 21 : end])).to_bytes(4)

    lane.check_and_patch = patch


def _unwritten() -> None:
    from anabranch.state.topics.journal import GapRecords

    async def append(_gap_records: GapRecords, _new: Any) -> bool:
        return True

    GapRecords.append = append  # type: ignore[method-assign]


def _undropped() -> None:
    from anabranch.copier.lane import fetched

    def overlooking(read: Any) -> Any:
        return lambda records, position, _aborted, **rest: read(records, position, (), **rest)

    fetched.read, fetched.read_joining = overlooking(fetched.read), overlooking(fetched.read_joining)


_BUGS = {"remembered": _remembered, "altered": _altered, "unwritten": _unwritten, "undropped": _undropped}
for bug in filter(None, os.environ.get("ANABRANCH_PLANTED", "").split(",")):
    _BUGS[bug]()
