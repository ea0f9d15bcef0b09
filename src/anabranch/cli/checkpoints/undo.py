"""``anabranch checkpoint undo``: undo a rewrite in place, byte for byte."""

from __future__ import annotations

from functools import partial

from anabranch.checkpoints.reports import UndoRewritePlan
from anabranch.cli.applying import PlannedChange, apply_change
from anabranch.cli.checkpoints import render as render_checkpoints
from anabranch.cli.checkpoints.options import CheckpointRefusedError, PathArgument
from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.hints import quoted
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.running import run


def undo(
    path: PathArgument,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Restore the bytes from before the newest rewrite in place, also of one that broke off.

    A dry run shows what the newest rewrite in place has replaced.
    """
    run(_undo(path, execute, plan, output))


async def _undo(path: str, execute: bool, wanted: str | None, output: Format) -> None:
    from anabranch.operations.checkpoints import undo as operation

    change = PlannedChange(
        command=f"anabranch checkpoint undo {quoted(path)}",
        what=path,
        plan=lambda: operation.plan(path),
        apply=operation.apply,
        table=render_checkpoints.undo,
        done_table=partial(render_checkpoints.undone, whole=wanted is not None),
        empty=lambda plan: bool(plan.refusals),
        refuse=_refuse,
    )
    await apply_change(change, execute=execute, wanted=wanted, output=output)


def _refuse(plan: UndoRewritePlan) -> None:
    if plan.refusals:
        raise CheckpointRefusedError("it cannot be undone", len(plan.refusals))
