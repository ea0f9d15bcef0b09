"""Functions of streams from artifacts: each run has an environment of its own."""
