"""Regular expressions that operators write, compared with whole names of topics, groups and configs.

What a pattern means is what Python's ``re`` takes it to mean, which also says whether it is one.  It is compared by
the library ``regex``, since ``re`` can neither be ended nor lets another thread run meanwhile, and some patterns take
longer than anybody waits.

Invariants
    P1  a pattern has at most ``LARGEST`` parts, those that are not plain names ``LARGEST_LIST`` together: repeats
        within repeats multiply as a pattern is compiled.
    P2  comparing ends: a pattern that takes ``LONGEST_S`` on one name, or on many names ``SPENT_S`` more than
        ``FREE_S`` for each, is refused, from then on at once.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import regex

from anabranch.errors import InvalidFieldError

LARGEST, LARGEST_LIST = 20_000, 50_000
"""In characters, each counted as often as it is repeated at least, and once more."""
LONGEST_S, SPENT_S, FREE_S = 0.2, 0.5, 50e-6
"""Of processor time, so that a busy machine makes no pattern slow; an ordinary one takes some microseconds a name."""
_WHOLE = "a whole name is matched; escape dots as \\."

_PLAIN = re.compile(r"(?:[\w-]|\\[^a-zA-Z0-9])+", re.ASCII)
"""What ``re.escape`` makes of a name, and names without dots."""
_PARTS = re.compile(
    r"""
    (?P<comment>\(\?\#[^)]*\))
    | (?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])
    | (?P<open>\() | (?P<close>\))
    | (?P<repeat>(?:[*?]|\+|\{(?=[\d,])(?P<least>\d*)(?:,\d*)?\})[?+]?)
    | (?P<brace>\{)
    | \\N\{[^}]*\} | \\. | .
    """,
    re.VERBOSE | re.DOTALL,
)
_VERBOSE = re.compile(r"\(\?[a-zA-Z]*x")


@dataclass(eq=False)
class SlowPatternError(InvalidFieldError):
    """Comparing a pattern with a name, or with many, takes longer than is waited for."""

    problem: str = field(init=False)
    fix: str = field(init=False)
    pattern: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        self.fix = "write it without a repeat within a repeat, or name what you mean"
        self.problem = f"{self.pattern!r} takes too long to compare with {self.name!r}"


class Patterns:
    """Patterns of one field; a name is compared with each until one matches."""

    __slots__ = ("_field", "_names", "_others", "_where")

    def __init__(self, where: str, field: str, patterns: Sequence[str]) -> None:
        """Raises InvalidFieldError for what is no regular expression, or one that is too large."""
        self._where, self._field = where, field
        self._names = frozenset(re.sub(r"\\(.)", r"\1", p, flags=re.DOTALL) for p in patterns if _PLAIN.fullmatch(p))
        others = [pattern for pattern in patterns if not _PLAIN.fullmatch(pattern)]
        total = 0
        for pattern in others:
            size = _size(pattern)
            total += size
            if size > LARGEST or total > LARGEST_LIST:
                large = (
                    f"{pattern[:100]!r} is too large, or too often repeated" if size > LARGEST else "too many patterns"
                )
                raise InvalidFieldError(where, field, large, "write shorter ones, with smaller repeats")
        self._others = tuple(self._compiled(pattern) for pattern in others)

    def match(self, name: str) -> bool:
        """Whether some pattern matches the whole name; raises SlowPatternError."""
        return name in self._names or any(self._matches(one, name) for one in self._others)

    def _matches(self, one: _Compiled, name: str) -> bool:
        try:
            return one.matches(name)
        except TimeoutError:
            raise SlowPatternError(self._where, self._field, pattern=one.pattern, name=name) from None

    def _compiled(self, pattern: str) -> _Compiled:
        try:
            return _compiled(pattern)
        except (re.error, regex.error, RecursionError, OverflowError) as error:
            why = "groups within groups are too deep" if isinstance(error, RecursionError) else error
            problem = f"{pattern!r} is not a regular expression: {why}"
            raise InvalidFieldError(self._where, self._field, problem, _WHOLE) from error


@lru_cache(maxsize=256)
def patterns(where: str, field: str, of: tuple[str, ...]) -> Patterns:
    """The same, kept: for values that hold only the words of patterns.  Raises InvalidFieldError."""
    return Patterns(where, field, of)


class _Compiled:
    """One pattern, and how much longer than is free it took (P2)."""

    __slots__ = ("_compiled", "_spent_s", "pattern")

    def __init__(self, pattern: str) -> None:
        re.compile(pattern)
        self.pattern = pattern
        self._compiled = regex.compile(_translated(pattern), regex.VERSION0, cache_pattern=False)
        self._spent_s = 0.0

    def matches(self, name: str) -> bool:
        """Whether it matches the whole name; raises TimeoutError."""
        if self._spent_s > SPENT_S:
            raise TimeoutError
        began = time.thread_time()
        try:
            return self._compiled.fullmatch(name, timeout=LONGEST_S) is not None
        except TimeoutError:
            self._spent_s = math.inf
            raise
        finally:
            self._spent_s = max(0.0, self._spent_s + time.thread_time() - began - FREE_S)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> _Compiled:
    return _Compiled(pattern)


def _translated(pattern: str) -> str:
    """The pattern with what ``regex`` alone has a meaning for escaped: ``{e<=1}``, and ``[:`` within a class."""
    return "".join(_escaped(part) for part in _PARTS.finditer(pattern))


def _escaped(part: re.Match[str]) -> str:
    if part["brace"]:
        return r"\{"
    if part["class"]:
        inner = re.sub(r"(\\.)|\[", lambda found: found[1] or r"\[", part[0][1:], flags=re.DOTALL)
        return "[" + inner
    return part[0]


def _size(pattern: str) -> int:
    """About how many parts the pattern has once it is compiled, where what is repeated twice stands there twice."""
    if _VERBOSE.search(pattern):  # spaces and comments stand between what is repeated and how often: the most it can be
        return len(pattern) * math.prod(least + 1 for least in map(_least, _PARTS.finditer(pattern)) if least)
    return _summed(_PARTS.finditer(pattern))


def _summed(parts: Iterator[re.Match[str]]) -> int:
    sizes, last = [0], 0
    for part in parts:
        if part["open"]:
            sizes.append(0)
            last = 0
        elif part["close"] and len(sizes) > 1:
            last = sizes.pop() + 2
            sizes[-1] += last
        elif part["repeat"]:
            least = _least(part)
            sizes[-1] += last * least
            last *= least + 1
        elif not part["comment"]:
            last = len(part[0])
            sizes[-1] += last
    return sum(sizes)


def _least(part: re.Match[str]) -> int:
    """How often at least what stands before it is repeated; 0 where it is no repeat."""
    if not part["repeat"]:
        return 0
    if part["repeat"].startswith("+"):
        return 1
    return int((part["least"] or "0")[:9])
