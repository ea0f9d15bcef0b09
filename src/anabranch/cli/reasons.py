"""Reasons below the table of lanes: why lanes stop, wait, or have their modes; each reason once, with its lanes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text

from anabranch.cli.words import count
from anabranch.model.lane import LaneProgress, LaneState
from anabranch.protocol.endings import cause_and_detail
from anabranch.protocol.ways import ways_out

MOST = 4
"""Names to list where more lanes have something in common."""


def some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(names[:MOST])
    return shown if len(names) <= MOST else f"{shown} and {count(len(names) - MOST)} more"


def reasons(found: Iterable[LaneProgress]) -> list[Text]:
    """Why lanes stop or wait, and then why they have their modes: each reason once, with its lanes.

    Lanes that stopped for one cause are listed together, whatever their offsets and details.
    """
    stopped: dict[str, list[LaneProgress]] = {}
    others: dict[str, list[str]] = {}
    modes: dict[str, list[str]] = {}
    for lane in found:
        if lane.state is LaneState.STOPPED:
            stopped.setdefault(cause_and_detail(lane.stop_reason or "no reason persisted")[0], []).append(lane)
        elif lane.stop_reason:
            others.setdefault(f"{lane.state.value}: {lane.stop_reason}", []).append(str(lane.source))
        if lane.mode_reason:
            modes.setdefault(f"{lane.mode.value}: {lane.mode_reason}", []).append(str(lane.source))
    return [
        *(_stopped(lanes, cause) for cause, lanes in stopped.items()),
        *(Text(f"{some(names)} {why}", style="red") for why, names in others.items()),
        *(Text(f"{some(names)} {why}", style="dim") for why, names in modes.items()),
    ]


def _stopped(lanes: Sequence[LaneProgress], cause: str) -> Text:
    """Where lanes stopped for one cause, the detail of each, and the ways out with the first lane's commands."""
    first = lanes[0]
    details = [cause_and_detail(lane.stop_reason or "")[1] for lane in lanes]
    if len({lane.stop_offset for lane in lanes}) == 1:
        where = f"{some([str(lane.source) for lane in lanes])} stopped{_at(first)}"
    else:
        where = f"{some([f'{lane.source}{_at(lane)}' for lane in lanes])} stopped"
    text = Text(f"{where}: {cause}", style="red")
    if len(set(details)) == 1:
        text.append(f": {details[0]}" if details[0] else "")
    else:
        for lane, detail in list(zip(lanes, details, strict=True))[:MOST]:
            text.append(f"\n  {lane.source}: {detail}" if detail else "")
    for way in ways_out(first.stop_reason, first.lane.link, first.source.topic, first.source.partition):
        text.append(f"\n  {way}", style="default")
    return text


def _at(lane: LaneProgress) -> str:
    return "" if lane.stop_offset is None else f" at offset {count(lane.stop_offset)}"
