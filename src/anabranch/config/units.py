"""Rates and lengths of time, as people write them."""

from __future__ import annotations

import re

from anabranch.errors import InvalidFieldError

_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*(k|M|G)?(?:B(?:/s)?)?", re.IGNORECASE)
_INTERVAL = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h)")
_UNITS_MS = {"ms": 1, "s": 1_000, "min": 60_000, "m": 60_000, "h": 3_600_000}
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def parse_rate(text: str, of: str = "link", field: str = "rate_limit") -> int:
    """Bytes a second of ``50MB/s``, ``50M``, ``1.5GB`` or ``800000``: decimal units; raises ``InvalidFieldError``."""
    match = _RATE.fullmatch(text.strip())
    if match is None or (rate := round(float(match[1]) * _FACTORS[(match[2] or "").lower()])) < 1:
        fix = "write bytes a second, such as 800000, 50MB/s or 1.5GB"
        raise InvalidFieldError(of, field, f"{text!r} is not a rate", fix)
    return rate


def parse_interval(text: str, of: str = "groups", field: str = "interval") -> int:
    """Milliseconds of ``500ms``, ``10s``, ``1.5min`` (or ``1.5m``) or ``1h``; raises ``InvalidFieldError``."""
    match = _INTERVAL.fullmatch(text.strip())
    if match is None:
        raise InvalidFieldError(of, field, f"{text!r} is not a length of time", "for example 10s or 1min")
    return round(float(match[1]) * _UNITS_MS[match[2]])
