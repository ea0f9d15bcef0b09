"""One process that shows and drives what the command line can: REST, events, metrics.

It translates and decides nothing: verbs are those of :mod:`anabranch.operations`, what must outlive it is in the store.
"""
