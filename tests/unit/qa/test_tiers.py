"""What the suite tries a second time."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.test


def test_nothing_below_unit_is_tried_again(request: pytest.FixtureRequest) -> None:
    """A failure there is the product's or the test's: this one would be tried again, like all others of its tier."""
    here = [item for item in request.session.items if item.nodeid.startswith("tests/unit/")]
    assert request.node in here
    assert [item.nodeid for item in here if item.get_closest_marker("flaky")] == []
