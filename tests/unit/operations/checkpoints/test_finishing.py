"""The operator's command that ends a batch: when it must not be started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from anabranch.operations.checkpoints.errors import MayRunError, NotFinishedError, UnfinishedRewriteError
from anabranch.operations.checkpoints.finishing import finish
from anabranch.operations.checkpoints.manifest import unfinished
from anabranch.operations.checkpoints.rewriting import in_place
from anabranch.storage.files import open_files
from tests.unit.operations.checkpoints.world import TRANSLATE, Crash, Crashing, copy, draw

pytestmark = pytest.mark.unit


def test_no_query_is_run_on_a_checkpoint_that_is_half_rewritten(tmp_path: Path) -> None:
    """The batch would begin on one cluster and end on the other: the command is not started."""
    begun = 0
    for at in range(100):
        place = copy("uncommitted", tmp_path / str(at))
        try:
            in_place(draw(Crashing(place, at), TRANSLATE))
        except Crash:
            files = open_files(str(place))
            if unfinished(files) is None:
                continue
            begun += 1
            with pytest.raises(UnfinishedRewriteError):
                finish(files, f"touch {tmp_path}/ran", 5, stopped=True)
        else:
            break
    assert begun > 5
    assert not (tmp_path / "ran").exists()


def test_a_query_that_may_still_run_is_not_started_again(tmp_path: Path) -> None:
    """Its newest batch is not committed just because it runs: two queries on one checkpoint ruin it."""
    place = copy("uncommitted", tmp_path / "cp")
    os.utime(place / "offsets" / "2")
    files = open_files(str(place))
    with pytest.raises(MayRunError, match="the job may still run") as told:
        finish(files, f"touch {tmp_path}/ran", 5, stopped=False)
    assert "--stopped" in told.value.hint
    assert not (tmp_path / "ran").exists()
    with pytest.raises(NotFinishedError):
        finish(files, f"touch {tmp_path}/ran", 300, stopped=True)
    assert (tmp_path / "ran").exists()
