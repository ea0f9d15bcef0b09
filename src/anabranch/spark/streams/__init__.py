"""SQL jobs on streams, run by Spark."""
