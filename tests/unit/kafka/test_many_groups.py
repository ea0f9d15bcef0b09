"""Many groups are asked for at once: each at its coordinator, and again while that did nothing yet."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from kafka.protocol.admin import DeleteGroupsRequest, DeleteGroupsResponse
from kafka.protocol.metadata import FindCoordinatorRequest

from anabranch.kafka.errors import BrokerRefusedError, ConnectionLostError, PermissionDeniedError
from anabranch.kafka.groups import IllegalGroupNameError, coordinators
from anabranch.kafka.groups.coordinators import answers, ask_group, ask_groups, together
from tests.unit.kafka.scripted import COORDINATOR, Asked, Scripted, names_in
from tests.unit.kafka.scripted import coordinators as told

pytestmark = pytest.mark.unit

PLACES = {"a": 1, "b": 2, "c": 1, "d": 1}
LOST = ConnectionLostError("scripted", "1", "gone")


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinators, "_PAUSE_S", 0.0)


def placed(asked: Asked) -> Any:
    """Each group at its place."""
    if asked.request.API_KEY == COORDINATOR:
        return told(asked, {name: PLACES[name] for name in names_in(asked)})
    return None


class Told:
    """Who asked which broker for which groups; each call is answered by the next of ``script``, then by all is told."""

    def __init__(self, *script: Mapping[str, int] | ConnectionLostError) -> None:
        self.calls: list[tuple[int, list[str]]] = []
        self._script = list(script)

    async def __call__(self, node: int, names: Sequence[str]) -> Mapping[str, int]:
        self.calls.append((node, list(names)))
        found = self._script.pop(0) if self._script else {}
        if isinstance(found, ConnectionLostError):
            raise found
        return found


@pytest.mark.parametrize("newest", [3, 4], ids=["before KIP-699", "KIP-699"])
def test_each_group_is_asked_for_once_at_its_coordinator(newest: int) -> None:
    """At most so many at once, none twice, whatever names are given twice; old brokers tell of one group at a time."""
    cluster, asked = Scripted(placed, versions={COORDINATOR: (0, newest)}), Told()
    asyncio.run(ask_groups(cluster, ["a", "b", "a", "c", "d"], 2, asked, "Describe"))
    assert sorted(asked.calls) == [(1, ["a", "c"]), (1, ["d"]), (2, ["b"])]


def test_no_group_is_nothing_to_ask() -> None:
    """Nobody is asked."""
    asked = Told()
    asyncio.run(ask_groups(Scripted(placed), [], 2, asked, "Describe"))
    assert asked.calls == []


@pytest.mark.parametrize("newest", [3, 4], ids=["before KIP-699", "KIP-699"])
def test_groups_more_than_one_request_names_are_all_found(newest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In chunks, some on their way at once: the last one may be smaller."""
    monkeypatch.setattr(coordinators, "_FOUND_AT_ONCE", 3)
    monkeypatch.setattr(coordinators, "_IN_FLIGHT", 2)
    names = [f"g{number}" for number in range(16)]
    sizes = []

    def answer(asked: Asked) -> Any:
        if asked.request.API_KEY == COORDINATOR:
            sizes.append(len(names_in(asked)))
        return None

    told_of = Told()
    asyncio.run(ask_groups(Scripted(answer, versions={COORDINATOR: (0, newest)}), names, 100, told_of, "Describe"))
    assert told_of.calls == [(1, names)]
    assert sizes == ([1] * 16 if newest < 4 else [3] * 5 + [1])


@pytest.mark.parametrize("first", [{"c": 14}, {"c": 15}, {"c": 16}])
def test_only_the_groups_of_which_nothing_was_told_are_asked_for_again(first: Mapping[str, int]) -> None:
    """The others' answers stand."""
    asked = Told(first)
    asyncio.run(ask_groups(Scripted(placed), ["a", "c"], 2, asked, "Describe"))
    assert asked.calls == [(1, ["a", "c"]), (1, ["c"])]


def test_groups_of_a_lost_connection_are_asked_for_again_where_they_are_by_then() -> None:
    """A chunk whose answer is lost, and no other one; its coordinator may be another broker now."""
    moved = dict(PLACES)

    def answer(asked: Asked) -> Any:
        if asked.request.API_KEY == COORDINATOR:
            return told(asked, {name: moved[name] for name in names_in(asked)})
        return None

    class Moving(Told):
        async def __call__(self, node: int, names: Sequence[str]) -> Mapping[str, int]:
            try:
                return await super().__call__(node, names)
            except ConnectionLostError:
                moved["c"] = 2
                raise

    asked = Moving({}, LOST)
    asyncio.run(ask_groups(Scripted(answer), ["a", "c", "d"], 1, asked, "Describe"))
    assert asked.calls == [(1, ["a"]), (1, ["c"]), (1, ["d"]), (2, ["c"])]


@pytest.mark.parametrize("code", [14, 15, 16])
@pytest.mark.parametrize("newest", [3, 4], ids=["before KIP-699", "KIP-699"])
def test_a_group_without_a_coordinator_is_looked_for_again(code: int, newest: int) -> None:
    """While the others are asked for."""
    looked: list[str] = []

    def answer(asked: Asked) -> Any:
        if asked.request.API_KEY != COORDINATOR:
            return None
        names = names_in(asked)
        looked.extend(names)
        return told(asked, {name: -code if name == "b" and looked.count("b") == 1 else PLACES[name] for name in names})

    asked = Told()
    asyncio.run(ask_groups(Scripted(answer, versions={COORDINATOR: (0, newest)}), ["a", "b"], 9, asked, "Describe"))
    assert asked.calls == [(1, ["a"]), (2, ["b"])]


