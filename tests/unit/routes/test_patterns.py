"""Patterns of names: what they match, and whether two of them share a name."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import InvalidFieldError
from anabranch.routes.pattern import Pattern
from tests.chance import examples

pytestmark = pytest.mark.unit
_TEXTS = st.text(alphabet="ab*\\", min_size=1, max_size=6)


def _legal(text: str) -> bool:
    try:
        Pattern(text)
    except InvalidFieldError:
        return False
    return True


_PATTERNS = _TEXTS.filter(_legal).map(Pattern)
_NAMES = ["".join(letters) for size in range(6) for letters in product("ab*\\", repeat=size)]


@pytest.mark.parametrize(
    ("text", "named", "not_named"),
    [
        ("orders", ["orders"], ["orders2", "order", "Orders"]),
        ("orders.*", ["orders.", "orders.eu"], ["orders", "xorders.eu"]),
        ("*", ["", "a", "a\nb"], []),
        (r"a\*b", ["a*b"], ["ab", "axb"]),
        (r"a\\*", ["a\\", "a\\x"], ["a*", "ax"]),
        ("a.c", ["a.c"], ["abc"]),
    ],
)
def test_a_pattern_stands_for_whole_names(text: str, named: list[str], not_named: list[str]) -> None:
    """A star is any text, everything else is itself."""
    pattern = Pattern(text)
    assert [name for name in named + not_named if pattern.matches(name)] == named
    assert pattern.is_whole == ("*" not in re.sub(r"\\.", "", text))
    assert pattern.matches(pattern.example())


@pytest.mark.parametrize("text", ["", "a" * 301, "a\\b", "\\"])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    """With the reason, before a rule has it."""
    with pytest.raises(InvalidFieldError):
        Pattern(text)


@examples(2_000)
@given(_PATTERNS, _PATTERNS)
def test_a_shared_name_is_found_if_and_only_if_there_is_one(one: Pattern, other: Pattern) -> None:
    """And it is a name that both stand for; every name of up to five characters is tried against a denial."""
    shared = one.shared_with(other)
    assert other.shared_with(one) is not None or shared is None
    if shared is None:
        assert not [name for name in _NAMES if one.matches(name) and other.matches(name)]
    else:
        assert one.matches(shared)
        assert other.matches(shared)


def test_long_patterns_are_told_apart_at_once() -> None:
    """Forty stars on each side would be too many ways to try one by one."""
    one, other = Pattern("*a" * 40 + "b"), Pattern("a*" * 40 + "c")
    assert one.shared_with(other) is None
    assert Pattern("*a" * 40).shared_with(Pattern("a*" * 40)) is not None
