"""Where checkpoints lie: directories of this machine and, through fsspec, object stores.

``opening.open_files`` gives a tree to look at and to write into, ``ports.Files`` and more.  Every write is whole or not
at all: on this machine by a temporary name, fsync and rename, in an object store by one PUT.
"""
