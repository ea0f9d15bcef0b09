"""The command line is built from its functions' signatures once, and not for each line that a test types.

Topics that were made just now are looked for often: a simulated cluster leads them after 20 ms at most.
"""

from __future__ import annotations

import functools

import pytest
import typer.main
import typer.testing

_BUILT = functools.lru_cache(typer.main.get_command)
_PATCH = pytest.MonkeyPatch()
"""For good: it is built while tests are collected, too."""
_PATCH.setattr(typer.main, "get_command", _BUILT)
_PATCH.setattr(typer.testing, "_get_command", _BUILT)
_PATCH.setattr("anabranch.kafka.settling._PAUSE_S", 0.005)
