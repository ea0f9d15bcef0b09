"""Read the bytes that handles of operator state refer to: inline, beside ``_metadata``, elsewhere, or merged."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

from anabranch.checkpoints.errors import DamagedCheckpointError, UnknownVersionError
from anabranch.checkpoints.flink.handles import File, FileSegment, Inline, RelativeFile, StreamHandle
from anabranch.checkpoints.flink.operator_handle import OperatorHandle
from anabranch.checkpoints.flink.operator_state import MAX_SIZE, OperatorState, read_operator_state
from anabranch.checkpoints.ports import Files

_KEPT_FILES = 2
_MAX_MERGED = 4 * MAX_SIZE


class StateStore:
    """Reads states of one checkpoint; ``reads`` are the digests (SHA-256, hex) of all files that were read.

    A file outside of the tree is named by its absolute path or URI there. Merged files are read whole and the last ones
    are kept, since subtasks share them.
    """

    def __init__(self, files: Files) -> None:
        self.files = files
        self.reads: dict[str, str] = {}
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    def operator_state(self, handle: OperatorHandle, name: str) -> OperatorState:
        """A subtask's operator state, ``name`` for messages.

        Raises what reading a file does, DamagedCheckpointError and UnknownVersionError.
        """
        return read_operator_state(handle, self.stream(handle.delegate, name), self.files.root, name)

    def stream(self, handle: StreamHandle, name: str) -> bytes:
        """The bytes of a handle."""
        if isinstance(handle, Inline):
            return handle.data
        if isinstance(handle, RelativeFile):
            return self._sized(self._file(handle.path, False, MAX_SIZE), handle.size, name)
        if isinstance(handle, File):
            return self._sized(self._file(handle.path, True, MAX_SIZE), handle.size, name)
        if isinstance(handle, FileSegment):
            end = handle.start + handle.size
            if handle.size > MAX_SIZE:
                raise DamagedCheckpointError(self.files.root, name, "size", f"{handle.size:,} bytes of operator state")
            return self._sized(self._file(handle.path, True, _MAX_MERGED)[handle.start : end], handle.size, name)
        raise UnknownVersionError(self.files.root, name, "this place of operator state", "files and inline bytes")

    def _sized(self, data: bytes, size: int, name: str) -> bytes:
        if len(data) != size:
            what = f"its file has {len(data):,} bytes of it, {size:,} are told"
            raise DamagedCheckpointError(self.files.root, name, "size", what)
        return data

    def _file(self, path: str, foreign: bool, limit: int) -> bytes:
        data = self._kept.get(path)
        if data is None:
            data = self.files.read_foreign(path, limit) if foreign else self.files.read(path, limit)
            self.reads[path] = hashlib.sha256(data).hexdigest()
            self._kept[path] = data
            if len(self._kept) > _KEPT_FILES:
                self._kept.popitem(last=False)
        return data
