"""The operations of offsets for code that is not asynchronous, as the demo, benchmarks and most tests are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from anabranch.config.rebuildspec import RebuildSpec, RecordPart
from anabranch.model.cluster import ClusterContext
from anabranch.model.positions import LaneRanges, Translation
from anabranch.operations.offsets import export as exporting
from anabranch.operations.offsets import ranges as showing
from anabranch.operations.offsets import rebuild as rebuilding
from anabranch.operations.offsets import translate as translating
from anabranch.operations.offsets.translate import Question
from qa.blocking import between, on


def translate(
    target: ClusterContext, link_id: str, questions: Sequence[Question], *, reverse: bool = False, records: bool = False
) -> Translation:
    """Translate offsets of the source, with ``reverse`` of the target."""
    return on(
        target, lambda cluster: translating.translate(cluster, link_id, questions, reverse=reverse, records=records)
    )


def translate_group(
    source: ClusterContext, target: ClusterContext, link_id: str, group: str, *, reverse: bool = False
) -> Translation:
    """Translate what a group has committed on the source, with ``reverse`` on the target."""
    return between(
        source, target, lambda here, there: translating.translate_group(here, there, link_id, group, reverse=reverse)
    )


def ranges(target: ClusterContext, link_id: str, where: str | None = None) -> Sequence[LaneRanges]:
    """The maps of a link, a topic or a partition."""
    return on(target, lambda cluster: showing.ranges(cluster, link_id, where))


def export(target: ClusterContext, link_id: str) -> exporting.ExportedMaps:
    """All maps of a link."""
    return on(target, lambda cluster: exporting.export(cluster, link_id))


def rebuild_spec(
    source: ClusterContext,
    target: ClusterContext,
    link: str,
    topics: Mapping[str, str],
    ignore: Collection[RecordPart] = (),
) -> RebuildSpec:
    """What a job is told that makes the maps of these topics, pinned now."""
    found = between(source, target, lambda here, there: rebuilding.plan(here, there, link, topics, ignore))
    return found.spec(source, target)
