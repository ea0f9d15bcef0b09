"""The demo: two clusters, real data, a worker killed on the way, and the proof.  Run it with ``make demo``."""
