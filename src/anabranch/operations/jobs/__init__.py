"""Spark jobs started from here: what this machine needs, how a job reaches a cluster, and its process and logs."""
