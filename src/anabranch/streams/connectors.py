"""What may stand after USING, and in OPTIONS: each connector says its options and what each means.

Invariants
    O1  an option that no connector of that name knows is refused with the nearest name, and never passed over.
    O2  an option has one value: one that is named twice, in whatever case, is refused.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from anabranch.errors import InvalidFieldError
from anabranch.streams.tables import TableDeclaration

SERVERS = ("bootstrap.servers", "kafka.bootstrap.servers")


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector by its name after USING.

    ``required`` and ``optional`` are its options, each with what it means.  ``prefixes`` begin options that are handed
    on as they are.  ``is_open`` takes any option: a data source that is not ours.
    """

    provider: str
    required: Mapping[str, str] = field(default_factory=dict)
    optional: Mapping[str, str] = field(default_factory=dict)
    prefixes: tuple[str, ...] = ()
    is_open: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """All that it knows, in order."""
        return (*self.required, *self.optional)

    def joined(self, other: Connector) -> Connector:
        """The connector of a table that is read by one and written by the other."""
        required = {**self.required, **other.required}
        optional = {name: text for name, text in {**self.optional, **other.optional}.items() if name not in required}
        prefixes = tuple(dict.fromkeys((*self.prefixes, *other.prefixes)))
        return Connector(self.provider, required, optional, prefixes, self.is_open or other.is_open)

    def check(self, table: TableDeclaration) -> None:
        """Raise InvalidFieldError for the first option that is unknown, missing or there twice (O1, O2).

        ``field`` is its name.
        """
        where = f"table {table.name}"
        given: set[str] = set()
        for name in table.options:
            if name.lower() in given:
                raise InvalidFieldError(where, name, "the option is there twice", "leave one of them out")
            given.add(name.lower())
            if self.provider == "kafka" and name.lower() in SERVERS:
                fix = "name the cluster by its code: cluster 'CODE'; `anabranch context list` shows the codes"
                raise InvalidFieldError(where, name, "a Kafka table names a cluster, and no addresses", fix)
            if not self._knows(name):
                problem = f"connector {self.provider} has no such option"
                raise InvalidFieldError(where, name, problem, self._nearest(name))
        for name, text in self.required.items():
            if name.lower() not in given:
                problem = f"connector {self.provider} needs it: {text}"
                raise InvalidFieldError(where, name, problem, f"OPTIONS ({name} '...', ...)")

    def _knows(self, name: str) -> bool:
        lower = name.lower()
        return (
            self.is_open
            or lower in {option.lower() for option in self.options}
            or any(lower.startswith(prefix) and lower != prefix for prefix in self.prefixes)
        )

    def _nearest(self, name: str) -> str:
        near = nearest(name, self.options)
        return near or f"it has {', '.join(sorted(self.options))}"


def option(table: TableDeclaration, name: str, default: str = "") -> str:
    """An option of a table, whatever case it is written in."""
    return next((value for key, value in table.options.items() if key.lower() == name.lower()), default)


def flag(table: TableDeclaration, name: str, default: bool) -> bool:
    """An option that is true or false; raises InvalidFieldError."""
    text = option(table, name, str(default)).lower()
    if text not in ("true", "false"):
        raise InvalidFieldError(f"table {table.name}", name, f"{text!r} is neither true nor false")
    return text == "true"


def choice(table: TableDeclaration, name: str, choices: Iterable[str], default: str) -> str:
    """An option that is one of some words; raises InvalidFieldError."""
    words, text = tuple(choices), option(table, name, default).lower()
    if text not in words:
        problem = f"{text!r} is none of {', '.join(words)}"
        raise InvalidFieldError(f"table {table.name}", name, problem, _mean(text, words))
    return text


def nearest(name: str, known: Iterable[str]) -> str:
    """``did you mean``, with at most three names that are like it; empty where none is."""
    by_lower = {one.lower(): one for one in known}
    return _mean(name.lower(), by_lower, by_lower)


def _mean(name: str, known: Iterable[str], shown: Mapping[str, str] | None = None) -> str:
    found = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    names = [shown[one] if shown else one for one in found]
    return f"did you mean {' or '.join(names)}?" if names else ""
