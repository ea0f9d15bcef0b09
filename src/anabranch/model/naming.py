"""What a source topic is called on the target, and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, cast

from anabranch.errors import InvalidFieldError, RefusedError
from anabranch.model.plugins import PluginSpec, build
from anabranch.model.topics import check_name

GROUP = "anabranch.naming"


class NamingPolicy(Protocol):
    """What an entry point of group ``anabranch.naming`` builds from ``source`` (the source's alias) and its
    options.

    Invariant: ``original(renamed(t)) == t`` wherever ``original`` answers for ``renamed(t)``.
    """

    def renamed(self, topic: str) -> str:
        """The target's name for a source topic; not yet checked for legality."""

    def original(self, topic: str) -> str | None:
        """The source's name for a target topic; None where this policy cannot have made that name."""


class IdentityNaming:
    """The same name on both sides."""

    __slots__ = ()

    def __init__(self, source: str) -> None:
        """Take and ignore the source's alias, as every policy is built alike."""

    def renamed(self, topic: str) -> str:
        """The name itself."""
        return topic

    def original(self, topic: str) -> str | None:
        """The name itself."""
        return topic


class PrefixNaming:
    """``<source><separator><topic>``: MirrorMaker 2's DefaultReplicationPolicy, whose separator is a dot."""

    __slots__ = ("_prefix",)

    def __init__(self, source: str, separator: str = ".") -> None:
        self._prefix = source + separator

    def renamed(self, topic: str) -> str:
        """The name after the prefix."""
        return self._prefix + topic

    def original(self, topic: str) -> str | None:
        """What follows the prefix; None without it."""
        return topic.removeprefix(self._prefix) or None if topic.startswith(self._prefix) else None


class TemplateNaming:
    """Any text with ``{topic}`` once and ``{source}`` as often as wanted, such as ``{source}-{topic}``."""

    __slots__ = ("_after", "_before")

    def __init__(self, source: str, template: str) -> None:
        if template.count("{topic}") != 1:
            raise InvalidFieldError(
                "naming", "template", f"{template!r} must hold {{topic}} exactly once", "for example {source}-{topic}"
            )
        filled = template.replace("{source}", source)
        self._before, self._after = filled.split("{topic}")
        rest = self._before + self._after
        if "{" in rest or "}" in rest:
            raise InvalidFieldError(
                "naming",
                "template",
                f"{template!r} holds an unknown field",
                "only {source} and {topic} are filled in",
            )

    def renamed(self, topic: str) -> str:
        """The template, filled in."""
        return f"{self._before}{topic}{self._after}"

    def original(self, topic: str) -> str | None:
        """What stands at ``{topic}``; None where the text around it differs or nothing stands there."""
        if not (topic.startswith(self._before) and topic.endswith(self._after)):
            return None
        end = len(topic) - len(self._after)
        return topic[len(self._before) : end] or None if end > len(self._before) else None


class OriginalNaming:
    """The way back of another policy: what that one makes of names of ``of_source`` has its original name again.

    Topics that the other policy cannot have made keep their names.
    """

    __slots__ = ("_of",)

    def __init__(self, source: str, of_source: str, of: str, **options: Any) -> None:
        """Take and ignore the source's own alias."""
        del source
        self._of = load(PluginSpec(of, options), of_source)

    def renamed(self, topic: str) -> str:
        """What the other policy made this name of."""
        original = self._of.original(topic)
        return topic if original is None else original

    def original(self, topic: str) -> str | None:
        """What the other policy makes of it."""
        return self._of.renamed(topic)


BUILTIN = {
    "identity": IdentityNaming,
    "prefix": PrefixNaming,
    "template": TemplateNaming,
    "original": OriginalNaming,
}


@dataclass(eq=False)
class NameCollisionError(RefusedError):
    """Two source topics would be copied into one target topic."""

    target: str
    sources: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"topics {', '.join(self.sources)} would all be called {self.target!r} on the target"

    _hint = "exclude all but one of them, or choose another naming policy"


def load(spec: PluginSpec, source: str) -> NamingPolicy:
    """The policy that a spec names for a source of that alias; raises ``UnknownPluginError``,
    ``InvalidFieldError``.
    """
    return cast(NamingPolicy, build(GROUP, spec, BUILTIN, source=source))


def rename_all(policy: NamingPolicy, topics: Iterable[str]) -> dict[str, str]:
    """Source name -> target name, all legal and all different; raises ``IllegalTopicNameError``,
    ``NameCollisionError``.
    """
    names: dict[str, str] = {}
    taken: dict[str, str] = {}
    for topic in topics:
        name = check_name(policy.renamed(topic), source=topic)
        if name in taken:
            raise NameCollisionError(name, (taken[name], topic))
        taken[name] = topic
        names[topic] = name
    return names
