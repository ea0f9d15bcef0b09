"""In which order the end of a comparison is stored."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from anabranch.state.codecs.verified import RunState, VerifyRun
from anabranch.state.topics import verified

pytestmark = pytest.mark.unit


def test_a_run_that_reads_as_done_has_its_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader between two records would else find a comparison that is done and has no verdict."""
    keys: list[bytes] = []

    async def write(_: object, entries: list[tuple[bytes, bytes | None]]) -> None:
        keys.extend(key for key, _ in entries)

    monkeypatch.setattr(verified, "write", write)
    made = verified.VerifiedTopic(cast(Any, None))
    made._log = cast(Any, object())
    done = VerifyRun("old-new", "verify-1", RunState.DONE, 1, 2, 10, 10, 20, 200, 0, {}, {})
    asyncio.run(made.persist(done, [], {"samples": []}))
    assert keys == [b"old-new/report", b"old-new/run"]
