"""Answers as JSON: what ``-o json`` prints and what the service sends, and the schema of it.

Field names are those of the model, with what it derives added.  What a plan has only for ``apply`` is left out.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Union
from uuid import UUID

from anabranch.model.accounts import Role
from anabranch.model.lane import LaneKey, LaneProgress
from anabranch.model.link import LinkSpec
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.reports import LinkStatus
from anabranch.model.secrets import SecretRef
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.state.codecs.specs import spec_fields

_TEXTS = (LaneKey, TopicId, TopicPartition, SecretRef, UUID, Path)
"""Written as their texts."""
_ALREADY = frozenset({str, int, float, bool, type(None)})
"""JSON values as they are: most of what a plan of ten thousand clients is made of."""
_DERIVED: Mapping[type, Mapping[str, Any]] = {
    LaneProgress: {"lag_records": int | None, "knows_source": bool},
    LinkStatus: {"running": bool, "source_seen_ms": int | None},
}


def plain(value: object) -> Any:
    """A value of the model as JSON values."""
    kind: type = type(value)
    return value if kind in _ALREADY else _writer(kind)(value)


@cache
def _writer(kind: type) -> Callable[[Any], Any]:
    """How values of a type are written, found once: a plan of ten thousand clients has a hundred thousand of some."""
    if issubclass(kind, _TEXTS):
        return str
    if issubclass(kind, LinkSpec):
        return spec_fields
    if issubclass(kind, Role):
        return _word
    if issubclass(kind, Enum):
        return _value
    if issubclass(kind, Reason):
        return _reason
    if dataclasses.is_dataclass(kind):
        names = _names(kind)
        return lambda value: {name: plain(getattr(value, name)) for name in names}
    if issubclass(kind, Mapping):
        return _mapping
    if issubclass(kind, Set):
        return lambda value: sorted((plain(item) for item in value), key=str)
    if issubclass(kind, Sequence) and not issubclass(kind, str | bytes):
        return lambda value: [plain(item) for item in value]
    return lambda value: value


def _word(role: Role) -> str:
    return role.word


def _value(member: Enum) -> Any:
    return member.value


def _mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {key if type(key) is str else str(plain(key)): plain(item) for key, item in value.items()}


@cache
def _names(kind: type) -> tuple[str, ...]:
    return (*(field.name for field in _told(kind)), *_DERIVED.get(kind, ()))


def _told(kind: type) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(kind) if not field.metadata.get("request")]


def _reason(reason: Reason) -> dict[str, str]:
    """A finding has its severity; what forbids has its kind and its location."""
    told = {"what": reason.what, "fix": reason.fix}
    if reason.why is ReasonKind.FINDING:
        return {"severity": reason.severity.value, **told}
    return {"why": reason.why.value, **told, "location": reason.location}


_TEXT = {"type": "string"}
_PRIMITIVES: Mapping[Any, Mapping[str, Any]] = {
    str: _TEXT,
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
}


class Schemas:
    """JSON Schemas of what ``plain`` makes of types, by name, each once; ``begin`` leads a reference."""

    def __init__(self, begin: str = "#/components/schemas/") -> None:
        self._begin = begin
        self._kinds: dict[str, type] = {}
        self.named: dict[str, dict[str, Any]] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        """The schema of a type; raises TypeError for one that ``plain`` does not know."""
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if kind is Any or kind is object:
            return {}
        if kind in _PRIMITIVES:
            return dict(_PRIMITIVES[kind])
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.of(one) for one in arguments]}
        if origin is typing.Literal:
            return {"enum": list(arguments)}
        if origin is tuple and arguments and arguments[-1] is not Ellipsis:
            return self._row(arguments)
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if isinstance(origin, type) and issubclass(origin, Sequence | Set):
            return {"type": "array", "items": self.of(arguments[0])}
        if isinstance(kind, type):
            return self._of_class(kind)
        raise TypeError(f"nothing is known of how {kind!r} is written")

    def _row(self, kinds: Iterable[Any]) -> dict[str, Any]:
        items = [self.of(one) for one in kinds]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}

    def _of_class(self, kind: type) -> dict[str, Any]:
        if issubclass(kind, _TEXTS):
            return dict(_TEXT)
        if kind is LinkSpec:
            return {"type": "object", "additionalProperties": True}
        if kind is Reason:
            return self._named("Reason", kind, _REASON)
        if kind is Role:
            return self._named("Role", kind, {"type": "string", "enum": [role.word for role in Role]})
        if issubclass(kind, tuple):  # a named one is written as its values
            return self._row(typing.get_type_hints(kind).values())
        if issubclass(kind, Enum):
            values = [one.value for one in kind]
            word = "string" if all(isinstance(one, str) for one in values) else "integer"
            return self._named(kind.__name__, kind, {"type": word, "enum": values})
        if not dataclasses.is_dataclass(kind):
            raise TypeError(f"nothing is known of how {kind!r} is written")
        if self._kinds.get(kind.__name__) is not kind:
            made = self._named(kind.__name__, kind, {})  # before its fields, which may be of its own kind
            hints = typing.get_type_hints(kind)
            fields = {field.name: hints[field.name] for field in _told(kind)} | dict(_DERIVED.get(kind, {}))
            self.named[kind.__name__].update(
                {
                    "type": "object",
                    "properties": {name: self.of(field) for name, field in fields.items()},
                    "required": list(fields),
                    "additionalProperties": False,
                }
            )
            return made
        return {"$ref": self._begin + kind.__name__}

    def _named(self, name: str, kind: type, schema: Mapping[str, Any]) -> dict[str, Any]:
        if self._kinds.setdefault(name, kind) is not kind:
            raise TypeError(f"{name} is the name of {kind!r} and of {self._kinds[name]!r}")
        self.named.setdefault(name, dict(schema))
        return {"$ref": self._begin + name}


_REASON: Mapping[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("what", "fix", "severity", "why", "location")},
    "required": ["what", "fix"],
    "additionalProperties": False,
}
