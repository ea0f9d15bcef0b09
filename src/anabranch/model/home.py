"""Paths as people type them."""

from __future__ import annotations

import os
from pathlib import Path


def expanded(path: str | Path) -> Path:
    """The path with a leading ``~`` replaced by a home directory; one of somebody unknown stays as it is typed."""
    return Path(os.path.expanduser(path))
