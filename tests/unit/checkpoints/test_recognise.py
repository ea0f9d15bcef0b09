"""Which engine's checkpoint a directory is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from anabranch.checkpoints.errors import NoCheckpointError, TwoEnginesError
from anabranch.checkpoints.job import CheckpointFormat
from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.storage.opening import open_files

pytestmark = pytest.mark.unit
GOLDEN = Path(__file__).parents[2] / "golden"


def test_a_directory_is_recognised_by_what_is_in_it(tmp_path: Path) -> None:
    """Spark's by its logs, Flink's by its metadata; anything else is none, and the error says what was looked for."""
    spark = next((GOLDEN / "spark").glob("*/stateless"))
    flink = next((GOLDEN / "flink").rglob("_metadata")).parent
    assert open_checkpoint(open_files(str(spark))).format is CheckpointFormat.SPARK
    assert open_checkpoint(open_files(str(flink))).format is CheckpointFormat.FLINK
    with pytest.raises(NoCheckpointError) as caught:
        open_checkpoint(open_files(str(tmp_path)))
    assert "offsets/" in caught.value.message


@pytest.mark.parametrize("directory", ["offsets", "commits"])
def test_a_directory_of_both_engines_is_refused(tmp_path: Path, directory: str) -> None:
    """Neither is read silently, whether or not each would be sound; both are named."""
    shutil.copyfile(next((GOLDEN / "flink").rglob("_metadata")), tmp_path / "_metadata")
    shutil.copytree(next((GOLDEN / "spark").glob("*/stateless")) / directory, tmp_path / directory)
    with pytest.raises(TwoEnginesError, match=r"Spark.*Flink") as caught:
        open_checkpoint(open_files(str(tmp_path)))
    assert "elsewhere" in caught.value.hint
