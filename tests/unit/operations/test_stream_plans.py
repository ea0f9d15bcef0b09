"""Plans of streams: the hash covers what a plan depends on, and nothing that changes by itself."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from anabranch.operations.streams import changing
from anabranch.operations.streams.changing import QueryBack, StreamVerb, plan_run
from anabranch.streams.states import StreamState, StreamWanted

pytestmark = pytest.mark.unit


class OneStream:
    """The store, of one stream that runs."""

    def get(self, _: str) -> Any:
        """The stream."""
        return SimpleNamespace(state=StreamState.RUNNING, wanted=StreamWanted.RUNNING, published=3, revision=7)

    def open_run(self, _: str) -> Any:
        """Its run."""
        return SimpleNamespace(id="r", version=3)


def test_a_stream_that_reads_on_changes_no_plan_that_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many records lie between grows by itself; where a query goes back to does not."""

    def hash_of(batch: int, records: int | None) -> str:
        monkeypatch.setattr(changing, "_back", lambda *_: (QueryBack("q", batch, records),))
        stored: Any = OneStream()
        return asyncio.run(plan_run(stored, "pv", StreamVerb.RESTART, checkpoint="friday")).hash

    assert hash_of(5, 10) == hash_of(5, 2000) == hash_of(5, None) != hash_of(6, 10)
