"""Patterns of operators: they mean what ``re`` says, and none stops the process."""

from __future__ import annotations

import pickle
import re
import string
import time
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import InvalidFieldError
from anabranch.groups.select import GroupSelection
from anabranch.model.configs import ConfigRules
from anabranch.model.filters import RegexFilter
from anabranch.model.link import GroupRules
from anabranch.model.patterns import Patterns, SlowPatternError

pytestmark = pytest.mark.unit

SLOW = "(?:" + "|".join(rf"(?=.{{0,{n}}})\w" for n in range(13)) + "){7}(?!)"
"""Thirteen ways to read each of seven letters, and none of them matches."""
NAME = "a.b-c_1"

simple = st.recursive(
    st.sampled_from(
        [re.escape(c) for c in NAME] + [".", "[a-c]", "[^b]", r"\w", r"\d", "[[:alpha:]]", "[]1]", "{e}", "{}"]
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{,2}", "{1,}", "*?", "{e<=1}"])).map(
            lambda both: f"(?:{both[0]}){both[1]}"
        ),
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda both: f"(?:{both[0]}|{both[1]})"),
        inner.map(lambda one: f"(?i:{one})"),
        inner.map(lambda one: f"(?!{one})"),
    ),
    max_leaves=6,
)


@given(simple, st.text(NAME + "AC{}e<=:lph[]", min_size=1, max_size=6))
def test_a_pattern_means_what_pythons_expressions_mean(pattern: str, name: str) -> None:
    """Both engines agree, also on what only the other one has a meaning for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        assert Patterns("filter", "include", [pattern]).match(name) == (re.fullmatch(pattern, name) is not None)


@given(st.text(string.printable, min_size=1, max_size=6), st.text(string.printable, min_size=1, max_size=6))
def test_an_escaped_name_matches_itself_alone(name: str, other: str) -> None:
    """What is a plain name is compared as such."""
    both = Patterns("filter", "include", [re.escape(name)])
    assert both.match(name)
    assert both.match(other) == (name == other)


@pytest.mark.parametrize("pattern", [SLOW, r"(?:\w|\w\w|(?=.)\w)+(?!)"])
def test_a_pattern_that_takes_too_long_is_refused(pattern: str) -> None:
    """With the field, the pattern, the name and what to do; a second time at once."""
    name = "flights" * 28
    for _ in range(2):
        with pytest.raises(SlowPatternError) as caught:
            Patterns("filter", "include", [pattern]).match(name)
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.field, error.pattern, error.name, error.exit_code) == ("include", pattern, name, 2)
    assert repr(name) in error.message
    assert "repeat" in error.hint


def test_a_pattern_that_is_a_little_slow_on_each_of_many_names_is_refused() -> None:
    """Ten thousand names are compared in little time, or not at all."""
    slow = Patterns("filter", "include", ["(?:" + "|".join(rf"(?=.{{0,{n}}})\w" for n in range(8)) + "){4}(?!)"])
    began = time.thread_time()
    with pytest.raises(SlowPatternError):
        all(not slow.match(f"topic-{number}") for number in range(10_000))
    assert time.thread_time() - began < 10


@pytest.mark.parametrize(
    "pattern",
    [
        "(?:" * 50 + "a" + "){2}" * 50,
        "(?:" * 50 + "a?" + ")+" * 50,
        "(?x)" + "(?:" * 50 + "a" + " ) {2}" * 50,
        "(?x)(?: # )\n" * 40 + "a" + "){2}" * 40,
        "(?:a{1000}){1000}",
        "a{99999999999}",
        "a{0,99999999999}",
        ".a" * 20_000,
        "(" * 5_000 + ")" * 5_000,
        "a(",
        r"\N{LATIN",
    ],
)
def test_what_would_grow_without_end_as_it_is_compiled_is_refused(pattern: str) -> None:
    """Repeats within repeats multiply: they are counted before."""
    with pytest.raises(InvalidFieldError) as caught:
        Patterns("filter", "include", [pattern])
    assert caught.value.hint


def test_many_names_are_no_large_pattern() -> None:
    """A way back names each topic; patterns that are none are counted together."""
    names = [f"orders.{number}" for number in range(20_000)]
    assert Patterns("filter", "include", [re.escape(name) for name in names]).match(names[-1])
    with pytest.raises(InvalidFieldError, match="too many"):
        Patterns("filter", "include", [f"orders.{number}.*" for number in range(20_000)])


def test_every_place_of_patterns_refuses_slow_ones() -> None:
    """Topics, groups that follow, groups that move, and configs."""
    for asked in (
        lambda: RegexFilter([SLOW]).selects("flights"),
        lambda: RegexFilter(exclude=[SLOW]).selects("flights"),
        lambda: GroupRules((SLOW,)).selects("flights"),
        lambda: GroupSelection((SLOW,)).names(["flights"], "old"),
        lambda: GroupSelection(topics=(SLOW,)).counts("flights"),
        lambda: ConfigRules(deny=(SLOW,)).copies("cleanup.policy"),
    ):
        with pytest.raises(SlowPatternError):
            asked()
