"""Checkpoints of Spark Structured Streaming, 3.0 to 4.3: read and rewritten without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.checkpoints.job import CheckpointFormat, Page
from anabranch.checkpoints.plan import Rewrite, RewriteSpec
from anabranch.checkpoints.ports import Files
from anabranch.checkpoints.position import Position
from anabranch.checkpoints.route import PositionRoute
from anabranch.checkpoints.spark.contents import Contents, read_contents
from anabranch.checkpoints.spark.errors import DStreamsCheckpointError, PipelineFlowError
from anabranch.checkpoints.spark.layout import read_layout
from anabranch.checkpoints.spark.moving import rewrite
from anabranch.checkpoints.spark.page import page_of
from anabranch.checkpoints.spark.restart import required_positions
from anabranch.checkpoints.spark.state import newest_write_ms
from anabranch.checkpoints.spark.timeline import longest_interval_ms, timeline

__all__ = ["DStreamsCheckpointError", "PipelineFlowError", "SparkCheckpoint", "open_checkpoint", "open_committed"]


@dataclass(frozen=True, slots=True)
class SparkCheckpoint:
    """One query's checkpoint, read whole but for its state (see ``job.Checkpoint``)."""

    contents: Contents
    files: Files = field(repr=False)

    @property
    def format(self) -> CheckpointFormat:
        return CheckpointFormat.SPARK

    @property
    def number(self) -> int:
        return self.contents.number

    @property
    def uncommitted(self) -> int | None:
        return self.contents.uncommitted

    def positions(self) -> tuple[Position, ...]:
        return required_positions(self.contents)

    def names(self) -> Mapping[str, str]:
        return {}

    def page(self) -> Page:
        return page_of(self.files, self.contents)

    def rewrite(self, rewrite_spec: RewriteSpec, route: PositionRoute) -> Rewrite:
        return rewrite(self.contents, rewrite_spec, route)

    def unlike(self, new: SparkCheckpoint, rewrite_spec: RewriteSpec) -> tuple[str, ...]:
        """What of a result's log of offsets, beside Kafka's offsets, is not as it is here: a rewrite keeps it."""
        lines: list[str] = []
        theirs = [one for one in (new.contents.last, new.contents.previous) if one is not None]
        for was in (self.contents.last, self.contents.previous):
            one = next((at for at in theirs if was is not None and at.number == was.number), None)
            if was is None or one is None:
                continue
            if (one.file.version, one.file.head, one.file.end) != (was.file.version, was.file.head, was.file.end):
                lines.append(f"{was.path}: the line of watermark and settings is not as it was")
            if rewrite_spec.split or rewrite_spec.merge:
                continue
            there = {source.source: source.text for source in one.file.sources if source.kafka is None}
            here = {source.source: source.text for source in was.file.sources if source.kafka is None}
            for id_ in sorted(here.keys() | there.keys()):
                if here.get(id_) != there.get(id_):
                    lines.append(f"{was.path}: the line of source {id_}, which is not Kafka's, is not as it was")
        return tuple(lines)

    def newest_write_ms(self) -> int:
        return newest_write_ms(self.files, self.contents.layout)

    def interval_ms(self) -> int | None:
        return longest_interval_ms(timeline(self.files, self.contents.layout))


def open_checkpoint(files: Files) -> SparkCheckpoint | None:
    """Read a checkpoint; None where the directory is none of Spark's.

    Raises DamagedCheckpointError, UnknownVersionError, MissingFileError, FileTooLargeError for one that cannot be
    read, DStreamsCheckpointError and PipelineFlowError for what is not one query of Structured Streaming.
    """
    layout = read_layout(files)
    return None if layout is None else SparkCheckpoint(read_contents(files, layout), files)


def open_committed(files: Files) -> SparkCheckpoint | None:
    """The same up to the newest batch that was committed: what a query that runs has begun since is not read.

    An engine never writes a file of its logs twice, but deletes old ones: that of a running query may have gone.
    """
    layout = read_layout(files)
    return None if layout is None else SparkCheckpoint(read_contents(files, layout.without_begun), files)
