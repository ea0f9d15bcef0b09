"""What the tables of all nouns share: a table without lines, and findings with their fixes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from anabranch.cli.hints import aimed
from anabranch.model.reasons import Reason, Severity

_SEVERITY_STYLE: Mapping[Severity, str] = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "yellow",
    Severity.INFO: "dim",
}


def grid(*columns: str, right: Iterable[str] = ()) -> Table:
    """An empty table without lines, which also reads well in a pipe."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return table


def findings(found: Iterable[Reason]) -> RenderableType:
    """Each finding with its fix, the worst first."""
    order = list(Severity)
    text = Text()
    for finding in sorted(found, key=lambda f: order.index(f.severity)):
        text.append(f"{finding.severity.value}: ", style=_SEVERITY_STYLE[finding.severity])
        text.append(f"{finding.what}\n")
        if finding.fix:
            text.append(f"  fix: {aimed(finding.fix)}\n")
    text.rstrip()
    return text
