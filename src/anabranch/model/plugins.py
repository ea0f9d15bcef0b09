"""A named choice with options, such as ``prefix`` with a separator, and how it becomes an object.

Built-in kinds come first; other kinds are looked up in the entry points of a group, so that a wheel beside
this one can add naming policies (``anabranch.naming``) and topic filters (``anabranch.filters``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from inspect import signature
from typing import Any

from anabranch.errors import ConfigError, InvalidFieldError


@dataclass(frozen=True, slots=True)
class PluginSpec:
    """The kind and its options; options are JSON values."""

    kind: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(eq=False)
class UnknownPluginError(ConfigError):
    """A kind that is neither built in nor registered by an installed package."""

    group: str
    kind: str
    known: tuple[str, ...]

    _message = "{group}: no {kind!r} is installed here"

    @property
    def hint(self) -> str:
        return f"use one of {', '.join(self.known)}, or install the package that registers it"


def build(
    group: str, spec: PluginSpec, builtin: Mapping[str, Callable[..., Any]], **context: Any
) -> Any:  # the caller names the protocol that the object must keep
    """Call the kind's factory with its options and ``context``; raises ``UnknownPluginError``,
    ``InvalidFieldError``.
    """
    factory: Callable[..., Any] | None = builtin.get(spec.kind)
    if factory is None:
        found = entry_points(group=group)
        if spec.kind not in found.names:
            raise UnknownPluginError(group, spec.kind, tuple(sorted(set(builtin) | set(found.names))))
        factory = found[spec.kind].load()
    place = f"{group} {spec.kind!r}"
    _check_options(place, factory, spec.options, context)
    try:
        return factory(**context, **spec.options)
    except TypeError as error:
        raise InvalidFieldError(place, "options", str(error).rpartition("() ")[2]) from error


def _check_options(
    place: str, factory: Callable[..., Any], options: Mapping[str, Any], context: Mapping[str, Any]
) -> None:
    """Raise ``InvalidFieldError`` for an option that the factory does not take, or one that is missing."""
    try:
        taken = signature(factory).parameters
    except (TypeError, ValueError):  # one that does not say what it takes
        return
    if any(one.kind is one.VAR_KEYWORD for one in taken.values()):
        return
    own = {name: one for name, one in taken.items() if name not in context}
    hint = f"it takes: {', '.join(own)}" if own else "it takes none"
    for name in options:
        if name not in own:
            raise InvalidFieldError(place, "options", f"there is no option {name!r}", hint)
    for name, one in own.items():
        if one.default is one.empty and one.kind is not one.VAR_POSITIONAL and name not in options:
            raise InvalidFieldError(place, "options", f"option {name!r} is missing", hint)
