"""Consumer groups: listed, moved, undone, created."""
