"""Translate source offsets as MirrorMaker 2 would: exactly where records tell, else with a bound of the error."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from anabranch.kafka.cluster import Cluster
from anabranch.mirrormaker.names import SEPARATOR
from anabranch.mirrormaker.report import JudgedPosition
from anabranch.mirrormaker.store import most_between
from anabranch.mirrormaker.store import translate as answer_of
from anabranch.model.positions import Answered, AnswerKind, Translation
from anabranch.model.topics import TopicPartition
from anabranch.operations.mirrormaker.flow import Flow, read_flow
from anabranch.operations.mirrormaker.report import LOOKED_AT, Judge

Question = tuple[TopicPartition, int]


async def translate(
    source: Cluster,
    target: Cluster,
    questions: Sequence[Question],
    source_alias: str | None = None,
    target_alias: str | None = None,
    *,
    separator: str = SEPARATOR,
    look: int = LOOKED_AT,
) -> Translation:
    """Where readers of MirrorMaker 2's copy go on; an offset is the next record to read.

    At most ``look`` answers are made exact by the records around them; the others are MirrorMaker's own, which skip
    no record and name as ``most_again`` how many offsets a reader may see again at most.  Raises NoFlowError,
    MirrorRecordError, ClusterError.
    """
    flow = await read_flow(source, target, source_alias, target_alias, separator)
    topics = frozenset((await target.metadata(None)).topics)
    judge = Judge(source, target, flow, look)
    answers = await asyncio.gather(*(_answer(judge, flow, topics, at, offset) for at, offset in questions))
    return Translation(f"{flow.source_alias}->{flow.target_alias}", target.name, tuple(answers))


async def _answer(judge: Judge, flow: Flow, topics: frozenset[str], at: TopicPartition, offset: int) -> Answered:
    syncs = flow.syncs.get(at)
    if not syncs:
        return Answered(at, offset, AnswerKind.UNKNOWN, why="MirrorMaker has written no offset sync of this partition")
    to = flow.copy_of(at, topics)
    stored = answer_of(syncs, offset)
    exact = await judge.exact(JudgedPosition("", at, to, offset, stored=stored))
    if exact is not None:
        return Answered(at, offset, AnswerKind.EXACT, to, exact, "by the records around it")
    if stored is None:
        why = "MirrorMaker answers nothing: each offset sync that it keeps is of a later record"
        return Answered(at, offset, AnswerKind.BEFORE, to, why=why)
    return Answered(
        at,
        offset,
        AnswerKind.APPROXIMATE,
        to,
        stored,
        "by the newest offset sync that is not past it",
        most_again=most_between(syncs, stored, offset),
    )
