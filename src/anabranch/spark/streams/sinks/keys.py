"""Keys of rows as text, for servers that have one name for a row.

Invariant
    K1  Two keys with different values have different texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import types as T

KEY_TYPES = (
    T.StringType,
    T.IntegralType,
    T.DecimalType,
    T.BooleanType,
    T.DateType,
    T.TimestampType,
    T.TimestampNTZType,
)
"""What may be a key: types whose values have one text each."""


def key_text(values: Sequence[Any]) -> str:
    """A key of one column is its text; of several they stand between colons, with ``%`` and ``:`` escaped (K1)."""
    if len(values) == 1:
        return plain_text(values[0])
    return ":".join(plain_text(one).replace("%", "%25").replace(":", "%3A") for one in values)


def plain_text(value: Any) -> str:
    """A value that is no bytes as text: timestamps in UTC with microseconds, numbers in full."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return timestamp_text(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value if isinstance(value, str) else repr(value)


def timestamp_text(value: datetime) -> str:
    """As ISO 8601 has it; with ``Z`` where it is a point in time."""
    if value.tzinfo is None:
        return value.isoformat(timespec="microseconds")
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
