"""Mapped ranges as the segments in which they are persisted."""
