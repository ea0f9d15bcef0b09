"""Files by their content in a store that speaks S3: the same promises as on a disk."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from anabranch.checkpoints.errors import MissingFileError
from anabranch.storage.hashed import HashedFiles, OtherBytesError
from anabranch.storage.opening import open_files
from tests.integration.checkpoints import store as s3
from tests.integration.checkpoints.store import BUCKET, Store, running_store

pytestmark = pytest.mark.full
LATER_MS = 1 << 45


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The server, named to the driver as a user would: by the environment."""
    with running_store(tmp_path_factory.mktemp("store")) as found, pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("AWS_", "FSSPEC_"))]:
            patch.delenv(name)
        for name, value in s3.variables(found.endpoint).items():
            patch.setenv(name, value)
        yield found


def test_bytes_in_a_store_are_handed_out_only_by_their_hash(server: Store) -> None:
    """H2: written, read, changed behind our back, and swept."""
    files = HashedFiles(open_files(f"s3://{BUCKET}/artifacts"))
    some, other = files.put(b"some" * 100_000), files.put(b"other")
    assert files.read(some, 400_000) == b"some" * 100_000
    assert files.has(other, 5) and not files.has(other, 6) and not files.has("0" * 64, 5)
    with pytest.raises(MissingFileError):
        files.read("0" * 64, 5)
    server.put(f"artifacts/{other}", b"another")
    with pytest.raises(OtherBytesError):
        files.read(other, 5)
    assert files.sweep({some}, 1) == 0
    assert files.sweep({some}, LATER_MS) == 1
    assert files.read(some, 400_000) == b"some" * 100_000 and not files.has(other, 7)
