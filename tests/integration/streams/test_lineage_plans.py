"""The recorded plans of the lineage tests are those of the Spark that is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from qa.timeouts import TIMEOUT_S
from tests.unit.streams.lineage.cases import PLANS

pytestmark = pytest.mark.full


def test_spark_still_makes_the_plans_that_are_recorded(tmp_path: Path) -> None:
    """Each script's, line by line; where one differs, record them anew and look at what changed."""
    found = tmp_path / "plans.jsonl"
    # A process of its own: the session has tables and functions that other tests' sessions must not have.
    command = [sys.executable, "-m", "tests.integration.streams.record_lineage", str(found)]
    subprocess.run(command, check=True, timeout=TIMEOUT_S)
    assert found.read_text(encoding="utf-8").splitlines() == PLANS.read_text(encoding="utf-8").splitlines()
