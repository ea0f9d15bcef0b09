"""What a worker files of its lanes: offset maps and progress."""
