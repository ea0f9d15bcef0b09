"""Offset maps: which source records lie where in the target, exactly, in both directions; no I/O."""
