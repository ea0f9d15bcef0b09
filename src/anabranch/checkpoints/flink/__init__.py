"""Savepoints and checkpoints of Flink: ``_metadata`` versions 3 to 6, in pure Python."""

from __future__ import annotations

from anabranch.checkpoints.flink.checkpoint import FlinkCheckpoint, open_checkpoint

__all__ = ["FlinkCheckpoint", "open_checkpoint"]
