"""Files by their content: what is read is what was written."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from anabranch.checkpoints.errors import MissingFileError
from anabranch.storage.hashed import HashedFiles, OtherBytesError
from anabranch.storage.opening import open_files

pytestmark = pytest.mark.unit


def test_bytes_are_kept_by_their_hash_and_others_are_never_handed_out(tmp_path: Path) -> None:
    """H2: changed, cut or longer."""
    files = HashedFiles(open_files(str(tmp_path / "kept")))
    name = files.put(b"some")
    assert (name, files.read(name, 4), files.has(name, 4)) == (hashlib.sha256(b"some").hexdigest(), b"some", True)
    assert not files.has(name, 5)
    with pytest.raises(MissingFileError):
        files.read("0" * 64, 4)
    for data in (b"same", b"som", b"some more"):
        (tmp_path / "kept" / name).write_bytes(data)
        with pytest.raises(OtherBytesError):
            files.read(name, 4)
    assert files.put(b"some") == name
    assert files.read(name, 4) == b"some"


def test_what_is_old_and_not_kept_is_swept_with_what_a_killed_writer_left(tmp_path: Path) -> None:
    """What is new, what is kept, and what is somebody else's stays."""
    files = HashedFiles(open_files(str(tmp_path)))
    old, kept, new = files.put(b"old"), files.put(b"kept"), files.put(b"new")
    left, other = f".{old}.0123.tmp", "README"
    for name in (left, other):
        (tmp_path / name).write_bytes(b"half")
    for name in (old, kept, left, other):
        os.utime(tmp_path / name, (1, 1))
    assert files.sweep({kept}, 2_000) == 2
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([kept, new, other])
