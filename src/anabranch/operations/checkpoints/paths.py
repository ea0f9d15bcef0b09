"""The files at a path that was typed."""

from __future__ import annotations

from anabranch.checkpoints.errors import NoCheckpointError
from anabranch.errors import InvalidFieldError
from anabranch.storage.files import StoredFiles
from anabranch.storage.opening import open_files

_METADATA = "_metadata"


def files_at(path: str) -> StoredFiles:
    """The files at a path; those of a savepoint also by the name of its ``_metadata``, as Flink takes it."""
    head, slash, name = path.rpartition("/")
    if name == _METADATA:
        path = head or slash or "."
    if not path:
        raise InvalidFieldError("checkpoint", "PATH", "it is empty", "give the checkpoint's directory, or its URI")
    files = open_files(path)
    if files.is_local:
        root = files.stat("")
        if root is None or not root.is_directory:
            raise NoCheckpointError(files.root, "there is no such directory" if root is None else "it is a file")
    return files
