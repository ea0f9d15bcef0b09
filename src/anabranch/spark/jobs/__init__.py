"""Entry points for ``spark-submit`` and the launcher: a job specification in, a report out."""
