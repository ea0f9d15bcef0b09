"""Advice: from what is seen of a job and of both clusters, the ways to move it, in order. Pure: facts in, ways out."""

from anabranch.checkpoints.advice.facts import Answer, Attempt, Facts, GroupFacts, LaneFacts, LogFacts, TargetFacts
from anabranch.checkpoints.advice.ranking import advise
from anabranch.checkpoints.advice.values import (
    Advice,
    AdviceStep,
    Condition,
    ConditionStatus,
    Effect,
    ResumeOffsets,
    Way,
    WayKind,
)

__all__ = [
    "Advice",
    "AdviceStep",
    "Answer",
    "Attempt",
    "Condition",
    "ConditionStatus",
    "Effect",
    "Facts",
    "GroupFacts",
    "LaneFacts",
    "LogFacts",
    "ResumeOffsets",
    "TargetFacts",
    "Way",
    "WayKind",
    "advise",
]
