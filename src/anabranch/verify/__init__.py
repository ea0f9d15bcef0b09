"""What two logs differ in: pinned ranges, chunk sums, and the naming of single records.  Pure; no I/O.

    pins      which offsets of a lane are compared, on both sides
    sums      a chunk of records as a few numbers that do not depend on the order of reading
    classify  the records that are not where the map says, by name: missing, repeated, reordered, altered, extra ...
    compaction   which absent records a log cleaner may have taken
    findings  the words and numbers of a result
    report    what is handed out: JSON, and a page

NumPy is imported where a function needs it, so that the bare install does without it.
"""
