"""What the offset maps of lanes with transactions may cost a worker, by a smaller run of their benchmark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MEMORY_MB = 200
"""Half a day of 200 lanes is 86,400 segments; held they would take 250 MB more."""


@pytest.mark.full
def test_half_a_day_of_transactions_is_read_and_persisted_within_the_bounds(tmp_path: Path) -> None:
    """Pauses of the event loop are CPU time of a process of its own: other processes do not count."""
    output = tmp_path / "bench.json"
    lanes, persisted, seconds = 200, 43_200, 20
    command = [sys.executable, "-m", "benchmarks.runs", "--lanes", str(lanes), "--persisted", str(persisted)]
    done = subprocess.run(
        [*command, "--seconds", str(seconds), "--output", str(output)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(output.read_text())["runs"]
    assert found["segments"] == lanes * persisted * 10 // 1000
    assert 0 < found["largest_mb"] < MEMORY_MB, found
    assert found["retired"] > 1_000, found
