"""The tree at a place that was typed, whatever it lies on."""

from __future__ import annotations

from anabranch.storage import paths
from anabranch.storage.files import StoredFiles
from anabranch.storage.local import LocalFiles
from anabranch.storage.remote import RemoteFiles


def open_files(place: str) -> StoredFiles:
    """The tree at a local path or a URI; nothing is looked at yet.  Raises NoDriverError."""
    protocol, rest = paths.split(place)
    return LocalFiles(place, rest) if protocol == paths.LOCAL else RemoteFiles(place, protocol, rest)
