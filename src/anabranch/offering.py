"""Packages that offer their modules by name and import them when they are named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any


def modules(package: str, names: Sequence[str]) -> Callable[[str], Any]:
    """A package's ``__getattr__`` (PEP 562): what is slow to import is imported by those who use it."""

    def find(name: str) -> Any:
        if name in names:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
