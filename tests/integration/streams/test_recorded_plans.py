"""Plans are recorded again by real Spark: what a query needs is what was recorded, and what was written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.streams.needed import needed
from tests.spark.plan_scripts import REGISTERED, SCRIPTS
from tests.spark.record_plans import record, session

pytestmark = pytest.mark.full

PLANS = Path(__file__).parents[2] / "golden" / "plans"


def test_spark_still_writes_the_plans_that_were_recorded(tmp_path: Path) -> None:
    """Else they are recorded again, and looked at."""
    with session(tmp_path) as spark:
        found = record(spark, tmp_path)
    for name in SCRIPTS:
        kept = (PLANS / f"{name}.json").read_text(encoding="utf-8")
        assert needed(found[name], "", REGISTERED) == needed(kept, "", REGISTERED), name
        assert found[name] == kept, name
