"""Canonical JSON out, strict JSON in.

Out: keys sorted, no blanks, UTF-8, so that equal values are equal bytes.  In: every field is named and typed by
its reader, a missing, unknown or ill-typed one is a ``MalformedRecordError``, a newer version a
``NewerFormatError``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Any, TypeVar

from anabranch.errors import ConfigError, RefusedError
from anabranch.state.codecs.errors import MalformedRecordError, NewerFormatError

E = TypeVar("E", bound=Enum)
T = TypeVar("T")

VERSION_FIELD = "v"


def dump(version: int, value: Mapping[str, Any]) -> bytes:
    """The canonical bytes of a versioned value."""
    return dump_plain({VERSION_FIELD: version, **value})


def dump_plain(value: Mapping[str, Any]) -> bytes:
    """The canonical bytes of an object that stands inside of a value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


@contextmanager
def load(place: str, known: int, data: bytes) -> Iterator[Fields]:
    """The fields of a versioned value, to be read in a ``with`` block; what is left unread at its end is refused.

    A value that the model itself refuses becomes a ``MalformedRecordError`` too.
    """
    try:
        value = json.loads(data.decode("utf-8"))
        if b"\\ud" in data.lower():  # half a character, which has no bytes: it could not be written again
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except ValueError as error:
        raise MalformedRecordError(place, f"not JSON: {error}") from error
    except RecursionError:
        raise MalformedRecordError(place, "not JSON of ours: nested too deep") from None
    if not isinstance(value, dict):
        raise MalformedRecordError(place, "not a JSON object")
    fields = Fields(value, place, "")
    version = fields.integer(VERSION_FIELD)
    if version > known:
        raise NewerFormatError(place, version, known)
    if version < 1:
        raise MalformedRecordError(place, f"format version {version} was never written")
    with refusals(place):
        yield fields
        fields.done()


@contextmanager
def refusals(place: str) -> Iterator[None]:
    """Turn what the model refuses about a stored value into a ``MalformedRecordError``."""
    try:
        yield
    except NewerFormatError:
        raise
    except (ConfigError, RefusedError) as error:
        raise MalformedRecordError(place, error.message) from error


def range_fields(offsets: tuple[int, int] | None) -> dict[str, int] | None:
    """Offsets ``[from, to)`` as an object, or null."""
    return None if offsets is None else {"from": offsets[0], "to": offsets[1]}


def read_range(fields: Fields, name: str) -> tuple[int, int] | None:
    """What ``range_fields`` wrote."""
    if fields.is_null(name):
        return None
    with fields.nested(name) as inner:
        return inner.integer("from"), inner.integer("to")


class Fields:
    """A JSON object that is read field by field; ``done`` refuses what was not read."""

    __slots__ = ("_left", "_path", "_place")

    def __init__(self, value: Mapping[str, Any], place: str, path: str) -> None:
        self._left = dict(value)
        self._place = place
        self._path = path

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that nobody has read yet."""
        return tuple(self._left)

    def text(self, name: str) -> str:
        """A string."""
        value: str = self._take(name, str)
        return value

    def optional_text(self, name: str) -> str | None:
        """A string or null."""
        value: str | None = self._take(name, str, type(None))
        return value

    def integer(self, name: str) -> int:
        """An integer; booleans are none."""
        value: int = self._take(name, int)
        return value

    def optional_integer(self, name: str) -> int | None:
        """An integer or null."""
        value: int | None = self._take(name, int, type(None))
        return value

    def is_null(self, name: str) -> bool:
        """Whether a field is null, which is then read; any other is left to be read."""
        if name not in self._left:
            raise self.malformed(name, "missing")
        if self._left[name] is not None:
            return False
        del self._left[name]
        return True

    def has(self, name: str) -> bool:
        """Whether a field is there: one that an older version of the format did not have."""
        return name in self._left

    def number(self, name: str) -> float:
        """An integer or a fraction."""
        return float(self._take(name, int, float))

    def optional_number(self, name: str) -> float | None:
        """A number or null."""
        value = self._take(name, int, float, type(None))
        return None if value is None else float(value)

    def flag(self, name: str) -> bool:
        """A boolean."""
        value: bool = self._take(name, bool)
        return value

    def enum(self, name: str, kind: type[E]) -> E:
        """One of an enumeration's values."""
        value = self.text(name)
        try:
            return kind(value)
        except ValueError:
            raise self.malformed(name, f"{value!r} is not one of {', '.join(m.value for m in kind)}") from None

    def parsed(self, name: str, parse: Callable[[str], T]) -> T:
        """A string that a parser of the model reads."""
        return parse(self.text(name))

    def integers(self, name: str) -> tuple[int, ...]:
        """A list of integers; booleans are none."""
        items = self._take(name, list)
        if not all(type(item) is int for item in items):
            raise self.malformed(name, "not a list of integers")
        return tuple(items)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        items = self._take(name, list)
        if not all(isinstance(item, str) for item in items):
            raise self.malformed(name, "not a list of strings")
        return tuple(items)

    def mapping(self, name: str) -> dict[str, Any]:
        """An object with keys of any name and any values, as it is."""
        value: dict[str, Any] = self._take(name, dict)
        return value

    def text_mapping(self, name: str) -> dict[str, str]:
        """An object whose values are strings."""
        value = self.mapping(name)
        if not all(isinstance(item, str) for item in value.values()):
            raise self.malformed(name, "not an object of strings")
        return value

    @contextmanager
    def nested(self, name: str) -> Iterator[Fields]:
        """An object with fields of its own."""
        inner = Fields(self.mapping(name), self._place, f"{self._path}{name}.")
        yield inner
        inner.done()

    def each(self, name: str) -> Iterator[Fields]:
        """A list of objects with fields of their own."""
        for index, item in enumerate(self._take(name, list)):
            if not isinstance(item, dict):
                raise self.malformed(f"{name}.{index}", "not an object")
            inner = Fields(item, self._place, f"{self._path}{name}.{index}.")
            yield inner
            inner.done()

    def done(self) -> None:
        """Refuse fields that nobody read."""
        if self._left:
            raise self.malformed(min(self._left), "unknown field")

    def malformed(self, name: str, problem: str) -> MalformedRecordError:
        """An error that names a field of this object."""
        return MalformedRecordError(self._place, f"field {self._path}{name}: {problem}")

    def _take(self, name: str, *kinds: type) -> Any:
        if name not in self._left:
            raise self.malformed(name, "missing")
        value = self._left.pop(name)
        if type(value) not in kinds:
            wanted = " or ".join("null" if k is type(None) else k.__name__ for k in kinds)
            raise self.malformed(name, f"{type(value).__name__} where {wanted} is wanted")
        return value
