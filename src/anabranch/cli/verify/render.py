"""A comparison as tables and a bar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from anabranch.cli import words
from anabranch.cli.render import grid
from anabranch.state.codecs.verified import RunState, VerifyStatus
from anabranch.verify.report import partitions

if TYPE_CHECKING:  # imported when a verb asks, so that ``--help`` stays quick
    from anabranch.operations.verify.shown import ComparisonPlan

_STYLES = {"equal": "green", "different": "bold red", "unknown": "yellow"}
_MOST_SAMPLES = 20


def status(found: VerifyStatus, samples: int = _MOST_SAMPLES) -> RenderableType:
    """The run, and its report where it has one."""
    parts: list[RenderableType] = [Text(line(found))]
    if found.run.state is not RunState.DONE:
        parts.append(bar(found))
    if found.own_report is not None:
        parts.append(report(found.own_report, samples))
    return Group(*parts)


def comparison_plan(plan: ComparisonPlan) -> RenderableType:
    """What would be compared from the start, and what is thrown away for it."""
    counts = f"lanes: {words.count(plan.lanes)}, source offsets: {words.count(plan.offsets)}"
    head = Text(f"{plan.link} would be compared from the start; {counts}")
    if not plan.forgets:
        return Group(head, Text("no earlier comparison is thrown away"))
    table = grid("lane", "compared from", "to", "chunks that differ", "at", right=("compared from", "to"))
    for one in plan.forgets:
        offsets = words.count(one.source_from), words.count(one.source_to)
        table.add_row(one.lane, *offsets, words.count(one.differs), words.moment(one.verified_at_ms))
    return Group(head, Text("thrown away, and compared again:"), table)


def bar(found: VerifyStatus) -> RenderableType:
    """How much of the pinned offsets has been read."""
    run = found.run
    return ProgressBar(total=max(run.offsets, 1), completed=run.done, width=60)


def line(found: VerifyStatus) -> str:
    """The run in a sentence."""
    run = found.run
    seconds = max(run.updated_at_ms - run.started_at_ms, 1) / 1000
    text = (
        f"{run.link} {run.run}: {_state(found)}, {words.count(run.records)} records read "
        f"({words.count(run.records / seconds)}/s), {words.size(run.bytes)}, "
        f"chunks that differ: {words.count(run.differing)}"
    )
    return f"{text}; {run.why}" if run.why else text


def _state(found: VerifyStatus) -> str:
    """The state, and how much of the pinned offsets is read; before the first round has ended, what goes on."""
    run = found.run
    if run.state is not RunState.RUNNING:
        share = run.done / run.offsets if run.offsets else float(run.state is RunState.DONE)
        return f"{run.state.value}, {share:.1%}"
    since = f"for {words.duration((found.read_at_ms - run.started_at_ms) / 1000)}"
    if not found.running:
        return f"silent, {run.done / max(run.offsets, 1):.1%}"
    if not run.offsets:
        return f"Spark starts {since}"
    if not run.done:
        return f"reads the first of {words.count(run.offsets)} offsets {since}"
    if run.done >= run.offsets and run.differing:
        return "naming what differs, 100.0%"
    return f"running, {run.done / run.offsets:.1%}"


def report(made: Mapping[str, Any], samples: int) -> RenderableType:
    """The verdict, the lanes, the first samples."""
    verdict = made["verdict"]
    lanes = grid("SOURCE", "OFFSETS", "TARGET", "OFFSETS", "RECORDS", "VERDICT", "DIFFERENCES", "GONE")
    for lane in made["lanes"]:
        source, target = lane["source"], lane["target"]
        lanes.add_row(
            f"{source['topic']}-{source['partition']}",
            words.span(source["since"], source["verified_to"]),
            f"{target['topic']}-{target['partition']}",
            words.span(target["since"], target["verified_to"]),
            words.count(source["records"]),
            Text(lane["verdict"], style=_STYLES[lane["verdict"]]),
            _numbers(lane["counts"], gone=False),
            _numbers(lane["counts"], gone=True),
        )
    parts: list[RenderableType] = [Text(verdict, style=_STYLES[verdict]), lanes]
    parts += [Text(f"not compared: {one['lane']}: {one['reason']}") for one in made["not_compared"]]
    if made["samples"]:
        parts.append(_samples(made["samples"], samples, partitions(made)))
    return Group(*parts)


def _numbers(counts: Mapping[str, int], *, gone: bool) -> str:
    found = (
        f"{words.count(number)} {word.removeprefix('gone_').replace('_', ' ')}"
        for word, number in counts.items()
        if number and word.startswith("gone_") is gone
    )
    return ", ".join(found)


def _samples(found: list[Mapping[str, Any]], most: int, names: Mapping[str, tuple[str, str]]) -> Table:
    table = grid("WHAT", "SOURCE", "OFFSET", "TARGET", "OFFSET", "CONTENTS")
    for one in found[:most]:
        fields = f" ({', '.join(one['fields'])})" if one["fields"] else ""
        contents = "; ".join(f"{side}: {text}" for side, text in (one["contents"] or {}).items())
        source, target = names.get(one["lane"], (one["lane"], ""))
        table.add_row(
            one["kind"] + fields,
            source,
            "" if one["source_offset"] is None else words.count(one["source_offset"]),
            target,
            "" if one["target_offset"] is None else words.count(one["target_offset"]),
            contents,
        )
    return table
