"""What a wide pipe is given of what is printed."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType


def lines_of(made: RenderableType) -> list[str]:
    """Its lines, without what is blank at their ends."""
    console = Console(width=250, file=io.StringIO(), markup=False, emoji=False)
    with console.capture() as captured:
        console.print(made)
    return [line.rstrip() for line in captured.get().splitlines()]


def cells_of(made: RenderableType) -> list[list[str]]:
    """The cells of each line that is not empty; in a table they are apart by two blanks."""
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines_of(made) if line.strip()]
