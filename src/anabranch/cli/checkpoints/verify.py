"""``anabranch checkpoint verify``: read a rewritten checkpoint again, and prove its positions."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.checkpoints.plan import PendingTransactions, RewriteSpec, StopSavepoint, Uncommitted
from anabranch.checkpoints.reports import VerificationReport
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
    rewrite_spec,
    translation_source,
)
from anabranch.cli.located import contexts
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.running import run
from anabranch.operations.checkpoints.translation_source import TranslationSource


def verify(
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
    was: Annotated[
        str | None,
        typer.Option(
            "--was", metavar="PATH", help="What it was made from; default is its own backup.", show_default=False
        ),
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """State for each source that it starts where the map says, inside of the target's log, and nothing else differs.

    --was names what it was made from, where that is not its own backup. See docs/reference/checkpoints.md.
    """
    route = RouteFlags(link, maps, offsets, start, target_name, rename, stay)
    flags = RewriteFlags(source, split, merge, drop, uncommitted, transactions, dynamic, stop_savepoint)
    found = run(_verify(ctx, path, rewrite_spec(flags), translation_source(ctx, route), was))
    emit(found, render_checkpoints.proof(found), output)
    wrong = sum(bool(one.problem) for one in found.proofs) + len(found.problems)
    if wrong:
        hint = "do not start the job from it; `anabranch checkpoint undo` takes a rewrite in place back"
        raise CheckpointRefusedError(f"{found.path} is not as it must be", wrong, "problem", hint)


async def _verify(
    ctx: typer.Context, path: str, wanted: RewriteSpec, by: TranslationSource, was: str | None
) -> VerificationReport:
    from anabranch.kafka.clusters import Clusters
    from anabranch.operations.checkpoints import verify as operation

    async with Clusters(contexts(ctx).get) as clusters:
        return await operation.verify(clusters, path, wanted, by, was)
