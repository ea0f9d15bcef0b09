"""The control topics on the target, read and written."""
