"""Find the engine of a checkpoint's directory: each format is tried in turn."""

from __future__ import annotations

from anabranch.checkpoints import flink, spark
from anabranch.checkpoints.errors import NoCheckpointError, TwoEnginesError
from anabranch.checkpoints.job import Checkpoint
from anabranch.checkpoints.ports import Files


def open_checkpoint(files: Files) -> Checkpoint:
    """Read the checkpoint at a path. Raises NoCheckpointError, TwoEnginesError, and what the format raises.

    A damaged checkpoint is of an engine all the same, so the engine is told by file names, before any file is read.
    """
    there = {(entry.name, entry.is_directory) for entry in files.list()}
    if ("_metadata", False) in there and there & {("offsets", True), ("commits", True)}:
        raise TwoEnginesError(files.root)
    for opened in (spark.open_checkpoint, flink.open_checkpoint):
        found = opened(files)
        if found is not None:
            return found
    raise NoCheckpointError(files.root, "neither offsets/ and commits/ nor _metadata are there")
