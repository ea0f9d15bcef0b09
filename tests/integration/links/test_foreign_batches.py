"""How long a takeover behind another writer's batches may last, by the largest run of its benchmark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from qa.timeouts import LONG_TIMEOUT_S

BATCHES = 100_000
REQUESTS = 300
"""Some times what its windows take, which grow; one for each batch would be hundreds of times as many."""


@pytest.mark.full
@pytest.mark.timeout(2 * LONG_TIMEOUT_S)
def test_a_takeover_behind_a_hundred_thousand_foreign_batches_takes_seconds(tmp_path: Path) -> None:
    """The benchmark ends with 1 where one takes longer than twenty; requests do not depend on the machine."""
    output = tmp_path / "bench.json"
    command = [sys.executable, "-m", "benchmarks.takeover", "--batches", "0", str(BATCHES), "--output", str(output)]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False, timeout=LONG_TIMEOUT_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    alone, behind = json.loads(output.read_text())["takeover"]
    assert (alone["foreign_batches"], behind["foreign_batches"]) == (0, BATCHES)
    assert behind["requests"] - alone["requests"] < REQUESTS, (alone, behind)
