"""The journals of claims and gap records: appended together and once, told to each caller, folded as they lie."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, cast

import control_samples as samples
import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import ConnectionLostError
from anabranch.kafka.log import LogEntry
from anabranch.protocol.claims import Claim, ClaimKey, ClaimState, FenceKey
from anabranch.protocol.gap_records import GapRecord, OffsetSpan
from anabranch.state.codecs import claims, gap_records, positions
from anabranch.state.codecs.errors import MalformedRecordError
from anabranch.state.topics import journal as module
from anabranch.state.topics.control import ControlLostError
from anabranch.state.topics.journal import GapRecords, Journal
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.unit

LOST = ConnectionLostError("new", "1", "gone")
LANE = samples.CLAIM.lane


class Topic:
    """A topic that appends when it is let: each request as its own gate says, those after them when ``gate`` does.

    ``outcomes`` are what appends come to, one after the other: an error, None for unknown, and 0 where it is known.
    """

    def __init__(self, *outcomes: BaseException | int | None) -> None:
        self.entries: list[LogEntry] = []
        self.outcomes = list(outcomes)
        self.sizes: list[int] = []
        self.gates: list[asyncio.Event] = []
        self.gate = asyncio.Event()
        self.position = self.start = 0

    async def append(self, entries: list[tuple[bytes, bytes | None]], _: int, headers: Any = ()) -> int | None:
        """The offset of the first, None where that is not known."""
        self.sizes.append(len(entries))
        await (self.gates.pop(0) if self.gates else self.gate).wait()
        base = len(self.entries)
        outcome = self.outcomes.pop(0) if self.outcomes else 0
        if isinstance(outcome, BaseException):
            raise outcome
        self.entries += [LogEntry(base + at, key, value, ()) for at, (key, value) in enumerate(entries)]
        return None if outcome is None else base

    async def fold(self, take: Callable[[LogEntry], None]) -> None:
        """Hand out what was not read yet."""
        for entry in self.entries[self.position :]:
            take(entry)
        self.position = len(self.entries)

    @property
    def ids(self) -> list[int]:
        """The producer ids of the claims in it."""
        return [key.producer_id for entry in self.entries if isinstance(key := claims.decode_key(entry.key), ClaimKey)]


def journal(topic: Topic) -> Journal:
    """A journal on a topic."""
    made = Journal(cast(Cluster, None))
    made._log = cast(Any, topic)
    return made


def claim(producer_id: int, **changes: Any) -> Claim:
    """An owner's claim."""
    return replace(samples.CLAIM, producer_id=producer_id, **changes)


