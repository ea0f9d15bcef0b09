"""What a worker persists about its lanes: offset maps and progress."""
