"""Whether the head of a target log can be padded, asked of brokers that do not know the topic yet."""

import asyncio
import uuid
from collections.abc import Iterable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.copier.target import head_padding
from anabranch.copier.target.partition import TargetPartition
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka import admin, produce
from anabranch.kafka.cluster import Cluster, ClusterMetadata, TopicMeta
from anabranch.kafka.connection import Transport
from anabranch.kafka.errors import BrokerRefusedError
from anabranch.model.clock import now_ms
from anabranch.model.lane import LaneAssignment, LaneKey, LaneMode
from anabranch.model.link import ModePolicy
from anabranch.model.start import LaneStart
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.protocol.claims import Claim, ClaimState
from anabranch.protocol.endings import LaneStopped, OwnershipEnded, refusal
from anabranch.protocol.ownership import Ownership
from anabranch.records.header import read_header

pytestmark = pytest.mark.unit

TOPIC, PLACE = TopicId(uuid.UUID(int=9)), TopicPartition("t", 0)


class Starting(Cluster):
    """A cluster whose broker has just started, and knows no topic."""

    def __init__(self) -> None:
        super().__init__(Transport("starting", "User:ANONYMOUS"), [])

    async def metadata(self, topics: Iterable[str] | None, operations: bool = False) -> ClusterMetadata:
        nothing = {one: TopicMeta(one, uuid.UUID(int=0), False, 3, {}, None) for one in topics or ()}
        return ClusterMetadata("id", 1, {}, nothing)


def test_a_broker_that_does_not_know_the_topic_yet_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one that was asked for the configs did: that ends this attempt, and not the run."""

    async def configs(*_: Any) -> dict[str, dict[str, admin.Config]]:
        return {"t": {"cleanup.policy": admin.Config("delete", False)}}

    monkeypatch.setattr(admin, "topic_configs", configs)
    lane = LaneAssignment(LaneKey("l", TOPIC, 0), PLACE, PLACE, TOPIC, LaneStart(), ModePolicy.AUTO)
    with pytest.raises(BrokerRefusedError):
        asyncio.run(head_padding.why_not(Starting(), lane, 5))


def test_padding_that_is_cancelled_leaves_no_batch_in_flight() -> None:
    """One alone is in flight until the target is known to take it: it must not be appended behind the next takeover."""
    aborted: list[str] = []

    async def play() -> None:
        sent = asyncio.Event()

        def submit(*_: Any) -> asyncio.Future[Any]:
            sent.set()
            return asyncio.get_running_loop().create_future()

        wire = SimpleNamespace(offers=lambda _: 9, submit=submit, abort=aborted.append)
        place = SimpleNamespace(connection=wire, lane="l", topic="t", topic_id=TOPIC.uuid, partition=0)
        claim = Claim("l", 1, LaneMode.IDENTITY, "me", None, now_ms(), ClaimState.CLAIMED, 9, 0)
        ownership = Ownership("l", LaneMode.IDENTITY, claim, 0, 1, 86_400_000, 0, 0, 0, 0, None, frozenset(), "")
        gate = WriteGate(lambda: 0.0)
        gate.renew(0.0)
        task = asyncio.create_task(head_padding.pad(cast(TargetPartition, place), ownership, gate, lambda _: None))
        await sent.wait()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(play())
    assert len(aborted) == 1


async def done(frame: Any) -> Any:
    """An answer that is there."""
    return frame


@pytest.mark.parametrize(("start", "counts"), [(9, [4, 4, 1]), (8, [4, 4]), (1, [1])])
def test_the_head_is_padded_up_to_the_lane_s_start_and_not_further(
    start: int, counts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lane's first record belongs there; each empty one has the sequence that is its offset."""
    sent: list[tuple[int, int]] = []
    frame = SimpleNamespace(release=lambda: None)

    def submit(_: Any, batches: list[produce.Outgoing]) -> Any:
        header = read_header(bytes(batches[0].batch))
        sent.append((header.base_sequence, header.count))
        return done(frame)

    def parse(*_: Any) -> tuple[float, list[produce.Produced]]:
        return 0.0, [produce.Produced("t", 0, 0, sent[len(told)][0], 0, "")]

    monkeypatch.setattr(head_padding, "PAD_BATCH", 4)
    monkeypatch.setattr(produce, "submit", submit)
    monkeypatch.setattr(produce, "parse_with_throttle", parse)
    told: list[str] = []

    async def play() -> None:
        wire = SimpleNamespace(offers=lambda _: 9, throttled=lambda _: None, abort=lambda _: None)
        place = SimpleNamespace(connection=wire, lane="l", topic="t", topic_id=TOPIC.uuid, partition=0)
        claim = Claim("l", 1, LaneMode.IDENTITY, "me", None, now_ms(), ClaimState.CLAIMED, start, 0)
        ownership = Ownership("l", LaneMode.IDENTITY, claim, 0, 1, 86_400_000, 0, 0, 0, 0, None, frozenset(), "")
        gate = WriteGate(lambda: 0.0)
        gate.renew(0.0)
        await head_padding.pad(cast(TargetPartition, place), ownership, gate, told.append)

    asyncio.run(play())
    assert [count for _, count in sent] == counts
    assert [sequence for sequence, _ in sent] == [sum(counts[:at]) for at in range(len(counts))]
    assert told[-1] == f"padding the head of the target log: {start} of {start} offsets"


@pytest.mark.parametrize(
    ("first", "code", "asked", "raised"),
    [
        (9, 0, [], None),
        (8, 0, [9], None),
        (0, 6, [9], OwnershipEnded),
        (0, 29, [9], LaneStopped),
    ],
)
def test_padding_is_gone_before_the_lane_goes_on(
    first: int, code: int, asked: list[int], raised: type[Exception] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the broker does not delete it, a reader of the target would take it for records."""
    deleted: list[int] = []

    async def log_start(*_: Any, **more: Any) -> Any:
        return SimpleNamespace(code=0, offset=first)

    async def delete(connection: Any, topic: str, partition: int, before: int) -> int:
        deleted.append(before)
        return code

    def check(found: int) -> None:
        if found:
            raise refusal("l", found, 9)

    monkeypatch.setattr(head_padding, "list_offset", log_start)
    monkeypatch.setattr(head_padding, "delete_records", delete)
    place = SimpleNamespace(connection=None, lane="l", topic="t", partition=0, leader_epoch=1, check=check)
    with nullcontext() if raised is None else pytest.raises(raised):
        asyncio.run(head_padding.cut(cast(TargetPartition, place), 9))
    assert deleted == asked
