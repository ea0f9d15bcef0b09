"""What the session of a stream's job is started with, over what every job of ours has."""

from __future__ import annotations

SETTINGS = {
    # A window is final once its watermark has passed, also where no record comes after it.
    "spark.sql.streaming.noDataMicroBatches.enabled": "true",
    # Kept, so that a run may begin from one of the last checkpoints.
    "spark.sql.streaming.minBatchesToRetain": "100",
    "spark.sql.streaming.numRecentProgressUpdates": "100",
    # A checkpoint with state keeps this number for ever: enough for a few cores, and cheap for one.
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stopTimeout": "30s",
    "spark.driver.memory": "1g",
}
