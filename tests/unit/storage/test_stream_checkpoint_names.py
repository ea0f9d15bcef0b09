"""Directories beside the checkpoints of queries, and where saved checkpoints can be gone back to."""

from __future__ import annotations

from typing import cast

import pytest

from anabranch.storage.files import StoredFiles
from anabranch.storage.saved_checkpoints import SavedNotThereError, stage
from anabranch.storage.stream_checkpoints import is_reserved

pytestmark = pytest.mark.unit


class FarFiles:
    """Storage that is no directory of this machine."""

    root = "s3://bucket/pv"


@pytest.mark.parametrize("name", ["fence", "Fence", "script.json", "arriving.json", "moved.json"])
def test_no_query_has_the_directory_of_something_else(name: str) -> None:
    """The fence and the marks of checkpoints are beside those of queries."""
    assert is_reserved(name)
    assert not is_reserved(f"{name}-2")


def test_a_saved_checkpoint_is_not_there_once_its_stream_has_moved_to_other_storage() -> None:
    """Typed, with where the checkpoints are now: it is not said that it never was."""
    with pytest.raises(SavedNotThereError) as raised:
        stage(cast(StoredFiles, FarFiles()), "pv", "friday", "q", "q@3")
    assert "not there: a start has its checkpoints at s3://bucket/pv" in raised.value.message
    assert "they come along" in raised.value.hint
