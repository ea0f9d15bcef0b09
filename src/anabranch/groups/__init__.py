"""Where consumer groups stand on both clusters of a link, what would move them, and what forbids it; no I/O.

A plan is a value made of what was seen; carrying it out, showing it and undoing it read the same value.
"""
