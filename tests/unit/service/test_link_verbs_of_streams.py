"""What is done with a link that is started, stopped or started again as a stream: by the verbs of links, in order."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.model.plans import PlanChangedError
from anabranch.operations.streams.changing import RunStreamPlan, StreamVerb
from anabranch.service.reach import Reach
from anabranch.service.verbs import stream_links
from anabranch.streams.state.results import StateChoice
from anabranch.streams.states import StreamState

pytestmark = pytest.mark.unit
REACH = cast(Reach, None)


class Noted:
    """A verb of links whose plans and applications are noted."""

    def __init__(self, word: str, told: list[str]) -> None:
        self._word, self._told = word, told

    async def plan(self, _: Reach, request: Any) -> Any:
        self._told.append(f"plan {self._word} {request.link}")
        return SimpleNamespace(hash=self._word)

    async def apply(self, _: Reach, request: Any, planned: Any) -> Any:
        self._told.append(f"{planned.hash} {request.link} to {request.target}")
        return SimpleNamespace(run="run-1")


@pytest.mark.parametrize(
    ("verb", "hash_", "wanted", "done"),
    [
        (StreamVerb.START, "run", ("running", "run-1"), ["plan run a-b", "run a-b to b"]),
        (StreamVerb.STOP, "stop", ("stopped", ""), ["plan stop a-b", "stop a-b to b"]),
        (
            StreamVerb.RESTART,
            "stop",
            ("running", "run-1"),
            ["plan stop a-b", "stop a-b to b", "plan run a-b", "run a-b to b"],
        ),
    ],
)
def test_a_link_is_driven_by_its_own_verbs(
    verb: StreamVerb, hash_: str, wanted: tuple[str, str], done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart ends the runs before it plans a start; a plan that is another one by now does nothing."""
    told: list[str] = []
    monkeypatch.setattr(stream_links, "_RUN", Noted("run", told))
    monkeypatch.setattr(stream_links, "_STOP", Noted("stop", told))
    planned = RunStreamPlan(
        "a-b", verb, StreamState.RUNNING, 0, StateChoice.REFUSE, "", "", (), hash=hash_, revision=0, target="b"
    )
    report = asyncio.run(stream_links.apply(REACH, planned))
    assert ((report.wanted, report.run), report.target, told) == (wanted, "b", done)
    told.clear()
    with pytest.raises(PlanChangedError):
        asyncio.run(stream_links.apply(REACH, replace(planned, hash="another")))
    assert told == [done[0]]
