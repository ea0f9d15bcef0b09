"""``anabranch checkpoint plan`` and ``rewrite``: plan to move the positions, and apply that plan."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import typer

from anabranch.checkpoints.plan import PendingTransactions, StopSavepoint, Uncommitted
from anabranch.cli.applying import PlannedChange, apply_change
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
    RewriteFlags,
    RouteFlags,
    SourceOption,
    SplitOption,
    StartOption,
    StayOption,
    StopSavepointOption,
    TargetOption,
    TransactionsOption,
    UncommittedOption,
    repeated,
    rewrite_spec,
    translation_source,
)
from anabranch.cli.dryrun import ExecuteOption, PlanOption, say_dry_run
from anabranch.cli.hints import quoted
from anabranch.cli.located import contexts
from anabranch.cli.output import Format, FormatOption, emit, error_console
from anabranch.cli.running import run
from anabranch.errors import InvalidFieldError
from anabranch.model.reasons import Reason
from anabranch.operations.checkpoints.plans import RewriteRequest


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
    transactions: TransactionsOption = PendingTransactions.REFUSE,
    dynamic: DynamicOption = None,
    stop_savepoint: StopSavepointOption = StopSavepoint.REFUSE,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show where every position leads, what an unmodified restart would repeat or skip, and every refusal.

    Exactly one of --link, --maps, --offsets and --start says where positions lead. All options and refusals:
    docs/reference/checkpoints.md.
    """
    route = RouteFlags(link, maps, offsets, start, target_name, rename, stay)
    flags = RewriteFlags(source, split, merge, drop, uncommitted, transactions, dynamic, stop_savepoint)
    request = RewriteRequest(path, rewrite_spec(flags), translation_source(ctx, route))
    run(_rewrite(ctx, request, _Typed(route, flags), False, None, output))


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
    transactions: TransactionsOption = PendingTransactions.REFUSE,
    dynamic: DynamicOption = None,
    stop_savepoint: StopSavepointOption = StopSavepoint.REFUSE,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="PATH", help="A new path; default is in place, with a backup.", show_default=False
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
    """Write translated positions, in place with a backup or to a new path; the job must be stopped.

    Shows what `checkpoint plan` shows; with --execute does exactly that. See docs/reference/checkpoints.md.
    """
    if plan_ is not None and finish_command is not None:
        fix = "leave --plan away: the plan is made when the batch is finished"
        raise InvalidFieldError("checkpoint rewrite", "--plan", "it cannot be known before --finish-command", fix)
    route = RouteFlags(link, maps, offsets, start, target_name, rename, stay)
    flags = RewriteFlags(source, split, merge, drop, uncommitted, transactions, dynamic, stop_savepoint)
    request = RewriteRequest(path, rewrite_spec(flags), translation_source(ctx, route), to, stopped)
    typed = _Typed(route, flags, finish_command, finish_timeout)
    run(_rewrite(ctx, request, typed, execute, plan_, output))


@dataclass(frozen=True, slots=True)
class _Typed:
    """What was typed beside the request, or is repeated in a hint as it was typed."""

    route: RouteFlags
    flags: RewriteFlags
    finish: str | None = None
    finish_s: float = 600.0

    def command(self, request: RewriteRequest) -> str:
        """The rewrite, without what applies it."""
        words = f"anabranch checkpoint rewrite {quoted(request.path)}{repeated(self.route, self.flags)}"
        words += "" if request.to is None else f" --to {quoted(request.to)}"
        words += " --stopped" if request.stopped else ""
        return words + ("" if self.finish is None else f" --finish-command {quoted(self.finish)}")

    def proof(self, request: RewriteRequest) -> str:
        """What proves its result."""
        words = f"anabranch checkpoint verify {quoted(request.to or request.path)}{repeated(self.route, self.flags)}"
        return words + ("" if request.to is None else f" --was {quoted(request.path)}")


async def _rewrite(
    ctx: typer.Context, request: RewriteRequest, typed: _Typed, execute: bool, wanted: str | None, output: Format
) -> None:
    from anabranch.kafka.clusters import Clusters
    from anabranch.operations.checkpoints import finish
    from anabranch.operations.checkpoints import rewrite as operation
    from anabranch.operations.checkpoints.errors import PlanRefusedError

    command = typed.command(request)
    if typed.finish is not None and execute:
        batch = await finish.finish(request.path, typed.finish, typed.finish_s, request.stopped)
        request = replace(request, finished=batch)
    async with Clusters(contexts(ctx).get) as clusters:
        if typed.finish is not None and not execute:  # its hash cannot be known before the batch is finished
            seen = await operation.plan(clusters, request)
            emit(seen, render_checkpoints.plan(seen), output)
            say_dry_run(f"{command} --execute")
            return
        change = PlannedChange(
            command=command,
            what=request.path,
            plan=lambda: operation.plan(clusters, request),
            apply=lambda plan: operation.apply(clusters, plan),
            table=render_checkpoints.plan,
            done_table=partial(render_checkpoints.done, whole=wanted is not None),
            empty=lambda plan: plan.empty,
            refuse=lambda plan: _refuse(plan.refusals, execute),
        )
        try:
            done = await apply_change(change, execute=execute, wanted=wanted, output=output)
        except PlanRefusedError as error:
            emit(error.plan, render_checkpoints.refused(error.plan), output)
            _refuse(error.refusals, execute)
            raise
    if done is not None:
        text = f"prove it with: {typed.proof(request)}"
        error_console().print(text, highlight=False, soft_wrap=True)


def _refuse(refusals: Collection[Reason], execute: bool) -> None:
    if refusals:
        what = "it was not rewritten" if execute else "it would not be rewritten"
        raise CheckpointRefusedError(what, len(refusals), next="each reason above names its next step")
