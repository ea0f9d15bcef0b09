"""Functions of Python come from what was brought, and are no others that it imports."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from anabranch.spark.streams.artifacts.importing import look

pytestmark = pytest.mark.unit

MODULE = """
from functools import lru_cache, partial, wraps
from os import system
from subprocess import getoutput
from textwrap import shorten as short

from acme import helped


def clean(text: str) -> str:
    return text.strip()


@lru_cache
def cached(text: str) -> str:
    return text


@wraps(clean)
def wrapped(text: str) -> str:
    return clean(text)


class Cut:
    def __call__(self, text: str) -> str:
        return text[:1]


cut = Cut()
tail = partial(clean)
"""
HELPER = "def helped(text: str) -> str:\n    return text\n"


@pytest.mark.test
def test_what_a_module_imports_of_pythons_own_is_no_function_of_it(tmp_path: Path) -> None:
    """Else whoever writes a script could have `os.system` by a module that an admin uploaded for something else."""
    (tmp_path / "text.py").write_text(MODULE)
    (tmp_path / "acme.py").write_text(HELPER)
    names = ("clean", "cached", "wrapped", "cut", "tail", "helped", "system", "getoutput", "short")
    python = {"PYTHONPATH": f"{tmp_path}:{':'.join(one for one in sys.path if one)}"}
    found = look(tmp_path, [f"text.{name}" for name in names], python)
    refused = {name.removeprefix("text."): one.problem for name, one in found.items() if one.problem}
    assert set(refused) == {"system", "getoutput", "short"}
    assert refused["getoutput"] == (
        "text.getoutput is subprocess.getoutput, which text imports: it is in none of its files"
    )
