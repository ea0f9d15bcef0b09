"""``anabranch migrate access``: the access rules and quotas that a migration's waves are to have on the target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.applying import PlannedChange, apply_change, check_flags
from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.hints import quoted
from anabranch.cli.located import contexts
from anabranch.cli.migrations.asking import loaded
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.render import findings, grid
from anabranch.cli.running import on_context, run
from anabranch.cli.words import count
from anabranch.migration.access.diff import QuotaChange
from anabranch.migration.access.wave import WaveAccess
from anabranch.migration.spec import Migration
from anabranch.model.acls import Acl
from anabranch.model.cluster import ClusterContext
from anabranch.model.quotas import entity_text

if TYPE_CHECKING:  # imported when the verb runs, so that ``--help`` and completion stay quick
    from anabranch.operations.migrations.access import AccessPlan, AccessReport

_RULE_COLUMNS = ("PERMISSION", "OPERATION", "RESOURCE", "NAME", "PATTERN", "PRINCIPAL", "HOST")


def access(
    ctx: typer.Context,
    file: Annotated[Path, typer.Option("-f", "--file", help="Migration file (YAML).", show_default=False)],
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Carry access rules and quotas of waves that are not switched yet over to the target.

    Shows what is made, changed and deleted there, and what of the source is not carried over and why. Nothing that was
    not made by this verb, or by a start or a switch, is deleted or changed. A plan's hash covers what is done.

    See docs/how-to/migrate.md.
    """
    command = f"anabranch migrate access -f {quoted(str(file))}"
    check_flags(command, execute, plan)
    migration = loaded(file)
    known = contexts(ctx)
    run(_access(known.get(migration.source), known.get(migration.target), migration, command, execute, plan, output))


async def _access(
    source: ClusterContext,
    target: ClusterContext,
    migration: Migration,
    command: str,
    execute: bool,
    wanted: str | None,
    output: Format,
) -> None:
    from anabranch.operations.migrations import access as operation

    async with on_context(source) as here, on_context(target) as there:
        change = PlannedChange(
            command=command,
            what=f"access of migration {migration.name!r}",
            plan=lambda: operation.plan(here, there, migration),
            apply=lambda planned: operation.apply(here, there, planned),
            table=_planned,
            done_table=_done,
            empty=lambda planned: not planned.changes,
        )
        await apply_change(change, execute=execute, wanted=wanted, output=output)


def _planned(plan: AccessPlan) -> RenderableType:
    parts: list[RenderableType] = []
    for wave in plan.waves:
        parts += _wave(wave)
    parts.append(findings(plan.reasons))
    verdict = "" if plan.changes else f"nothing to do on {plan.target}; "
    parts.append(Text(f"{verdict}plan {plan.hash}"))
    return Group(*parts)


def _wave(wave: WaveAccess) -> Iterator[RenderableType]:
    found = wave.changes
    if found.create or found.delete:
        yield Text(f"wave {wave.wave}", style="bold")
        table = grid("", *_RULE_COLUMNS)
        for what, rules in (("propose" if wave.is_proposed else "make", found.create), ("delete", found.delete)):
            for rule in rules:
                table.add_row(what, *_rule(rule))
        yield table
    if found.quotas:
        yield _quotas(found.quotas)


def _rule(rule: Acl) -> tuple[str, ...]:
    resource = rule.resource_type.value, rule.resource_name, rule.pattern.value
    return rule.permission.value, rule.operation.value, *resource, rule.principal, rule.host


def _quotas(changes: tuple[QuotaChange, ...]) -> RenderableType:
    table = grid("QUOTA", "OF", "NOW", "THEN", right=("NOW", "THEN"))
    for change in changes:
        table.add_row(change.name, entity_text(change.entity), *map(_value, (change.before, change.value)))
    return table


def _value(value: float | None) -> str:
    return "-" if value is None else f"{value:,.10g}"


def _done(done: AccessReport) -> RenderableType:
    numbers = (
        f"access rules made: {count(len(done.created))}, deleted: {count(len(done.deleted))}, "
        f"quotas changed: {count(len(done.quotas))}"
    )
    return Text(f"{done.target}: {numbers}")
