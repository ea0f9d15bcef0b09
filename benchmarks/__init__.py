"""Benchmarks of Anabranch on real clusters: ``python -m benchmarks.run``; see docs/reference/benchmarks.md."""
