"""What is wrong with control topics is told with its severity and the way out; what was verified is folded whole."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import control_samples as samples
import pytest

from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster, ClusterMetadata, PartitionMeta, TopicMeta
from anabranch.kafka.connection import Transport
from anabranch.kafka.errors import UNKNOWN_TOPIC
from anabranch.kafka.log import LogEntry
from anabranch.model.reasons import Reason, Severity
from anabranch.model.topics import TopicPartition
from anabranch.state.codecs import topics, verified
from anabranch.state.codecs.verified import LaneVerified, RunState, VerifyRecordKind, VerifyRun
from anabranch.state.topics import upkeep as module
from anabranch.state.topics.upkeep import ControlTopicsError, look_after
from anabranch.state.topics.verified import VerifiedTopic

pytestmark = pytest.mark.unit

NAMES = (topics.LINKS, topics.CLAIMS, topics.PROGRESS)


class Told(Cluster):
    """Three brokers that tell of control topics; ``later`` is what they say when asked again."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(Transport("new", "User:me"), [])
        self.missing: set[str] = set()
        self.later: set[str] | None = None
        self.partitions = dict.fromkeys(NAMES, 1)
        self.settings = {name: dict(topics.configs(3)) for name in NAMES}
        self.ends = dict.fromkeys(NAMES, (0, 5))
        self.asked = 0
        monkeypatch.setattr(module, "_LOOK_S", 0.0)
        monkeypatch.setattr(admin, "topic_configs", self.configs)
        monkeypatch.setattr(module, "ends", self.ends_of)

    async def metadata(self, names: Any = None, operations: bool = False) -> ClusterMetadata:
        self.asked += 1
        missing = self.missing if self.asked == 1 or self.later is None else self.later
        found = {}
        for name in names:
            parts = {at: PartitionMeta(1, 0, (1, 2, 3), (1,), 0) for at in range(self.partitions[name])}
            found[name] = TopicMeta(name, uuid.UUID(int=1), False, UNKNOWN_TOPIC if name in missing else 0, parts, None)
        return ClusterMetadata("a", 1, {}, found)

    async def configs(self, _: Cluster, names: Any) -> Any:
        """The settings of topics, as far as they may be told."""
        return {
            name: {key: SimpleNamespace(value=value) for key, value in self.settings[name].items()}
            for name in names
            if name in self.settings
        }

    async def ends_of(self, _: Cluster, partitions: Sequence[TopicPartition]) -> Any:
        """Where logs begin and end."""
        return {at: self.ends[at.topic] for at in partitions}

    def look(self) -> list[tuple[Severity, str, str]]:
        """What is found: severity, what and the way out."""
        return [(one.severity, one.what, one.fix) for one in asyncio.run(look_after(self, NAMES))]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Topics as they are made."""
    return Told(monkeypatch)


def test_topics_as_they_are_made_are_fine_and_none_at_all_is_a_beginning(told: Told) -> None:
    """A target that nobody has used is no finding."""
    assert told.look() == []
    told.missing, told.asked = set(NAMES), 0
    assert told.look() == [] and told.asked == 1


@pytest.mark.parametrize("end", [0, 5])
def test_a_topic_that_is_missing_beside_others_was_deleted_if_these_were_ever_written_to(
    told: Told, end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else whoever made them was ended before all were there."""
    told.missing, told.ends = {topics.CLAIMS}, {topics.LINKS: (0, end), topics.PROGRESS: (0, 0)}
    told.later = {topics.CLAIMS}
    monotonic = iter(range(0, 100, 2))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(monotonic)))
    found = told.look()
    assert told.asked > 1
    if not end:
        assert found == []
        return
    ((severity, what, fix),) = found
    assert severity is Severity.ERROR and f"{topics.CLAIMS} is missing" in what and "link accept" in fix


def test_a_topic_that_was_made_just_now_is_waited_for(told: Told) -> None:
    """Not every broker knows it yet."""
    told.missing, told.later = {topics.CLAIMS}, set()
    assert told.look() == [] and told.asked == 2


def test_settings_that_lose_records_are_errors_and_weaker_ones_warnings(told: Told) -> None:
    """Each with what it must be, and the command; stronger ones are nobody's business."""
    told.settings[topics.CLAIMS] |= {
        "cleanup.policy": "compact,delete",
        "max.message.bytes": "1048587",
        "min.insync.replicas": "1",
        "delete.retention.ms": "604800001",
    }
    found = told.look()
    assert [(severity, what.split(" has ")[1].split(",")[0]) for severity, what, _ in found] == [
        (Severity.ERROR, "cleanup.policy=compact"),
        (Severity.ERROR, "max.message.bytes=1048587"),
        (Severity.WARNING, "min.insync.replicas=1"),
    ]
    assert found[0][2] == f"kafka-configs --alter --topic {topics.CLAIMS} --add-config cleanup.policy=compact"
    assert "must have 1048588: it loses records that links need" in found[1][1]
    assert "must have 2: it is made with more" in found[2][1]


