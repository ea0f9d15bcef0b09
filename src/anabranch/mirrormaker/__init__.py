"""MirrorMaker 2 as others see it: its topics' names, the bytes of their records, and how it translates offsets."""
