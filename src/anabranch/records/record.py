"""One record of a decoded batch."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class TimestampType(IntEnum):
    """Whose clock a timestamp is from; the value is that of attribute bit 3."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class Record(NamedTuple):
    """A record as its producer wrote it, at its offset in a log.

    ``timestamp`` is in milliseconds since 1970, -1 for none.  ``None`` and empty are different, in ``key``,
    ``value`` and header values alike.  A header key that is not UTF-8 stays ``bytes``, so that nothing is altered.
    """

    offset: int
    timestamp: int
    timestamp_type: TimestampType
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str | bytes, bytes | None], ...] = ()