def play(scene: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """What comes of a scene, in which nobody waits for ever."""
    return asyncio.run(asyncio.wait_for(scene(), TIMEOUT_S))


async def begun(made: Journal, *producer_ids: int) -> list[asyncio.Task[int | None]]:
    """Callers that append a claim each, and wait."""
    tasks = [asyncio.create_task(made.append(claim(one))) for one in producer_ids]
    await asyncio.sleep(0)
    return tasks


def test_callers_that_come_while_an_append_is_under_way_share_the_next_one() -> None:
    """Each is told the offset of its own claim."""

    async def scene() -> None:
        topic = Topic()
        made = journal(topic)
        first = await begun(made, 1)
        others = await begun(made, 2, 3, 4)
        topic.gate.set()
        assert await asyncio.gather(*first, *others) == [0, 1, 2, 3]
        assert (topic.ids, topic.sizes) == ([1, 2, 3, 4], [1, 3])
        assert await made.append(claim(5)) == 4

    play(scene)


def test_a_request_holds_no_more_claims_than_a_broker_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are in the next ones, and none is left."""
    monkeypatch.setattr(module, "MAX_BATCH", 3)

    async def scene() -> None:
        topic = Topic()
        tasks = await begun(journal(topic), *range(8))
        topic.gate.set()
        assert await asyncio.gather(*tasks) == list(range(8))
        assert max(topic.sizes) == 3 and sum(topic.sizes) == 8 and topic.ids == list(range(8))

    play(scene)


def test_an_append_of_unknown_outcome_is_so_to_each_of_its_callers_and_is_not_made_again() -> None:
    """It may be there: none is taken for one that was not."""

    async def scene() -> None:
        topic = Topic(0, None)
        made = journal(topic)
        first = await begun(made, 1)
        others = await begun(made, 2, 3)
        topic.gate.set()
        assert await asyncio.gather(*first, *others) == [0, None, None]
        assert await made.append(claim(4)) == 3
        assert topic.ids == [1, 2, 3, 4]

    play(scene)


def test_an_append_that_fails_is_told_to_each_of_its_callers() -> None:
    """They know what it means for their lanes; the next append is another one."""

    async def scene() -> None:
        topic = Topic(0, LOST)
        made = journal(topic)
        tasks = [*await begun(made, 1), *await begun(made, 2, 3)]
        topic.gate.set()
        assert await asyncio.gather(*tasks, return_exceptions=True) == [0, LOST, LOST]
        assert (await made.append(claim(4)), topic.ids) == (1, [1, 4])

    play(scene)


def test_a_claim_that_nobody_waits_for_any_more_is_not_appended() -> None:
    """It would look like a successor's, and end the ownership of whoever has the lane."""

    async def scene() -> None:
        topic = Topic()
        made = journal(topic)
        first = await begun(made, 1)
        others = await begun(made, 2, 3)
        others[0].cancel()
        await asyncio.gather(others[0], return_exceptions=True)
        topic.gate.set()
        assert await asyncio.gather(*first, others[1]) == [0, 1]
        assert others[0].cancelled() and topic.ids == [1, 3]

    play(scene)


def test_who_is_cancelled_while_it_appends_for_others_leaves_them_an_unknown_outcome() -> None:
    """They neither wait for ever, nor are they told that nothing was appended; and their claims are not sent again."""

    async def scene() -> None:
        topic = Topic()
        gate = asyncio.Event()
        topic.gates = [gate, asyncio.Event()]
        made = journal(topic)
        first = await begun(made, 1)
        leader, follower = await begun(made, 2, 3)
        gate.set()
        await asyncio.gather(*first)
        while len(topic.sizes) < 2:
            await asyncio.sleep(0)
        assert topic.sizes == [1, 2], "both are on their way"
        leader.cancel()
        found = await asyncio.gather(leader, follower, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError) and found[1] is None
        topic.gate.set()
        assert await made.append(claim(4)) == 1
        assert topic.ids == [1, 4]

    play(scene)


def test_a_journal_tells_what_lies_in_it_in_its_order() -> None:
    """Claims, their releases, notes of fences, and what was forgotten of both."""

    async def scene() -> None:
        topic = Topic()
        topic.gate.set()
        made, reader = journal(topic), journal(topic)
        await made.append(claim(1))
        await made.append(claim(2, owner="run/b", state=ClaimState.RELEASED, end=70))
        await made.note_fences(LANE, [(1, 40), (9, 41)])
        found = await made.read()
        assert found is made.claims
        assert [(one.offset, one.claim) for one in found.claims(LANE)] == [
            (0, claim(1)),
            (1, claim(2, owner="run/b", state=ClaimState.RELEASED, end=70)),
        ]
        assert [found.marker(LANE, one) for one in (1, 2, 9)] == [40, None, 41]
        await made.forget({LANE: [2, 1]})
        found = await made.read()
        assert (found.claims(LANE), found.marker(LANE, 1), found.marker(LANE, 9)) == ((), None, 41)
        assert found.producer_ids(LANE) == {1, 2}
        keys = [claims.decode_key(entry.key) for entry in topic.entries[4:]]
        assert keys == [ClaimKey(LANE, 1), FenceKey(LANE, 1), ClaimKey(LANE, 2)]
        assert all(entry.value is None for entry in topic.entries[4:])
        topic.position = 0
        assert (await reader.read()).claims(LANE) == ()

    play(scene)


@pytest.mark.parametrize("failure", [LOST, None])
def test_what_is_only_of_use_is_lost_without_harm_and_what_must_be_forgotten_is_not(failure: Any) -> None:
    """A note that is lost costs the next owner a marker; who deletes a link is told that its claims are still there."""

    async def scene() -> None:
        topic = Topic()
        topic.gate.set()
        made = journal(topic)
        await made.append(claim(1))
        await made.read()
        topic.outcomes = [failure] * 20
        await made.note_fences(LANE, [(1, 40)])
        await made.forget_some(LANE, [1])
        with pytest.raises((ConnectionLostError, ControlLostError)):
            await made.forget({LANE: [1]})

    play(scene)


def test_gap_records_are_appended_once_and_told_as_good_only_where_they_surely_are() -> None:
    """A lane sends past a gap only then."""
    first = GapRecord("t-0", 9, 50, 0, (OffsetSpan(60, 2), OffsetSpan(70, 1)))
    second = GapRecord("t-0", 9, 53, 1, (OffsetSpan(90, 1),))

    async def scene() -> None:
        topic = Topic()
        topic.gate.set()
        made = GapRecords(cast(Cluster, None))
        made._log = cast(Any, topic)
        assert await made.append([first, second])
        assert topic.sizes == [2]
        found = await made.read()
        assert found is made.gap_records and found.of("t-0", 9) == (first, second)
        topic.outcomes = [None]
        assert not await made.append([second])
        topic.outcomes = [LOST]
        with pytest.raises(ConnectionLostError):
            await made.append([second])
        assert topic.sizes == [2, 1, 1]
        await made.forget([first.key])
        assert (await made.read()).of("t-0", 9) == (second,)

    play(scene)


@pytest.mark.parametrize("key", [b"", b"l/9", b"/9/50", b"l/x/50", b"l/9/-1", b"l/9/\xc2\xb2", b"l/9/"])
def test_a_gap_record_s_key_that_is_none_is_refused(key: bytes) -> None:
    """Only lane/producer-id/sequence is a key."""
    with pytest.raises(MalformedRecordError):
        gap_records.decode_key(key)


def test_a_value_is_read_under_its_own_kind_of_key_only() -> None:
    """What lies under another one's key is not what it says."""
    fence = claims.encode_fence_key(FenceKey(LANE, 1))
    with pytest.raises(MalformedRecordError, match="not a claim's"):
        claims.decode(fence, claims.encode(claim(1)))
    keys = {
        positions.decode_baseline: positions.RoundKey("l"),
        positions.decode_round: positions.SyncKey("l", "g"),
        positions.decode_since: positions.UndoKey("u", "g"),
        positions.decode_undo: positions.BaselineKey("l", "g"),
    }
    for decode, key in keys.items():
        with pytest.raises(MalformedRecordError, match="the key is not"):
            decode(positions.encode_key(key), b"{}")  # type: ignore[operator]
    with pytest.raises(MalformedRecordError, match="not UTF-8"):
        positions.decode_key(b"\xff/mark/g")
