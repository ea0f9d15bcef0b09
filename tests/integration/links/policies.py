"""A naming policy and a filter as another package would register them by entry points."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from anabranch.model import plugins


class LowerNaming:
    """Every name in lower case."""

    def __init__(self, source: str) -> None:
        self.source = source

    def renamed(self, topic: str) -> str:
        """In lower case."""
        return topic.lower()

    def original(self, topic: str) -> str | None:
        """Lower case does not tell."""
        return None


class LengthFilter:
    """Topics with a prefix, up to a length."""

    def __init__(self, longest: int, prefix: str) -> None:
        self._longest = longest
        self._prefix = prefix

    def selects(self, topic: str) -> bool:
        """Whether it is short enough and begins so."""
        return topic.startswith(self._prefix) and len(topic) <= self._longest


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have both found among the installed entry points, beside the real ones."""
    ours = [
        EntryPoint("lower", f"{__name__}:LowerNaming", "anabranch.naming"),
        EntryPoint("length", f"{__name__}:LengthFilter", "anabranch.filters"),
    ]
    real = plugins.entry_points

    def entry_points(*, group: str) -> EntryPoints:
        return EntryPoints([*real(group=group), *(point for point in ours if point.group == group)])

    monkeypatch.setattr(plugins, "entry_points", entry_points)
