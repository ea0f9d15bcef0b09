"""The migration's file, and the routes file: written as an operator keeps them, and changed where a savepoint moves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from examples.demo import desk, shop
from examples.demo.load import HISTORY

NAME, WAVE = "move", "shop"
FILE, ROUTES = "move.yaml", "routes.yaml"
STOP_HOOK, START_HOOK = "stop-desk", "start-desk"


def link(leg: int) -> str:
    """The link of a leg of the wave, as a migration names it."""
    again = f"-{leg // 2 + 1}" if leg > 1 else ""
    return f"{NAME}-{WAVE}{again}{'-back' if leg % 2 else ''}"


@dataclass(frozen=True, slots=True)
class Savepoint:
    """A Flink job's savepoint on ``old``, and the one on ``new``; one of them is written by a switch."""

    old: Path
    new: Path


def write(directory: Path, checkpoint: Path, savepoint: Savepoint | None) -> None:
    """Write the file; the Flink job is in it once it has a savepoint."""
    jobs = [{"name": "totals", "kind": "spark", "checkpoint": str(checkpoint)}]
    if savepoint is not None:
        places = {"checkpoint": str(savepoint.old), "moved": str(savepoint.new)}
        jobs.append({"name": "counts", "kind": "flink", **places})
    wave = {
        "name": WAVE,
        "topics": [HISTORY, shop.TOPIC, desk.TOPIC],
        "groups": [shop.GROUP, desk.GROUP],
        "codes": [shop.CODE],
        "fences": ["routes", "hook"],
        "hooks": {"fence": STOP_HOOK, "release": START_HOOK},
        "jobs": jobs,
    }
    fields = {
        "version": 1,
        "name": NAME,
        "source": "old",
        "target": "new",
        "copy": {"mode": "mapped"},
        "limits": {"quiet": "500ms", "job_quiet": "3s"},
        "waves": [wave],
    }
    (directory / FILE).write_text(yaml.safe_dump(fields, sort_keys=False), encoding="utf-8")


def write_routes(directory: Path) -> None:
    """Write the table by which the shop's cluster code leads to ``old``."""
    fields = {"version": 1, "codes": {shop.CODE: {"cluster": "old"}}}
    (directory / ROUTES).write_text(yaml.safe_dump(fields), encoding="utf-8")
