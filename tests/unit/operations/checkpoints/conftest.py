"""What all tests here have: no disk is waited for, since what dies here is a function and no machine."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel keeps what was written."""
    monkeypatch.setattr(os, "fsync", lambda number: None)
