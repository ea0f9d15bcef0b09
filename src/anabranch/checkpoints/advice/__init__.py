"""Advice: from what is seen of a job and of both clusters, the ways to move it, in order. Pure: facts in, ways out."""

from anabranch.checkpoints.advice.facts import Answer, Attempt, Facts, GroupFacts, Lane, Log, There
from anabranch.checkpoints.advice.ranking import advise
from anabranch.checkpoints.advice.values import Advice, Condition, Effect, Kind, Onward, Standing, Step, Way

__all__ = [
    "Advice",
    "Answer",
    "Attempt",
    "Condition",
    "Effect",
    "Facts",
    "GroupFacts",
    "Kind",
    "Lane",
    "Log",
    "Onward",
    "Standing",
    "Step",
    "There",
    "Way",
    "advise",
]
