"""The one way from a plan to what it does: shown always, applied with ``--execute``, only while it holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from rich.console import RenderableType

from anabranch.cli.dryrun import say_dry_run
from anabranch.cli.output import Format, console, emit
from anabranch.errors import InvalidFieldError
from anabranch.model.plans import Plan, PlanChangedError

P = TypeVar("P", bound=Plan)
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanToShow(Generic[P]):
    """What a verb would do, and how that is told.

    ``command`` is the verb as it was typed, without ``--execute`` and ``--plan``; ``what`` is what it changes.
    ``refuse`` raises the error that gives the verb its exit code where the plan has refusals, ``forbids`` says whether
    these keep all of it from being applied.  A plan that is ``empty`` is never applied.
    """

    command: str
    what: str
    plan: Callable[[], Awaitable[P]]
    table: Callable[[P], RenderableType]
    empty: Callable[[P], bool] = field(default=lambda _: False)
    refuse: Callable[[P], None] = field(default=lambda _: None)
    forbids: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange(PlanToShow[P], Generic[P, R]):
    """A verb that plans and applies, and how both are told.

    ``refuse_done`` raises the error that gives the verb its exit code where what came of it has refusals.
    """

    apply: Callable[[P], Awaitable[R]]
    done_table: Callable[[R], RenderableType]
    refuse_done: Callable[[R], None] = field(default=lambda _: None)


def check_flags(command: str, execute: bool, wanted: str | None) -> None:
    """Raise InvalidFieldError where ``--plan`` was typed without ``--execute``."""
    if wanted is not None and not execute:
        verb = command.removeprefix("anabranch ")
        raise InvalidFieldError(verb, "--plan", "it requires --execute", f"{command} --execute --plan {wanted}")


async def agreed(change: PlanToShow[P], *, execute: bool, wanted: str | None, output: Format) -> P | None:
    """The plan that is to be applied, None where it was only shown: without ``execute``, or where it is empty.

    Raises PlanChangedError where ``wanted`` is not None and the plan is another one.
    """
    check_flags(change.command, execute, wanted)
    plan = await change.plan()
    if wanted is not None and wanted != plan.hash:
        raise PlanChangedError(change.what, wanted, plan.hash, change.command)
    nothing = change.empty(plan)
    if not execute or nothing:
        emit(plan, change.table(plan), output)
        if change.forbids:
            change.refuse(plan)
        if not execute and not nothing:
            say_dry_run(f"{change.command} --execute --plan {plan.hash}")
        change.refuse(plan)
        return None
    if output is Format.TABLE and wanted is None:
        console().print(change.table(plan))
    return plan


async def apply_change(change: PlannedChange[P, R], *, execute: bool, wanted: str | None, output: Format) -> R | None:
    """Show the plan; with ``execute`` apply it, where ``wanted`` is None or its hash.  Returns what came of it.

    Raises PlanChangedError before anything is done where the plan is another one.
    """
    plan = await agreed(change, execute=execute, wanted=wanted, output=output)
    if plan is None:
        return None
    try:
        done = await change.apply(plan)
    except PlanChangedError as error:
        error.again = change.command
        raise
    emit(done, change.done_table(done), output)
    change.refuse_done(done)
    return done
