"""JSON as Spark writes it: no duplicate keys, numbers of 64 bits, bounded depth; all else is malformed.

Python's own reader would take integers of any length (and stop at 4300 digits with an error of its own), NaN, and the
last of two equal keys; each of these in a checkpoint means that something else wrote there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NoReturn

from anabranch.checkpoints.spark.errors import MalformedError

LARGEST = (1 << 63) - 1
_DIGITS = 20

Json = Any
"""None, a bool, int, float, str, list or dict with str keys."""


def parse(text: str, at: str) -> Json:
    """The value of a JSON text; raises MalformedError, which names ``at`` and never repeats more than a little."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise MalformedError(at, "is nested too deep") from None
    except ValueError as error:
        raise MalformedError(at, f"is not JSON: {_short(str(error))}") from None


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}..."


def _integer(text: str) -> int:
    if len(text) <= _DIGITS and abs(number := int(text)) <= LARGEST:
        return number
    raise ValueError(f"the number {_short(text)} has more than 64 bits")


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _object(pairs: Iterable[tuple[str, Json]]) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"the key {_short(repr(key))} is there twice")
        made[key] = value
    return made


_DECODER = json.JSONDecoder(parse_int=_integer, parse_constant=_constant, object_pairs_hook=_object)
