"""The service beside two simulated clusters with a link between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from qa.service import Served, serving, until
from tests.unit.link_lab import Lab, lab


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters."""
    with lab() as made:
        yield made


@pytest.fixture
def served(both: Lab, tmp_path: Path) -> Iterator[Served]:
    """The service, once it has read them."""
    contexts = {"old": both.here.context(), "new": both.there.context()}
    with serving(str(tmp_path / "store.db"), contexts, tmp_path, roots=(str(tmp_path / "checkpoints"),)) as made:
        until(lambda: made.instance.acting.acts and len(made.instance.board.seen) == 2)
        yield made


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Served]:
    """The service without any cluster."""
    with serving(str(tmp_path / "store.db"), {}, tmp_path) as made:
        until(lambda: made.instance.acting.acts)
        yield made
