"""Which sources a rewrite spec means: by uid, by operator id, by name, or by a topic that they read
(``topic:NAME``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from anabranch.checkpoints.flink.metadata import Operator
from anabranch.checkpoints.flink.source import Source, SourceKind
from anabranch.checkpoints.flink.uid import operator_id
from anabranch.checkpoints.plan import RewriteSpec
from anabranch.model.reasons import Reason, ReasonKind

_TOPIC = "topic:"


@dataclass(frozen=True, slots=True)
class SourceSelection:
    """What is moved, what is taken out, and what is wrong with the rewrite spec."""

    moved: tuple[Source, ...]
    dropped: tuple[Source, ...]
    refusals: tuple[Reason, ...]


def select(sources: tuple[Source, ...], rewrite_spec: RewriteSpec) -> SourceSelection:
    """Resolve a rewrite spec. A word that means no source, or more than one by its name or topic, is refused."""
    refusals: list[Reason] = []
    dropped = _all(sources, rewrite_spec.drop, refusals)
    if rewrite_spec.sources is None:
        moved = tuple(source for source in sources if source not in dropped)
    else:
        moved = _all(sources, rewrite_spec.sources, refusals)
    both = [source.label for source in moved if source in dropped]
    if both:
        refusals.append(
            Reason(ReasonKind.AMBIGUOUS, f"{', '.join(both)} is to be moved and to be dropped", "say one of them")
        )
    if not sources:
        refusals.append(
            Reason(ReasonKind.UNKNOWN, "no source that reads Kafka was found", "give a checkpoint of such a job")
        )
    if rewrite_spec.split or rewrite_spec.merge:
        what = "a Flink source is not split or merged in its state"
        refusals.append(Reason(ReasonKind.UNSUPPORTED, what, "move it whole, or use a DynamicKafkaSource"))
    clusters = {name for source in moved if source.kind is SourceKind.DYNAMIC for name in source.enumerators}
    for name in sorted(set(rewrite_spec.renamed_clusters) - clusters):
        what = f"no dynamic source that is moved has a cluster {name}"
        refusals.append(Reason(ReasonKind.UNKNOWN, what, f"there are: {', '.join(sorted(clusters)) or 'none'}"))
    return SourceSelection(moved, dropped, tuple(refusals))


def matches(operator: Operator, word: str) -> bool:
    """Whether a word is the operator's uid, id or name."""
    return word in (operator.uid, operator.name) or word.lower() == operator.hex or operator_id(word) == operator.id


def _all(sources: tuple[Source, ...], words: Iterable[str], refusals: list[Reason]) -> tuple[Source, ...]:
    found: set[str] = set()
    for word in sorted(words):
        named = [source for source in sources if _means(source, word)]
        if not named:
            known = ", ".join(f"{source.label} ({source.id})" for source in sources)
            refusals.append(Reason(ReasonKind.UNKNOWN, f"no Kafka source is {word}", f"there are: {known or 'none'}"))
        elif len(named) > 1:
            ids = ", ".join(source.id for source in named)
            refusals.append(
                Reason(ReasonKind.AMBIGUOUS, f"{word} means {len(named):,} sources", f"give their ids: {ids}")
            )
        else:
            found.add(named[0].id)
    return tuple(source for source in sources if source.id in found)


def _means(source: Source, word: str) -> bool:
    if word.startswith(_TOPIC) and word.removeprefix(_TOPIC) in source.topics:
        return True
    return matches(source.operator, word)
