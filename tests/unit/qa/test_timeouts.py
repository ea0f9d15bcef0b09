"""What is waited for is waited for by the one number that is scaled: a slow machine is no failure."""

from __future__ import annotations

import re

import pytest

from tests.full import ROOT

pytestmark = pytest.mark.unit

UNSCALED = re.compile(r"(?:\.(?:wait|join|result|communicate)|asyncio\.timeout)\((?:timeout=)?\d{2,}(?:\.\d+)?\)")
ELSEWHERE = {
    "qa/keycloak.py": "it is killed then",
    "qa/faults/processes.py": "it is killed then",
    "tests/packaging/test_serving_wheel.py": "a program in an environment that has only the wheel",
    "tests/spark/make_checkpoints.py": "a program that makes fixtures, in an environment of its own",
}


def test_no_wait_of_seconds_stands_in_a_test() -> None:
    """``qa.timeouts`` has them."""
    found = {
        f"{path}: {one}"
        for folder in ("qa", "tests")
        for file in (ROOT / folder).rglob("*.py")
        if (path := str(file.relative_to(ROOT))) not in ELSEWHERE
        for one in UNSCALED.findall(file.read_text(encoding="utf-8"))
    }
    assert found == set()
