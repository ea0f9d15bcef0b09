"""What a changed script changes in the meaning of a query's state, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from anabranch.streams.state.expressions import Expression
from anabranch.streams.state.operators import StatefulOperator


def changes(before: Sequence[StatefulOperator], after: Sequence[StatefulOperator]) -> tuple[str, ...]:
    """Each change as a sentence; none where every operator keeps what it kept, by the same keys."""
    kinds = [one.kind for one in before], [one.kind for one in after]
    if kinds[0] != kinds[1]:
        return (f"its operators with state were {_list(kinds[0])}, and are {_list(kinds[1])}",)
    found: list[str] = []
    for number, (was, now) in enumerate(zip(before, after, strict=True), 1):
        name = f"{was.kind} {number}" if len(before) > 1 else was.kind
        key, value = ("condition", "value") if "join" in was.kind else ("key", "value")
        if was.kind == "limit":
            key = "number"
        found += _each(f"{name}: {key}", was.keys, now.keys)
        found += _each(f"{name}: {value}", was.values, now.values)
    return tuple(found)


def _each(what: str, was: Sequence[Expression], now: Sequence[Expression]) -> list[str]:
    if set(was) == set(now) and len(was) == len(now) and was != now:
        return [f"{what}s {_list(map(str, was))} are in another order: {_list(map(str, now))}"]
    left = [one for one in was if one not in now]
    fresh = [one for one in now if one not in was]
    told: list[str] = []
    for gone, came in zip_longest(left, fresh):
        if gone is None:
            told.append(f"{what} {_named(came)} is new")
        elif came is None:
            told.append(f"{what} {_named(gone)} is gone")
        else:
            told.append(f"{what} {_pair(gone, came)}")
    return told


def _pair(gone: Expression, came: Expression) -> str:
    was, now = _named(gone), _named(came)
    if was != now:
        return f"{was} became {now}"
    return f"{was} is computed in another way"


def _named(one: Expression) -> str:
    text = str(one)
    return text if not one.label or one.label in text else f"{one.label} ({text})"


def _list(found: Iterable[str]) -> str:
    words = list(found)
    return ", ".join(words) if words else "none"


def sources_changed(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """What another set of sources does to a position, as a sentence; none where the sources are the same."""
    if list(before) == list(after):
        return ()
    return (f"it read {_list(before)}, and reads {_list(after)}: its position says nothing of that",)
