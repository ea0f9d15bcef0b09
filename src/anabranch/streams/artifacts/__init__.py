"""Artifacts: the code that functions of streams come from, by content."""
