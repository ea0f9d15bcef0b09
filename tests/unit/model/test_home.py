"""Paths as people type them: also with a home that nobody has."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.model.home import expanded
from anabranch.storage.opening import open_files

pytestmark = pytest.mark.unit


def test_a_home_is_found_and_one_of_nobody_is_a_name_like_any_other() -> None:
    """A request of the service may name anything; what it names is looked at, and not there."""
    assert expanded("~/a") == Path.home() / "a"
    assert expanded("~nobody-of-that-name/a") == Path("~nobody-of-that-name/a")
    assert open_files("~\x81ãû]").root == "~\x81ãû]"
