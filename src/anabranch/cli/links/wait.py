"""``anabranch link wait``: wait until the link has copied what its source holds now."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from anabranch.cli.links import render
from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.running import on_both, run
from anabranch.cli.words import count, duration, moment
from anabranch.config.units import parse_interval
from anabranch.errors import InvalidFieldError, RefusedError
from anabranch.model.caughtup import Goal, Remaining, remaining_of
from anabranch.model.reports import LinkStatus
from anabranch.model.totals import totals
from anabranch.protocol.ways import ways_out

INTERVAL_S = 1.0


@dataclass(eq=False)
class NotCaughtUpError(RefusedError):
    """The timeout was over before the link had caught up."""

    link: str
    waited_s: float
    why: str

    exit_code: ClassVar[int] = 7

    @property
    def message(self) -> str:
        return f"link {self.link!r} has not caught up within {duration(self.waited_s)}: {self.why}"

    _hint = "`anabranch link show {link}` says what holds it up; wait again with a longer --timeout"


@dataclass(eq=False)
class LanesStoppedError(RefusedError):
    """Lanes have stopped, so that the link cannot catch up."""

    link: str
    lane: str
    more: int
    why: str
    way: str

    @property
    def message(self) -> str:
        others = f", and {count(self.more)} more" if self.more else ""
        return f"link {self.link!r} does not catch up: lane {self.lane} has stopped: {self.why}{others}"

    @property
    def hint(self) -> str:
        return self.way or f"anabranch link show {self.link}"


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
    from anabranch.operations.links.caughtup import check_held, goal
    from anabranch.operations.links.status import LinkStatusReader

    async with on_both(ctx, link, target_name) as (source, target):
        aim = await goal(source, target, link)
        statuses = LinkStatusReader(target)
        found, status = await until_within(aim, lambda: statuses.of(link), lag, longest_s, Console(stderr=True))
        await check_held(target, status)
    where = f"what {source.name} held at {moment(aim.read_at_ms)} UTC"
    does = f"lacks {count(found.records)} records of" if found.records else "has copied"
    value = {"link": link, "read_at_ms": aim.read_at_ms, "behind": found.records}
    emit(value, Text(f"link {link} {does} {where}"), output)


async def until_within(
    goal: Goal,
    read: Callable[[], Awaitable[LinkStatus]],
    lag: int,
    longest_s: float | None,
    console: Console,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[Remaining, LinkStatus]:
    """Look every second until no lane is further behind than ``lag``, and return what was seen then.

    Raises NotCaughtUpError, LanesStoppedError.
    """
    began, first, told = clock(), 0, ""
    with Live(console=console, auto_refresh=False, transient=True) as live:
        while True:
            status = await read()
            found = remaining_of(goal, status)
            first = max(first, found.records)
            if found.within(lag):
                return found, status
            if found.stopped:
                raise _stopped(goal.link, found)
            if longest_s is not None and clock() - began >= longest_s:
                raise NotCaughtUpError(goal.link, longest_s, why(found, status))
            if console.is_terminal:
                live.update(_bar(found, first, status), refresh=True)
            elif (line := why(found, status)) != told:
                console.print(line, markup=False, highlight=False, soft_wrap=True)
                told = line
            await sleep(INTERVAL_S)


def why(found: Remaining, status: LinkStatus) -> str:
    """What is left, in words."""
    number = sum(1 for one in found.behind.values() if one)
    waiting = len(found.not_begun) or found.missing
    parts = [f"{count(found.records)} records of {render.lanes_of(number)} left"] if found.records else []
    parts += [f"{render.lanes_of(waiting)} not begun"] if waiting else []
    state = render.state_of(status, totals(status)).plain
    return ", ".join([*parts, f"the link is {state}"])


def _bar(found: Remaining, first: int, status: LinkStatus) -> RenderableType:
    done = 1 - found.records / first if first else 0.0
    return Group(ProgressBar(total=1.0, completed=done, width=40), Text(why(found, status)))


def _stopped(link: str, found: Remaining) -> LanesStoppedError:
    lane = found.stopped[0]
    ways = ways_out(lane.stop_reason, link, lane.source.topic, lane.source.partition)
    reason = lane.stop_reason or "no reason persisted"
    return LanesStoppedError(link, str(lane.source), len(found.stopped) - 1, reason, ways[0] if ways else "")