@pytest.mark.parametrize(
    ("code", "error"), [(30, PermissionDeniedError), (24, IllegalGroupNameError), (42, BrokerRefusedError)]
)
@pytest.mark.parametrize("newest", [3, 4], ids=["before KIP-699", "KIP-699"])
def test_a_coordinator_that_is_not_told_is_an_error_that_names_the_group(
    code: int, error: type[Exception], newest: int
) -> None:
    """At once: nobody waits for what will not change, and no group is left out without a word."""

    def answer(asked: Asked) -> Any:
        if asked.request.API_KEY != COORDINATOR:
            return None
        return told(asked, {name: -code if name == "b" else 1 for name in names_in(asked)})

    asked = Told()
    cluster = Scripted(answer, versions={COORDINATOR: (0, newest)})
    with pytest.raises(error, match="b"):
        asyncio.run(ask_groups(cluster, ["a", "b"], 9, asked, "Describe"))
    assert asked.calls == []


def test_a_group_of_which_nothing_is_told_for_long_is_an_error_with_the_last_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Never an answer that lacks it."""
    monkeypatch.setattr(coordinators, "TIMEOUT_S", -1.0)
    with pytest.raises(BrokerRefusedError, match="group c") as refused:
        asyncio.run(ask_groups(Scripted(placed), ["a", "c"], 9, Told({"c": 14}), "Describe"))
    assert refused.value.code == 14


def test_a_coordinator_that_is_away_for_long_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What happened, and not the code that stands for it."""
    monkeypatch.setattr(coordinators, "TIMEOUT_S", -1.0)
    with pytest.raises(ConnectionLostError, match="gone"):
        asyncio.run(ask_groups(Scripted(placed), ["a", "c"], 9, Told(LOST), "Describe"))


def test_a_lost_answer_about_one_group_is_told_and_not_asked_for_again() -> None:
    """Its outcome is unknown, so that the caller decides; but the coordinator is looked for again the next time."""
    places, asked = [1, 2], []

    def answer(one: Asked) -> Any:
        if one.request.API_KEY == COORDINATOR:
            return told(one, {"g": places.pop(0)})
        asked.append(one.node)
        if len(asked) == 1:
            raise LOST
        row = DeleteGroupsResponse.DeletableGroupResult
        return DeleteGroupsResponse(results=[row(group_id="g", error_code=0)])

    cluster, request = Scripted(answer), DeleteGroupsRequest(groups_names=["g"])

    async def ask() -> int:
        with pytest.raises(ConnectionLostError):
            await ask_group(cluster, "g", request, code_of)
        assert asked == [1]
        return code_of(await ask_group(cluster, "g", request, code_of))

    assert asyncio.run(ask()) == 0
    assert asked == [1, 2]


def code_of(answer: Any) -> int:
    """Of the one group."""
    return int(answer.results[0].error_code)


@pytest.mark.parametrize("code", [14, 15, 16])
def test_a_coordinator_that_did_nothing_for_long_has_its_answer_told(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is the caller's; and where it coordinates no longer, nobody goes on asking it."""
    monkeypatch.setattr(coordinators, "TIMEOUT_S", -1.0)
    row = DeleteGroupsResponse.DeletableGroupResult

    def answer(one: Asked) -> Any:
        if one.request.API_KEY == COORDINATOR:
            looked.append(1)
            return None
        return DeleteGroupsResponse(results=[row(group_id="g", error_code=code)])

    looked: list[int] = []
    cluster, request = Scripted(answer), DeleteGroupsRequest(groups_names=["g"])

    async def ask() -> list[int]:
        return [code_of(await ask_group(cluster, "g", request, code_of)) for _ in range(2)]

    assert asyncio.run(ask()) == [code, code]
    assert len(cluster.asked) == len(looked) == 2


def test_calls_that_run_together_all_end_before_the_first_error_is_raised() -> None:
    """None goes on behind its caller's back."""
    done = []

    async def call(number: int) -> None:
        for _ in range(number):
            await asyncio.sleep(0)
        done.append(number)
        if number in {1, 2}:
            raise BrokerRefusedError("scripted", "Describe", f"call {number}", 42)

    with pytest.raises(BrokerRefusedError, match="call 2"):
        asyncio.run(together(call(number) for number in (3, 2, 1, 5)))
    assert sorted(done) == [1, 2, 3, 5]


def test_answers_are_in_the_order_of_their_requests_and_one_that_fails_is_raised() -> None:
    """Not given for an answer."""

    def answer(one: Asked) -> Any:
        if one.request.key == "lost":
            raise LOST
        return told(one, {one.request.key: int(one.request.key)})

    def asked(*keys: str) -> Any:
        requests = [FindCoordinatorRequest(key=key, key_type=0) for key in keys]
        return asyncio.run(answers(Scripted(answer), requests, 3))

    assert [one.node_id for one in asked("3", "1", "2")] == [3, 1, 2]
    with pytest.raises(ConnectionLostError):
        asked("3", "lost", "2")
