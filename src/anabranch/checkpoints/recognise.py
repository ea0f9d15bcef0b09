"""Which engine a directory's checkpoint is of: each format is asked in turn."""

from __future__ import annotations

from anabranch.checkpoints import flink, spark
from anabranch.checkpoints.errors import NoCheckpointError
from anabranch.checkpoints.job import Checkpoint
from anabranch.checkpoints.ports import Files


def open_checkpoint(files: Files) -> Checkpoint:
    """Read the checkpoint at a place. Raises NoCheckpointError, and what the format raises for one that is damaged."""
    for opened in (spark.open_checkpoint, flink.open_checkpoint):
        found = opened(files)
        if found is not None:
            return found
    raise NoCheckpointError(files.root, "neither offsets/ and commits/ nor _metadata are there")
