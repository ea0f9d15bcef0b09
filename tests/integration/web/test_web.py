"""The pages in a real browser, beside simulated or real clusters: what `npm test` runs, a file a test, as CI has it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.test

ROOT = Path(__file__).parents[3]
WEB = ROOT / "web"
LONG = "sandbox.test.mjs"
"""Beside real clusters, Spark and a provider: two minutes."""
FILES = [
    pytest.param(path.name, marks=[pytest.mark.full] if path.name == LONG else [])
    for path in sorted((WEB / "tests").glob("*.test.mjs"))
]


@pytest.mark.parametrize("file", FILES)
def test_the_pages_do_what_is_promised(file: str, pytestconfig: pytest.Config) -> None:
    """Sign-in, every page's content, plans that are applied, 10,000 lanes, what axe finds, narrow windows."""
    assert (WEB / "node_modules").is_dir(), "run `make web` first"
    assert (ROOT / "src/anabranch/service/static/index.html").is_file(), "run `make web` first"
    done = subprocess.run(
        ["node", "--test", "--test-reporter=spec", f"tests/{file}"],
        cwd=WEB,
        env={
            **os.environ,
            "ANABRANCH_PYTHON": sys.executable,
            "NO_COLOR": "1",
            "ANABRANCH_TIER": pytestconfig.getoption("--tier"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=max(600.0, 10 * TIMEOUT_S),
        check=False,
    )
    failing = done.stdout.rpartition("failing tests:")[2]  # all of it, where none is told
    assert done.returncode == 0, f"{failing[:6000]}\n...\n{done.stdout[-3000:]}"
