"""The demo, as a stranger runs it in a pipe."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.full, pytest.mark.timeout(2400)]

ROOT = Path(__file__).resolve().parents[2]


def test_the_demo_kills_a_worker_and_proves_both_clusters_equal(tmp_path: Path) -> None:
    """It ends with exit code 0 and the verdict, in at most sixty lines that fit a page, and leaves nothing behind."""
    # Its own directory for what it leaves, but the same ledger of ports as every sandbox beside it.
    ledger = f"anabranch-ports-{os.getuid()}"
    shared = Path(tempfile.gettempdir()) / ledger
    shared.mkdir(mode=0o700, exist_ok=True)
    (tmp_path / ledger).symlink_to(shared)
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=2200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1].startswith("Equal: nothing lost, repeated, reordered or altered.")
    assert any("SIGKILL to worker" in line for line in lines)
    assert len([line for line in lines if line.strip()]) <= 60
    assert max(map(len, lines)) <= 120
    assert "\x1b" not in done.stdout
    left = {path.name for path in tmp_path.glob("anabranch-*")}
    assert left == {ledger}, "only the ledger of ports, which all sandboxes share, stays"
