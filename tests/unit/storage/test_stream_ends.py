"""A note of how a stream's queries ended counts for the next start, and only for checkpoints that still end so."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.storage.local import LocalFiles
from anabranch.storage.stream_checkpoints import ENDED, is_reserved
from anabranch.storage.stream_ends import last_batch, note_ends, take_next

pytestmark = pytest.mark.unit


def checkpoint(root: Path, directory: str, begun: int, ended: int) -> None:
    """Of so many batches."""
    for log, count in (("offsets", begun), ("commits", ended)):
        place = root / directory / log
        place.mkdir(parents=True, exist_ok=True)
        for old in place.iterdir():
            old.unlink()
        for batch in range(count):
            (place / str(batch)).write_text("v1")


@given(ended=st.integers(0, 3), is_open=st.booleans(), now=st.integers(0, 4), now_open=st.booleans())
def test_the_next_batch_is_known_where_the_checkpoint_is_as_it_was_left(
    tmp_path_factory: pytest.TempPathFactory, ended: int, is_open: bool, now: int, now_open: bool
) -> None:
    """Neither of one that was killed within a batch, nor of an older copy in its place, nor of one that ran since."""
    root = tmp_path_factory.mktemp("checkpoints")
    files = LocalFiles(str(root), str(root))
    checkpoint(root, "kept", ended + is_open, ended)
    assert last_batch(files, "kept") == (ended - 1 if ended and not is_open else None)
    note_ends(files, ["kept", "absent"])
    checkpoint(root, "kept", now + now_open, now)
    is_left = (now, now_open) == (ended, is_open) and ended > 0 and not is_open
    assert take_next(files) == ({"kept": ended} if is_left else {})
    assert take_next(files) == {}


def test_a_query_cannot_have_the_name_of_the_note() -> None:
    """It would be its directory."""
    assert is_reserved(ENDED)
