"""Streams that are files of PySpark: ``def main(job)`` starts queries, and these are watched as those of a script."""
