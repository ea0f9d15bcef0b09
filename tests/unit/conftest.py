"""The command line is built from its functions' signatures once, and not for each line that a test types."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest
import typer.main
import typer.testing


@pytest.fixture(scope="session", autouse=True)
def _one_command() -> Iterator[None]:
    built = functools.lru_cache(typer.main.get_command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", built)
        patch.setattr(typer.testing, "_get_command", built)
        yield
