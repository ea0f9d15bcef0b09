"""The offset maps of lanes: read from segments, completed and rebuilt from the target's own log."""
