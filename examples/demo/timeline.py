"""What a switch has done step by step, from the service's journal, and the positions in a Spark checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from anabranch.cli.words import count, duration

_HOLDS, _NO_RETURN, _RUNS_ON = "fence producers", "point of no return", "run reverse link"


def lines(answer: Mapping[str, Any]) -> list[str]:
    """A run in four lines: before anybody is held up, up to the point of no return, until all go on, and the rest."""
    run, steps = answer["run"], answer["steps"]
    took: list[tuple[str, int]] = []
    before = run["began_ms"]
    for step in steps:
        took.append((step["kind"], step["ended_ms"] - before))
        before = step["ended_ms"]
    kinds = [kind for kind, _ in took]
    cuts = [0, kinds.index(_HOLDS), kinds.index(_NO_RETURN), kinds.index(_RUNS_ON), len(took)]
    said = ("before", "held up", "no return", "then")
    return [f"{word}: {_told(took[one:other])}" for word, one, other in zip(said, cuts, cuts[1:], strict=False)]


def _told(took: Iterable[tuple[str, int]]) -> str:
    """Steps that follow each other, and are of one kind, are one."""
    sums = [(kind, sum(ms for _, ms in same)) for kind, same in groupby(took, key=lambda one: one[0])]
    return ", ".join(f"{kind} {count(ms)} ms" if ms < 5_000 else f"{kind} {duration(ms / 1000)}" for kind, ms in sums)


def positions(checkpoint: Path) -> dict[str, int]:
    """Where a Spark query of one Kafka source goes on, as the newest entry of its checkpoint says."""
    newest = max(
        (path for path in (checkpoint / "offsets").iterdir() if path.name.isdecimal()), key=lambda path: int(path.name)
    )
    topics: Mapping[str, Mapping[str, int]] = json.loads(newest.read_text().splitlines()[-1])
    return {f"{topic}-{part}": offset for topic, parts in topics.items() for part, offset in parts.items()}


def moved(before: Mapping[str, int], after: Mapping[str, int], here: str, there: str) -> str:
    """The first of the positions, on both clusters."""
    place = min(before)
    return f"{place} at {count(before[place])} on {here} goes on at {count(after[place])} on {there}"
