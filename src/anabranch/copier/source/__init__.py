"""Reading the source: fetching, waiting, joining small batches, and noticing that its history changed."""
