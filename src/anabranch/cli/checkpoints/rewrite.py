"""``anabranch checkpoint plan`` and ``rewrite``: what moving the positions means, and doing exactly that."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Console

from anabranch.checkpoints.plan import StopSavepoint, Transactions, Uncommitted
from anabranch.checkpoints.reports import Planned
from anabranch.cli import port
from anabranch.cli.checkpoints import render as render_checkpoints
from anabranch.cli.checkpoints.options import (
    CheckpointRefusedError,
    DropOption,
    DynamicOption,
    LinkOption,
    MapsOption,
    MergeOption,
    OffsetsOption,
    PathArgument,
    RenameOption,
    RouteFlags,
    SourceOption,
    SplitOption,
    StartOption,
    StayOption,
    StopSavepointOption,
    TargetOption,
    TransactionsOption,
    UncommittedOption,
    WishFlags,
    asked,
    repeated,
    wish,
)
from anabranch.cli.dryrun import ExecuteOption, PlanOption, say_dry_run
from anabranch.cli.hints import quoted
from anabranch.cli.output import Format, FormatOption, console, emit
from anabranch.errors import InvalidFieldError
from anabranch.operations.checkpoints.asked import How


def plan(
    ctx: typer.Context,
    path: PathArgument,
    link: LinkOption = None,
    maps: MapsOption = None,
    offsets: OffsetsOption = None,
    start: StartOption = None,
    target_name: TargetOption = None,
    rename: RenameOption = None,
    stay: StayOption = None,
    source: SourceOption = None,
    split: SplitOption = None,
    merge: MergeOption = None,
    drop: DropOption = None,
    uncommitted: UncommittedOption = Uncommitted.REFUSE,
    transactions: TransactionsOption = Transactions.REFUSE,
    dynamic: DynamicOption = None,
    stop_savepoint: StopSavepointOption = StopSavepoint.REFUSE,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show every position with where it leads, what a naive move would repeat or skip, and every reason not to."""
    route = RouteFlags(link, maps, offsets, start, target_name, rename, stay)
    flags = WishFlags(source, split, merge, drop, uncommitted, transactions, dynamic, stop_savepoint)
    found = port.checkpoints().plan(path, wish(flags), asked(ctx, route))
    emit(found, render_checkpoints.plan(found), output)
    _refuse(found, "it would not be rewritten")
    command = f"anabranch checkpoint rewrite {quoted(path)}{repeated(route, flags)} --execute --plan {found.hash}"
    say_dry_run(command)


def rewrite(
    ctx: typer.Context,
    path: PathArgument,
    link: LinkOption = None,
    maps: MapsOption = None,
    offsets: OffsetsOption = None,
    start: StartOption = None,
    target_name: TargetOption = None,
    rename: RenameOption = None,
    stay: StayOption = None,
    source: SourceOption = None,
    split: SplitOption = None,
    merge: MergeOption = None,
    drop: DropOption = None,
    uncommitted: UncommittedOption = Uncommitted.REFUSE,
    transactions: TransactionsOption = Transactions.REFUSE,
    dynamic: DynamicOption = None,
    stop_savepoint: StopSavepointOption = StopSavepoint.REFUSE,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="PLACE", help="A new place; default is in place, with a backup.", show_default=False
        ),
    ] = None,
    plan_: PlanOption = None,
    stopped: Annotated[
        bool, typer.Option("--stopped", help="The job is stopped, although it has written lately.")
    ] = False,
    finish_command: Annotated[
        str | None,
        typer.Option(
            "--finish-command",
            metavar="COMMAND",
            help="Spark: runs the query once on the old cluster where a batch is not committed. No shell.",
        ),
    ] = None,
    finish_timeout: Annotated[
        float, typer.Option("--finish-timeout", metavar="SECONDS", min=1, help="How long that may take.")
    ] = 600.0,
    execute: ExecuteOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Write the positions anew, in place with a backup or to a new place; the job must be stopped."""
    if plan_ is not None and not execute:
        fix = f"anabranch checkpoint plan {quoted(path)} shows the hash"
        raise InvalidFieldError("checkpoint rewrite", "--plan", "it belongs to --execute", fix)
    if plan_ is not None and finish_command is not None:
        fix = "leave --plan away: the plan is made when the batch is finished"
        raise InvalidFieldError("checkpoint rewrite", "--plan", "it cannot be known before --finish-command", fix)
    route = RouteFlags(link, maps, offsets, start, target_name, rename, stay)
    flags = WishFlags(source, split, merge, drop, uncommitted, transactions, dynamic, stop_savepoint)
    way, wanted, engine = asked(ctx, route), wish(flags), port.checkpoints()
    how = How(to, plan_, stopped, finish_command, finish_timeout)
    words = _words(path, repeated(route, flags), how)
    if not execute:
        found = engine.plan(path, wanted, way)
        emit(found, render_checkpoints.plan(found), output)
        if finish_command is None:
            _refuse(found, "it would not be rewritten")
        more = "" if finish_command is not None else f" --plan {found.hash}"
        say_dry_run(f"anabranch checkpoint rewrite {words} --execute{more}")
        return
    if plan_ is None and finish_command is None:
        seen = engine.plan(path, wanted, way)
        if output is Format.TABLE:
            console().print(render_checkpoints.plan(seen))
        if seen.refusals:
            if output is not Format.TABLE:
                emit(seen, render_checkpoints.plan(seen), output)
            _refuse(seen, "it was not rewritten")
        how = replace(how, fingerprint=seen.hash)
    done = engine.rewrite(path, wanted, way, how)
    emit(done, render_checkpoints.done(done, whole=plan_ is not None or finish_command is not None), output)
    _refuse(done.plan, "it was not rewritten")
    if done.executed:
        check = f"anabranch checkpoint verify {quoted(to or path)}{repeated(route, flags)}"
        check += "" if to is None else f" --was {quoted(path)}"
        Console(stderr=True).print(f"prove it with: {check}", markup=False, highlight=False, soft_wrap=True)


def _words(path: str, typed: str, how: How) -> str:
    """The command's words as they were typed."""
    words = f"{quoted(path)}{typed}"
    words += "" if how.to is None else f" --to {quoted(how.to)}"
    words += " --stopped" if how.stopped else ""
    words += "" if how.finish is None else f" --finish-command {quoted(how.finish)}"
    return words


def _refuse(found: Planned, what: str) -> None:
    if found.refusals:
        raise CheckpointRefusedError(what, len(found.refusals), next="each reason above names its next step")
