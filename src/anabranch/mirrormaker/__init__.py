"""The public side of MirrorMaker 2: names of its topics, bytes of their records, and its translation of offsets."""
