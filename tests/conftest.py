"""The order of the suite: what is quick and pure first, what kills processes last."""

from __future__ import annotations

import pytest

_ORDER = ("unit", "contract", "integration", "fault")


def _rank(item: pytest.Item) -> int:
    return max((_ORDER.index(mark.name) for mark in item.iter_markers() if mark.name in _ORDER), default=-1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by marker; a test without one is a mistake, since nobody could choose it."""
    unmarked = sorted({item.nodeid.partition("::")[0] for item in items if _rank(item) < 0})
    if unmarked:
        raise pytest.UsageError(f"no marker of {', '.join(_ORDER)} in: {', '.join(unmarked)}")
    items.sort(key=_rank)
