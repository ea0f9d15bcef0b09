"""The operator's command that ends a batch: when it must not be started."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path

import pytest

from anabranch.operations.checkpoints.errors import MayRunError, NotFinishedError, UnfinishedRewriteError
from anabranch.operations.checkpoints.finish import finish
from anabranch.operations.checkpoints.manifest import unfinished
from anabranch.operations.checkpoints.rewriting import in_place
from anabranch.storage.opening import open_files
from tests.unit.operations.checkpoints.crashing import Crash, Crashing
from tests.unit.operations.checkpoints.world import TRANSLATE, copy, draw

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
                asyncio.run(finish(str(place), f"touch {tmp_path}/ran", 5, stopped=True))
        else:
            break
    assert begun > 5
    assert not (tmp_path / "ran").exists()


@pytest.mark.test
def test_a_query_that_may_still_run_is_not_started_again(tmp_path: Path) -> None:
    """Its newest batch is not committed just because it runs: two queries on one checkpoint ruin it."""
    place = copy("uncommitted", tmp_path / "cp")
    os.utime(place / "offsets" / "2")
    with pytest.raises(MayRunError, match="the job may still run") as told:
        asyncio.run(finish(str(place), f"touch {tmp_path}/ran", 5, stopped=False))
    assert "--stopped" in told.value.hint
    assert not (tmp_path / "ran").exists()
    with pytest.raises(NotFinishedError):
        asyncio.run(finish(str(place), f"touch {tmp_path}/ran", 300, stopped=True))
    assert (tmp_path / "ran").exists()


@pytest.mark.test
def test_a_cancelled_wait_ends_the_command_too(tmp_path: Path) -> None:
    """Nobody is left who would tell it to end, and a query that runs on would write the checkpoint."""
    place, pid = copy("uncommitted", tmp_path / "cp"), tmp_path / "pid"
    command = shlex.join(["sh", "-c", f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600"])

    async def cancelled() -> None:
        waiting = asyncio.ensure_future(finish(str(place), command, stopped=True))
        while not pid.exists():
            await asyncio.sleep(0.005)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(cancelled())
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