def test_what_may_not_be_read_is_not_known_to_be_right(told: Told) -> None:
    """Who has to be permitted what is told; the other topics are looked at all the same."""
    del told.settings[topics.LINKS]
    told.settings[topics.CLAIMS]["cleanup.policy"] = "delete"
    (denied, wrong) = told.look()
    assert denied[0] is Severity.WARNING and denied[1].startswith(f"User:me may not DescribeConfigs on {topics.LINKS}")
    assert "--operation DescribeConfigs" in denied[2] and denied[2].endswith(f"--topic {topics.LINKS}")
    assert (wrong[0], topics.CLAIMS in wrong[1]) == (Severity.ERROR, True)


def test_more_than_one_partition_and_a_beginning_that_was_deleted_are_told(told: Told) -> None:
    """Only the first partition is read; a lane whose claims are gone stops."""
    told.partitions[topics.LINKS] = 3
    told.ends[topics.CLAIMS] = (1_234, 5_000)
    shape, shortened = told.look()
    assert shape[:2] == (
        Severity.WARNING,
        f"control topic {topics.LINKS} has 3 partitions, and must have one: only the first is read",
    )
    assert shortened[0] is Severity.WARNING and f"{topics.CLAIMS} begins at offset 1,234" in shortened[1]


def test_all_findings_are_in_the_refusal() -> None:
    """With each way out."""
    found = tuple(Reason.found(Severity.ERROR, f"wrong {at}", f"fix {at}") for at in range(2))
    error = ControlTopicsError("new", found)
    assert (error.message, error.hint) == ("cluster new: wrong 0; wrong 1", "fix 0; fix 1")


# -- what was verified ----------------------------------------------------------------------------------

LANE = LaneVerified(str(samples.LANE), "verify-1", (0, 100), (0, 95), (), 1_000)
RUN = VerifyRun("l", "verify-1", RunState.DONE, 1_000, 2_000, 100, 100, 95, 1_000, 0, {}, {LANE.lane: (100, 95)})


class Kept:
    """A keyed log in memory."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []
        self.read_to = 0

    async def append(self, entries: list[tuple[bytes, bytes | None]], _: int, headers: Any = ()) -> int:
        """At its end."""
        base = len(self.entries)
        self.entries += [LogEntry(base + at, key, value, ()) for at, (key, value) in enumerate(entries)]
        return base

    async def read(self) -> list[LogEntry]:
        """What was not read yet."""
        found, self.read_to = self.entries[self.read_to :], len(self.entries)
        return found


def test_what_was_verified_is_told_and_what_was_forgotten_is_not() -> None:
    """Lanes by their keys, and of a link its run, its report and the wish that it stops; the run is stored last."""

    async def play() -> None:
        log = Kept()
        topic, reader = VerifiedTopic(cast(Cluster, None)), VerifiedTopic(cast(Cluster, None))
        topic._log = reader._log = cast(Any, log)
        await topic.persist(RUN, [LANE], {"verdict": "equal", "samples": []})
        await topic.ask_to_stop("l", "verify-1")
        kinds = [verified.parse_key(entry.key)[1] for entry in log.entries]
        assert kinds == [None, VerifyRecordKind.REPORT, VerifyRecordKind.RUN, VerifyRecordKind.STOP]
        await reader.sync()
        assert (reader.lanes, reader.runs, reader.stops) == ({LANE.lane: LANE}, {"l": RUN}, {"l": "verify-1"})
        assert reader.reports["l"]["verdict"] == "equal"
        await topic.forget([LANE.lane, LANE.lane[:-1] + "9"])
        await reader.sync()
        assert reader.lanes == {} and reader.runs == {"l": RUN}
        held: dict[VerifyRecordKind, dict[str, Any]] = {
            VerifyRecordKind.RUN: reader.runs,
            VerifyRecordKind.STOP: reader.stops,
            VerifyRecordKind.REPORT: reader.reports,
        }
        for kind in held:
            await log.append([(verified.link_key("l", kind), None)], 0)
            await reader.sync()
            assert [one for one, known in held.items() if not known] == list(held)[: list(held).index(kind) + 1]

    asyncio.run(play())
