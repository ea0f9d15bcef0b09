"""Writing to the target: takeovers' effects, batches, padding and gap records."""
