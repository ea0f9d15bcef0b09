"""Which way first: one that no condition is against, that repeats and loses nothing, and that leaves least open.

The order is total and the same for equal facts. Invariant: no way with a failed condition comes before one without.
"""

from __future__ import annotations

from dataclasses import replace

from anabranch.checkpoints.advice import both, flink, spark
from anabranch.checkpoints.advice.conditions import positions_known
from anabranch.checkpoints.advice.effects import unmodified_restart
from anabranch.checkpoints.advice.facts import Facts
from anabranch.checkpoints.advice.observations import observations
from anabranch.checkpoints.advice.values import Advice, ConditionStatus, Effect, Way, WayKind
from anabranch.checkpoints.job import CheckpointFormat

_ORDER = {kind: number for number, kind in enumerate(WayKind)}
_FLINK = (both.identity, both.rewritten, flink.new_uid, flink.drop_source, flink.dynamic)
_SPARK = (both.identity, both.rewritten, spark.named_sources)
_BOTH = (both.producers_first, both.renamed, both.start_again)


def advise(facts: Facts) -> Advice:
    """Every way of the checkpoint's engine, the best first."""
    kinds = (*(_SPARK if facts.page.format is CheckpointFormat.SPARK else _FLINK), *_BOTH)
    unknown = positions_known(facts)
    ways = [way(facts) for way in kinds]
    if unknown:
        unknown_effect = Effect(None, None, "not all positions of the job are known")
        ways = [replace(found, conditions=(*unknown, *found.conditions), effect=unknown_effect) for found in ways]
    return Advice(
        facts.path,
        facts.page.format,
        facts.page.engine,
        facts.page.job,
        observations(facts),
        unmodified_restart(facts),
        tuple(sorted(ways, key=rank)),
    )


def rank(way: Way) -> tuple[int, int, int, int, int, int]:
    """What a way is sorted by: failed conditions, harm, lost, repeated, open conditions, and the order of kinds."""
    effect = way.effect
    if effect.exact:
        harm = 0
    elif effect.lost == 0 and effect.repeated is not None:
        harm = 1
    elif effect.lost is None or (effect.lost == 0 and effect.repeated is None):
        harm = 2
    else:
        harm = 3
    return (
        way.count(ConditionStatus.UNMET),
        harm,
        effect.lost or 0,
        effect.repeated or 0,
        way.count(ConditionStatus.UNKNOWN, ConditionStatus.LATER),
        _ORDER[way.kind],
    )
