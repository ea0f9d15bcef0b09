"""The command line: verbs that read flags, call the engine and show what it answers; they decide nothing."""
