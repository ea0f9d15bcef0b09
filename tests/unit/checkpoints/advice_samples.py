"""Jobs and clusters that tests of advice begin with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from anabranch.checkpoints.advice import Attempt, Facts, GroupFacts, LaneFacts, LogFacts
from anabranch.checkpoints.advice.facts import Answer
from anabranch.checkpoints.job import CheckpointFormat, OperatorPage, Page, SourcePage
from anabranch.checkpoints.plan import PositionChange, Rewrite
from anabranch.checkpoints.position import OffsetRole, Position
from anabranch.checkpoints.route import TranslatedPosition
from anabranch.model.lane import LaneMode
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition

A = TopicPartition("orders", 0)
B = TopicPartition("orders", 1)
UID = "f014eda4bed2c36350d80c2fc33a5df3"


def position(partition: TopicPartition, offset: int, source: str = UID) -> Position:
    """A position that is read from next."""
    return Position(source, partition, offset, OffsetRole.NEXT, "a place")


def page(
    form: CheckpointFormat = CheckpointFormat.FLINK, source: str = UID, kind: str = "kafka", **fields: Any
) -> Page:
    """A job with one Kafka source and one stateful operator."""
    given: dict[str, Any] = {
        "format": form,
        "engine": "Flink 1.20" if form is CheckpointFormat.FLINK else "Spark 4.1",
        "versions": {},
        "job": "flights",
        "number": 7,
        "written_at_ms": 0,
        "watermark_ms": None,
        "timeline": (),
        "sources": (SourcePage(source, "flights", kind, ()),),
        "operators": (OperatorPage("0", "count", "aggregation", 2, 1000),),
        "uncommitted": None,
        "sinks": (),
    }
    return Page(**{**given, **fields})


def attempt(changes: tuple[PositionChange, ...] = (), *refusals: Reason, flags: tuple[str, ...] = ()) -> Attempt:
    """A rewrite that was planned."""
    return Attempt(flags, Rewrite(changes, refusals))


def facts(
    form: CheckpointFormat = CheckpointFormat.FLINK, shift: int = 5, topic: str = "orders", **fields: Any
) -> Facts:
    """Two partitions at 100 and 200, copied to a target where offsets are ``shift`` higher."""
    source = UID if form is CheckpointFormat.FLINK else "0"
    at = position(A, 100, source), position(B, 200, source)
    answers: dict[Position, Answer] = {
        one: TranslatedPosition(TopicPartition(topic, one.partition.partition), int(str(one.offset)) + shift, shift, 0)
        for one in at
    }
    mode = LaneMode.MAPPED if shift else LaneMode.IDENTITY
    given: dict[str, Any] = {
        "path": "/save/1",
        "page": page(form, source),
        "positions": at,
        "flags": ("--link", "old-new", "--target", "new"),
        "source": "old",
        "target": "new",
        "bootstrap": ("new-1:9092",),
        "answers": answers,
        "attempts": (attempt(),),
        "drop": attempt(flags=("--drop-source", source)) if form is CheckpointFormat.FLINK else None,
        "lanes": {
            one.partition: LaneFacts("old-new", TopicPartition(topic, one.partition.partition), mode, "why", 0, 0.0)
            for one in at
        },
        "old": {A: LogFacts(0, 150, 10.0), B: LogFacts(0, 260, 20.0)},
        "new": {TopicPartition(topic, 0): LogFacts(5, 155), TopicPartition(topic, 1): LogFacts(0, 265)},
    }
    return Facts(**{**given, **fields})


def unrouted(known: Facts) -> Facts:
    """The same without a word of where positions lead."""
    return replace(known, flags=(), answers={}, attempts=(), lanes={}, new={}, target="", bootstrap=())


def group(a: int, b: int, per_s: float | None = None, shift: int = 5) -> GroupFacts:
    """A group that has committed both partitions on the old cluster."""
    answers: dict[TopicPartition, Answer] = {A: TranslatedPosition(A, a + shift), B: TranslatedPosition(B, b + shift)}
    return GroupFacts("billing", {A: a, B: b}, answers, {}, per_s)


NOT_COPIED = Reason(ReasonKind.NOT_COPIED, "offset 100 is stored, copied up to 90", "wait for the link")
EXPIRED = Reason(ReasonKind.EXPIRED, "the target lost what was not read", "copy the topic anew")
