"""Working beside MirrorMaker 2: what its answers are worth, and our answers where its clients look for them."""
