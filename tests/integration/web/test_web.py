"""The pages in a real browser, beside simulated or real clusters: what `npm test` runs, by the stands they share."""

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
GROUPS = {
    "pages": ("pages", "sign-in", "empty", "tools", "actions", "keyboard", "states"),
    "routes": ("routes",),
    "switches": ("switches",),
    "streams": ("streams", "stream-upkeep"),
    "migrations": ("migrations",),
    "access": ("access",),
    "lanes": ("lanes",),
    "refused": ("refused",),
    "words": ("checkpoint-words", "migration-words", "clock-words", "sql-words", "stand", "yaml"),
    "positions": ("positions",),
    "sandbox": ("sandbox", "changes"),
}
"""Files that share a browser and a stand: both begin once, and end with the last test of them."""
LONG = {"positions", "sandbox"}
"""Beside real clusters, with Spark or a provider: minutes."""
FILES = [pytest.param(name, marks=[pytest.mark.full] if name in LONG else []) for name in GROUPS]


def test_each_file_of_the_pages_is_run_once() -> None:
    """A file that stands in no group would never be run."""
    files = sorted(path.name.removesuffix(".test.mjs") for path in (WEB / "tests").glob("*.test.mjs"))
    assert sorted(file for group in GROUPS.values() for file in group) == files


@pytest.mark.parametrize("group", FILES)
def test_the_pages_do_what_is_promised(group: str, pytestconfig: pytest.Config) -> None:
    """Sign-in, every page's content, plans that are applied, 10,000 lanes, what axe finds, narrow windows."""
    assert (WEB / "node_modules").is_dir(), "run `make web` first"
    assert (ROOT / "src/anabranch/service/static/index.html").is_file(), "run `make web` first"
    script = "".join(f"import './tests/{file}.test.mjs';" for file in GROUPS[group])
    try:
        done = subprocess.run(
            ["node", "--test-reporter=spec", "--input-type=module", "--eval", script],
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
            timeout=8 * TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        told = error.stdout or b""
        raise AssertionError(f"not done: {told.decode() if isinstance(told, bytes) else told}") from None
    failing = done.stdout.rpartition("failing tests:")[2]  # all of it, where none is told
    assert done.returncode == 0, f"{failing[:6000]}\n...\n{done.stdout[-3000:]}"
