"""Public fakes, builders and real counterparts that tests, the demo and the benchmarks share."""
