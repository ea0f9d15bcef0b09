"""Checkpoints of stream engines as their owners handle them: look, plan, rewrite, verify, undo."""
