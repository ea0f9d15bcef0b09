"""Consumer groups on both clusters of a link: committed offsets, the plan that moves them, and its refusals; no I/O.

A plan is a value that is made from a snapshot. Applying it, showing it and undoing it read the same value.
"""
