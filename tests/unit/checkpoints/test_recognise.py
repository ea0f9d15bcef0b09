"""Which engine's checkpoint a directory is."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.checkpoints.errors import NoCheckpointError
from anabranch.checkpoints.job import Format
from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.storage.files import open_files

pytestmark = pytest.mark.unit
GOLDEN = Path(__file__).parents[2] / "golden"


def test_a_directory_is_recognised_by_what_is_in_it(tmp_path: Path) -> None:
    """Spark's by its logs, Flink's by its metadata; anything else is none, and the error says what was looked for."""
    spark = next((GOLDEN / "spark").glob("*/stateless"))
    flink = next((GOLDEN / "flink").rglob("_metadata")).parent
    assert open_checkpoint(open_files(str(spark))).format is Format.SPARK
    assert open_checkpoint(open_files(str(flink))).format is Format.FLINK
    with pytest.raises(NoCheckpointError) as caught:
        open_checkpoint(open_files(str(tmp_path)))
    assert "offsets/" in caught.value.message
