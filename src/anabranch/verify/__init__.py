"""Compare two logs: pinned ranges, chunk sums, and findings about single records.  Pure; no I/O.

    pins      which offsets of a lane are compared, on both sides
    sums      a chunk of records as a few numbers that do not depend on the order of reading
    classify  the records that are not where the map says: missing, duplicate, reordered, modified, unexpected ...
    compaction   which absent records a log cleaner may have taken
    findings  the kinds and numbers of findings
    report    the report: JSON, and an HTML page

NumPy is imported where a function needs it, so that the bare install does without it.
"""
