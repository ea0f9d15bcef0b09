"""Tests by the kinds of security that they are about."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known that only these tests use."""
    config.addinivalue_line("markers", "security(*kinds): the kinds of cluster that the test is about")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the kinds of security that a test is not about: that is no skip to be looked into."""
    out = [item for item in items if not is_about(item)]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in out]


def is_about(item: pytest.Item) -> bool:
    """Whether the test names its cluster's kind, or none."""
    marker = item.get_closest_marker("security")
    kind = item.callspec.params.get("cluster", "") if hasattr(item, "callspec") else ""
    return " on " not in kind if marker is None else kind in marker.args
