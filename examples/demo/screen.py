"""What the demo prints: numbered steps, commands as they are typed, what they say, and tables."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from anabranch.cli.words import duration

_PIPE_WIDTH = 120
_INDENT = 3


class Screen:
    """Steps in order; every line is one thought."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)
        if not self._console.is_terminal:
            self._console = Console(highlight=False, width=_PIPE_WIDTH)
        self._steps = 0
        self._began = time.monotonic()

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

    def command(self, text: str) -> None:
        """A command that is typed."""
        self.say(f"$ {text}", "cyan")

    def quote(self, lines: Iterable[str]) -> None:
        """What a command has said, as wide as the page."""
        for line in lines:
            text = line.rstrip()
            width = _PIPE_WIDTH - _INDENT
            self.say(text if len(text) <= width else f"{text[: width - 1]}…", "dim")

    def paragraphs(self, texts: Iterable[str]) -> None:
        """Longer texts, wrapped at the page's width."""
        for text in texts:
            for line in textwrap.wrap(text, _PIPE_WIDTH - _INDENT, subsequent_indent="  "):
                self.say(line, "dim")

    def table(self, *headers: str, rows: list[tuple[str, ...]], left: int = 1) -> None:
        """A table of the present step; the first ``left`` columns are texts, the others numbers."""
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        for index, header in enumerate(headers):
            table.add_column(header, justify="left" if index < left else "right", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        self._console.print(Padding(table, (0, 0, 0, _INDENT), expand=False))

    def verdict(self, equal: bool, text: str) -> None:
        """The last line."""
        seconds = f"({duration(time.monotonic() - self._began)})"
        self._console.print(Text(f"\n{text} {seconds}", style="bold green" if equal else "bold red"))

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Show in a terminal that something is waited for."""
        if not self._console.is_terminal:
            yield
            return
        with self._console.status(f"[dim]{what}[/]"):
            yield
