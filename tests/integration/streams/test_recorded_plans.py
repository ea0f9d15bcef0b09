"""Plans are recorded again by real Spark: what a query needs is what was recorded, and what was written by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from anabranch.streams.needed import needed
from qa.timeouts import TIMEOUT_S
from tests.spark.plan_scripts import REGISTERED, SCRIPTS

pytestmark = pytest.mark.full

PLANS = Path(__file__).parents[2] / "golden" / "plans"


def test_spark_still_writes_the_plans_that_were_recorded(tmp_path: Path) -> None:
    """Else they are recorded again, and looked at."""
    # A process of its own: the session has tables and settings that other tests' sessions must not have.
    subprocess.run([sys.executable, "-m", "tests.spark.record_plans", str(tmp_path)], check=True, timeout=TIMEOUT_S)
    for name in SCRIPTS:
        found = (tmp_path / f"{name}.json").read_text(encoding="utf-8")
        kept = (PLANS / f"{name}.json").read_text(encoding="utf-8")
        assert needed(found, "", REGISTERED) == needed(kept, "", REGISTERED), name
        assert found == kept, name
