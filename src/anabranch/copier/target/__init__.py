"""Writing to the target: takeovers' effects, batches, padding, gap records, and persisted progress."""
