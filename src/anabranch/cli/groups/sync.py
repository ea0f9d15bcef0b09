"""``anabranch groups plan`` and ``anabranch groups sync``: what moving groups means, and doing exactly that."""

from __future__ import annotations

from collections.abc import Callable

import typer

from anabranch.cli import port
from anabranch.cli.dryrun import ExecuteOption, PlanOption, say_dry_run
from anabranch.cli.groups import render as render_groups
from anabranch.cli.groups.options import (
    ExcludeOption,
    GroupsArgument,
    GroupsRefusedError,
    TopicsOption,
    arguments,
    clusters,
    selection,
)
from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.output import Format, FormatOption, console, emit
from anabranch.errors import InvalidFieldError
from anabranch.groups.plan import GroupsPlan, Step


def plan(
    ctx: typer.Context,
    link: LinkArgument,
    groups: GroupsArgument = None,
    exclude: ExcludeOption = None,
    topics: TopicsOption = None,
    target_name: TargetOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show per group and partition where it stands, where it would stand on the target, and every reason not to."""
    chosen = selection(groups, exclude, topics)
    found = port.groups().sync(*clusters(ctx, link, target_name), link, chosen, execute=False)
    _show(found, link, arguments(groups, exclude, topics, target_name), output)


def sync(
    ctx: typer.Context,
    link: LinkArgument,
    groups: GroupsArgument = None,
    exclude: ExcludeOption = None,
    topics: TopicsOption = None,
    target_name: TargetOption = None,
    execute: ExecuteOption = False,
    plan_: PlanOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Move groups to the target, each wholly or not at all; their consumers must be stopped on both sides."""
    if plan_ is not None and not execute:
        raise InvalidFieldError("groups sync", "--plan", "it belongs to --execute", f"anabranch groups plan {link}")
    chosen = selection(groups, exclude, topics)
    both = clusters(ctx, link, target_name)
    engine = port.groups()
    words = arguments(groups, exclude, topics, target_name)
    fingerprint = plan_
    if plan_ is None:
        seen = engine.sync(*both, link, chosen, execute=False)
        if not execute:
            _show(seen, link, words, output)
            return
        if output is Format.TABLE:
            console().print(render_groups.plan(seen))
        if not seen.of(Step.MOVE):  # nothing to carry out, and all of it was said
            if output is not Format.TABLE:
                emit(seen, render_groups.plan(seen), output)
            _end(seen, link, words)
            return
        fingerprint = seen.fingerprint
    done = _carry_out(lambda: engine.sync(*both, link, chosen, execute=True, fingerprint=fingerprint), words)
    emit(done, render_groups.done(done, reasons=plan_ is not None), output)
    _end(done, link, words)


def _carry_out(move: Callable[[], GroupsPlan], words: str) -> GroupsPlan:
    """Do it; where the plan is no longer that one, the next command is for the same groups."""
    from anabranch.operations.groups.groups import GroupsMovedError

    try:
        return move()
    except GroupsMovedError as error:
        error.selection = words
        raise


def _end(done: GroupsPlan, link: str, words: str) -> None:
    failed = len(done.of(Step.REFUSED)) + len(done.of(Step.FAILED))
    if failed:
        raise GroupsRefusedError("did not move", failed, f"anabranch groups plan {link}{words}")


def _show(found: GroupsPlan, link: str, words: str, output: Format) -> None:
    emit(found, render_groups.plan(found), output)
    if found.of(Step.MOVE):
        command = f"anabranch groups sync {link}{words} --execute --plan {found.fingerprint}"
        say_dry_run(command)
    refused = len(found.of(Step.REFUSED))
    if refused:
        raise GroupsRefusedError("would not be moved", refused, "the plan names every reason and its next step")
