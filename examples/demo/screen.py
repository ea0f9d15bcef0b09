"""What the demo prints: numbered steps, a progress that is redrawn in a terminal and sparse lines in a pipe."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from anabranch.cli import render
from anabranch.cli.words import count, duration, size
from anabranch.model.reports import LinkStatus
from anabranch.model.totals import totals
from examples.demo.job import owner_pid

_PIPE_WIDTH = 120
# The first line and how much longer each next one waits: a slow machine must not fill a page with progress.
_PIPE_SECONDS, _PIPE_GROWTH = 4.0, 1.4


class Screen:
    """Steps in order; every line is one thought."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)
        if not self._console.is_terminal:
            self._console = Console(highlight=False, width=_PIPE_WIDTH)
        self._steps = 0
        self._began = time.monotonic()
        self._gap = _PIPE_SECONDS

    def title(self, text: str) -> None:
        """The first line."""
        self._console.print(Text(text, style="bold"))

    def step(self, what: str) -> None:
        """Begin the next numbered step."""
        self._steps += 1
        clock = f"{time.monotonic() - self._began:4.0f} s"
        self._console.print(Text.assemble((f"\n{self._steps}  {what}", "bold"), (f"  {clock}", "dim")))

    def say(self, text: str, style: str = "") -> None:
        """A line of the present step."""
        self._console.print(Text(f"   {text}", style=style), soft_wrap=True)

    def table(self, *headers: str, rows: list[tuple[str, ...]], left: int = 1) -> None:
        """A table of the present step; the first ``left`` columns are texts, the others numbers."""
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        for index, header in enumerate(headers):
            table.add_column(header, justify="left" if index < left else "right", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        self._print(table)

    def verdict(self, equal: bool, text: str) -> None:
        """The last line."""
        seconds = f"({duration(time.monotonic() - self._began)})"
        self._console.print(Text(f"\n{text} {seconds}", style="bold green" if equal else "bold red"))

    @contextmanager
    def progress(self) -> Iterator[Callable[[LinkStatus], None]]:
        """Gives a function that shows a link's status, as often as it is called where that can be redrawn."""
        if self._console.is_terminal:
            last: LinkStatus | None = None

            def redraw(status: LinkStatus) -> None:
                nonlocal last
                last = status
                live.update(Padding(lanes(status), (0, 0, 0, 3)), refresh=True)

            with Live(console=self._console, auto_refresh=False, transient=True) as live:
                yield redraw
            if last is not None and last.lanes:
                self.say(summary(last))
            return
        shown = 0.0

        def line(status: LinkStatus) -> None:
            nonlocal shown
            if status.lanes and time.monotonic() - shown >= self._gap:
                shown = time.monotonic()
                self._gap *= _PIPE_GROWTH
                self.say(summary(status))

        yield line

    def _print(self, what: RenderableType) -> None:
        self._console.print(Padding(what, (0, 0, 0, 3), expand=False))


def summary(status: LinkStatus) -> str:
    """A link in one short line."""
    sums = totals(status)
    states = ", ".join(f"{number} {state}" for state, number in sums.states) or "no lanes yet"
    return (
        f"{render.percent(sums):>7}  {count(sums.records)} records, {size(sums.bytes)} copied; "
        f"lag {count(sums.lag_records)}; {size(sums.bytes_per_s)}/s; {states}"
    )


def lanes(status: LinkStatus) -> RenderableType:
    """A link as a bar for each lane, with the process that owns it."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for lane in status.lanes:
        table.add_row(
            str(lane.source),
            ProgressBar(total=max(1, lane.high_watermark), completed=lane.position, width=36),
            Text(f"{count(lane.position)} of {count(lane.high_watermark)}", justify="right"),
            str(lane.state),
            f"{size(lane.bytes_per_s)}/s",
            Text(f"worker {owner_pid(lane) or '?'}", style="dim"),
        )
    return Group(table, Text(summary(status)) if status.lanes else Text("no lanes yet", style="dim"))
