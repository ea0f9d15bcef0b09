"""``anabranch link wait``: wait until the link has copied what its source holds now."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.output import Format, FormatOption, emit, error_console
from anabranch.cli.running import on_both, run
from anabranch.cli.words import count, moment
from anabranch.config.units import parse_interval
from anabranch.errors import InvalidFieldError
from anabranch.model.caughtup import Remaining
from anabranch.model.reports import LinkStatus


def wait(
    ctx: typer.Context,
    link: LinkArgument,
    caught_up: Annotated[
        bool, typer.Option("--caught-up", help="Until all that the source holds at the start is copied.")
    ] = False,
    timeout: Annotated[
        str | None,
        typer.Option(help="How long at most, such as 30s, 10m or 1h; default: no limit.", show_default=False),
    ] = None,
    lag: Annotated[int, typer.Option(min=0, help="Records that each lane may still lag.")] = 0,
    target_name: TargetOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Wait until the link has copied what its source holds now, read from the source itself; Ctrl-C leaves.

    Each partition that held something must have a lane, so that neither an old end nor a new topic looks finished. The
    end is the last stable offset: records in an open transaction are not waited for. The link may be started later.

    A topic without a lane is not waited for once a plan that the running link made after the start says that the link
    leaves it out on purpose. A topic that an error in `link show` keeps from being copied is waited for, and so is one
    that is excluded or deleted meanwhile: start the command again.

    Shows a bar in a terminal, a line for each change in a pipe. Ctrl-C leaves, and touches nothing. See
    docs/reference/exit-codes.md.
    """
    if not caught_up:
        fix = f"anabranch link wait {link} --caught-up"
        raise InvalidFieldError("link wait", "--caught-up", "nothing to wait for was given", fix)
    longest = None if timeout is None else parse_interval(timeout, "link wait", "--timeout") / 1000
    run(_wait(ctx, link, target_name, lag, longest, output))


async def _wait(
    ctx: typer.Context, link: str, target_name: str | None, lag: int, longest_s: float | None, output: Format
) -> None:
    from anabranch.operations.links import wait as operation

    console = error_console()
    async with on_both(ctx, link, target_name) as (source, target):
        with Live(console=console, auto_refresh=False, transient=True) as live:
            done = await operation.wait(source, target, link, lag, longest_s, WaitView(console, live).tell)
        where = f"what {source.name} held at {moment(done.read_at_ms)} UTC"
    does = f"lacks {count(done.behind)} records of" if done.behind else "has copied"
    emit(done, Text(f"link {link} {does} {where}"), output)


class WaitView:
    """Shows what is left: a bar in a terminal, a line for each change in a pipe."""

    def __init__(self, console: Console, live: Live) -> None:
        self._console, self._live = console, live
        self._first, self._told = 0, ""

    async def tell(self, found: Remaining, status: LinkStatus) -> None:
        """Show it as it is now."""
        from anabranch.operations.links.wait import why

        self._first = max(self._first, found.records)
        line = why(found, status)
        if self._console.is_terminal:
            self._live.update(_bar(found, self._first, line), refresh=True)
        elif line != self._told:
            self._console.print(line, highlight=False, soft_wrap=True)
            self._told = line


def _bar(found: Remaining, first: int, line: str) -> RenderableType:
    done = 1 - found.records / first if first else 0.0
    return Group(ProgressBar(total=1.0, completed=done, width=40), Text(line))
