"""The page of the SDK has every name, setting and error that an application may meet."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

import anabranch.sdk
from anabranch.sdk import config, errors, session

pytestmark = pytest.mark.unit

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "sdk.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([\w.]+)`", PAGE))


def public_classes(module: ModuleType) -> set[str]:
    """Those that a module defines itself."""
    return {
        name
        for name, one in vars(module).items()
        if isinstance(one, type) and one.__module__ == module.__name__ and not name.startswith("_")
    }


def test_every_public_name_stands_in_the_page() -> None:
    """Of both modules from which applications import."""
    aio = pytest.importorskip("anabranch.sdk.aio")
    assert {*anabranch.sdk.__all__, *public_classes(aio)} - NAMED == set()


def test_every_error_stands_in_the_table_of_errors() -> None:
    """With the class of confluent-kafka, or of Python, that it is as well."""
    table = PAGE.split("## Errors")[1].split("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
    also = {name: row[1] for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    assert public_classes(errors) == also.keys()
    for name, base in also.items():
        words = re.findall(r"`(\w+)`", base)
        assert words[0] in {one.__name__ for one in getattr(errors, name).__mro__[1:]}, name


def test_every_setting_stands_in_the_table_of_settings() -> None:
    """And each variable of the environment."""
    table = PAGE.split("## Settings")[1].split("\n#")[0]
    settings = set(re.findall(r"^\| `([a-z.]+)` \|", table, re.MULTILINE))
    assert settings == set(config.OURS)
    variables = {one for one in vars(config).values() if isinstance(one, str) and one.startswith("ANABRANCH_")}
    assert variables and variables - NAMED == set()
    assert f"| `{config.BLOCK_MAX_MS}` | {config._BLOCK_MAX_MS} |" in table


def test_the_waits_between_attempts_are_those_of_the_session() -> None:
    """In seconds."""
    text = " ".join(PAGE.split())
    assert f"up to {session._LONGEST_WAIT_S:.0f} seconds between two attempts" in text
    assert f"up to {session._LONGEST_PAUSED_S:.0f} while a switch has it pause" in text


def test_every_property_beyond_the_interface_stands_in_the_page() -> None:
    """Of plain clients; those that asyncio's share are among them."""
    kinds = [kind for one in (anabranch.sdk.Consumer, anabranch.sdk.Producer) for kind in one.__mro__]
    found = {name for kind in kinds for name, one in vars(kind).items() if isinstance(one, property)}
    assert {*found, "route_problem"} - NAMED == set()
