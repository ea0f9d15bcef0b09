"""The recorded plans of the lineage tests are those of the Spark that is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.streams.record_lineage import lines, session
from tests.unit.streams.lineage.cases import PLANS

pytestmark = pytest.mark.full


def test_spark_still_makes_the_plans_that_are_recorded(tmp_path: Path) -> None:
    """Each script's, line by line; where one differs, record them anew and look at what changed."""
    spark = session(tmp_path)
    try:
        found = list(lines(spark))
    finally:
        spark.stop()
    assert found == PLANS.read_text(encoding="utf-8").splitlines()
