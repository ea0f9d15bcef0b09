"""``anabranch verify show``: the status of a comparison, or its report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.output import Format, FormatOption, emit, error_console
from anabranch.cli.running import on_target, run
from anabranch.cli.verify import render
from anabranch.cli.verify.guard import COULD_NOT_TELL
from anabranch.cli.verify.watch import followed
from anabranch.state.codecs.verified import VerifyStatus
from anabranch.verify.page import page as make_page
from anabranch.verify.report import ComparisonVerdict


def show(
    ctx: typer.Context,
    link: LinkArgument,
    target_name: TargetOption = None,
    live: Annotated[bool, typer.Option("--watch", "-w", help="Follow it to its end; Ctrl-C detaches.")] = False,
    report: Annotated[Path | None, typer.Option(help="Write the report there (JSON).", show_default=False)] = None,
    page: Annotated[Path | None, typer.Option(help="Write the report there (HTML).", show_default=False)] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show the last comparison of a link and exit with its verdict; one that runs has none: 2.

    While it runs --watch follows it. See docs/reference/verify.md.
    """
    found = run(_show(ctx, link, target_name, live))
    made = found.own_report
    if made is not None and report is not None:
        report.write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if made is not None and page is not None:
        page.write_text(make_page(made), encoding="utf-8")
    emit({"run": found.run, "lanes": found.lanes, "report": made}, render.status(found), output)
    raise typer.Exit(COULD_NOT_TELL if made is None else ComparisonVerdict(made["verdict"]).exit_code)


async def _show(ctx: typer.Context, link: str, target_name: str | None, live: bool) -> VerifyStatus:
    from anabranch.operations.verify import show as operation

    async with on_target(ctx, target_name) as target:
        found = await operation.show(target, link)
        if live and found.running:
            console = error_console()
            found = await followed(lambda tell: operation.follow(target, link, tell), console) or found
        return found
