"""The way that only Spark queries have."""

from __future__ import annotations

from anabranch.checkpoints.advice import words
from anabranch.checkpoints.advice.conditions import committed, exact_answers, explicit_offsets, fits
from anabranch.checkpoints.advice.effects import by_route
from anabranch.checkpoints.advice.facts import Facts
from anabranch.checkpoints.advice.values import AdviceStep, Condition, ConditionStatus, Effect, Way, WayKind

_COPIED = "until the link has copied up to the query's positions"


def named_sources(facts: Facts) -> Way:
    """A query whose sources have names gets new ones, with startingOffsets, and drops the old."""
    moved = sorted({one.source for one in facts.moving()})
    numbered = [one for one in moved if one.isdecimal()]
    if numbered or not moved:
        why = f"source {numbered[0]} has a number, no name" if numbered else "no source is to be moved"
        fix = "Spark cannot turn names on for a checkpoint that was begun without them"
        named = Condition("the sources have names (Spark 4.2, source evolution)", ConditionStatus.UNMET, why, fix)
    else:
        named = Condition(
            "the sources have names (Spark 4.2, source evolution)", ConditionStatus.MET, ", ".join(moved[:3])
        )
    steps = [words.stop(facts)]
    if not facts.routed or any(not words.starting_offsets(facts, one) for one in moved):
        steps += words.write_offsets(facts)
    for source in moved:
        explicit = words.starting_offsets(facts, source) or f"those of {words.OFFSETS_FILE}"
        steps.append(
            AdviceStep(f'in the query: .name("{source}_moved") instead of {source}, startingOffsets={explicit}')
        )
    steps.append(
        AdviceStep(
            f"start it with the same checkpoint, kafka.bootstrap.servers={words.servers(facts)} and "
            "spark.sql.streaming.queryEvolution.enableSourceEvolution=true"
        )
    )
    exact = facts.exact()
    return Way(
        WayKind.NAMED_SOURCES,
        "give the sources new names, with startingOffsets",
        (
            named,
            *exact_answers(facts),
            *explicit_offsets(facts),
            *committed(facts),
            *fits(facts, facts.copying_s(), _COPIED),
        ),
        by_route(facts) if exact is not None else Effect(None, None, "the positions on the target are not all known"),
        tuple(steps),
        facts.copying_s(),
        _COPIED,
        ("the switch is internal to Spark and off by default",),
    )
