"""The demo: applications are moved between two clusters while they run, and the proof.  Run it with ``make demo``."""
