"""Numbers as people read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_PARTS = re.compile(r"([0-9]+)|([^0-9]+)")


def count(value: float | None) -> str:
    """A number with thousands set apart; None is unknown."""
    if value is None:
        return "?"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}"  # an offset may be more than a float can hold


def as_counted(text: str) -> tuple[tuple[int, str], ...]:
    """A key by which texts are sorted as people count: ``orders-2`` before ``orders-10``."""
    return tuple((int(digits), "") if digits else (-1, rest) for digits, rest in _PARTS.findall(text))


def span(first: int, last: int) -> str:
    """A range of offsets: ``1,000 to 2,000``."""
    return f"{count(first)} to {count(last)}"


def size(value: float | None) -> str:
    """Bytes in decimal units: ``512 B``, ``1.5 MB``; None is unknown."""
    if value is None:
        return "?"
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 99.95 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} TB"


def limit(value: float | None) -> str:
    """A limit in bytes a second, or that there is none."""
    return "no rate limit" if value is None else f"at most {size(value)}/s"


def duration(seconds: float | None) -> str:
    """A length of time in its two largest units; None is unknown."""
    if seconds is None:
        return "?"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for length, unit, below, small in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= length:
            rest = whole % length // below
            return f"{whole // length:,} {unit} {rest} {small}" if rest else f"{whole // length:,} {unit}"
    return f"{whole} s"


def moment(ms: int) -> str:
    """A time, in UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def printable(text: str) -> str:
    """A text of somebody else's, for a terminal: what could steer it is written as its code."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
