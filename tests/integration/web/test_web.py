"""The pages in a real browser, beside simulated clusters: what `npm test` runs, a file a test, as CI has it."""

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
FILES = sorted(path.name for path in (WEB / "tests").glob("*.test.mjs"))


@pytest.mark.parametrize("file", FILES)
def test_the_pages_do_what_is_promised(file: str) -> None:
    """Sign-in, every page's content, plans that are applied, 10,000 lanes, what axe finds, narrow windows."""
    assert (WEB / "node_modules").is_dir(), "run `make web` first"
    assert (ROOT / "src/anabranch/service/static/index.html").is_file(), "run `make web` first"
    done = subprocess.run(
        ["node", "--test", "--test-reporter=spec", f"tests/{file}"],
        cwd=WEB,
        env={**os.environ, "ANABRANCH_PYTHON": sys.executable, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=max(600.0, 10 * TIMEOUT_S),
        check=False,
    )
    failing = done.stdout.rpartition("failing tests:")[2]  # all of it, where none is told
    assert done.returncode == 0, f"{failing[:6000]}\n...\n{done.stdout[-3000:]}"
