"""The page of a checkpoint: what people want to know of a query without starting it."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.checkpoints.job import CheckpointFormat, Page, SourcePage
from anabranch.checkpoints.ports import Files
from anabranch.checkpoints.position import Position
from anabranch.checkpoints.spark.contents import Contents
from anabranch.checkpoints.spark.errors import MalformedError
from anabranch.checkpoints.spark.offsets_log import SourceOffset
from anabranch.checkpoints.spark.restart import order_refusals, required_positions
from anabranch.checkpoints.spark.state import newest_write_ms, operators
from anabranch.checkpoints.spark.strict_json import parse
from anabranch.checkpoints.spark.timeline import timeline
from anabranch.checkpoints.spark.versions import engine_version

_KINDS = (("logOffset", "files"), ("reservoirId", "delta"), ("snapshot_id", "iceberg"))


def page_of(files: Files, contents: Contents) -> Page:
    """Read a checkpoint's page; lists directories and reads the last batches' small files."""
    last, commit = contents.last, contents.commit
    metadata = last.file.metadata if last is not None else None
    conf = metadata.conf if metadata is not None else {}
    watermark = metadata.watermark_ms if metadata is not None else 0
    if commit is not None and contents.uncommitted is None:
        watermark = max(watermark, commit.next_watermark_ms)
    versions = {}
    if last is not None:
        versions["offsets"] = f"v{last.file.version}"
    if commit is not None:
        versions["commits"] = f"v{commit.version}"
        if commit.names_state:
            versions["state checkpoints"] = "v2"
    layout = contents.layout
    positions = required_positions(contents)
    return Page(
        CheckpointFormat.SPARK,
        engine_version(conf, last.file.version if last is not None else 1, commit.version if commit is not None else 1),
        versions,
        contents.query_id or "",
        contents.number,
        newest_write_ms(files, layout),
        watermark or None,
        timeline(files, layout),
        tuple(_source(source, positions) for source in (last.file.sources if last is not None else ())),
        operators(files, conf),
        contents.uncommitted,
        tuple(_sinks(contents)),
        tuple(_notes(contents)),
    )


def _source(source: SourceOffset, positions: tuple[Position, ...]) -> SourcePage:
    own = tuple(position for position in positions if position.source == source.source)
    if source.kafka is not None or own:
        topics = dict.fromkeys(position.partition.topic for position in own)
        return SourcePage(source.source, ", ".join(topics), "kafka", own)
    return SourcePage(source.source, "", _kind(source), ())


def _kind(source: SourceOffset) -> str:
    """What a source that is not Kafka's may be, by its JSON."""
    if source.is_void:
        return "no offset yet"
    try:
        tree = parse(source.text, "")
    except MalformedError:
        return "other"
    if isinstance(tree, dict):
        return next((kind for key, kind in _KINDS if key in tree), "other")
    return "a counter (rate, memory or socket)" if isinstance(tree, int) else "other"


def _sinks(contents: Contents) -> Iterator[str]:
    """Sinks that the engine wrote down, and what those that it did not would hang on."""
    for sink in contents.commit.sinks if contents.commit is not None else ():
        yield f"{sink.name} ({sink.provider.rpartition('.')[2]}){'' if sink.active else ', not used any more'}"
    if contents.query_id is not None:
        yield (
            f"Delta and Iceberg know a batch by the query's id {contents.query_id} and its number, a file sink and "
            "foreachBatch by its number: a rewrite changes neither"
        )


def _notes(contents: Contents) -> Iterator[str]:
    for refusal in order_refusals(contents):
        yield f"{refusal.location}: {refusal.what}"
    if contents.uncommitted is not None:
        yield f"batch {contents.uncommitted} has begun and was not committed; the next start runs it again"
    if contents.layout.has_gaps:
        yield "batches are missing between others: asynchronous progress, which may run batches again after a stop"
