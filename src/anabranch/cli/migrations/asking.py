"""Migrations of the service, as verbs of ``anabranch migrate`` ask for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer
from rich.console import RenderableType

from anabranch.cli.applying import PlannedChange, apply_change
from anabranch.cli.completing import migration_names, wave_names
from anabranch.cli.hints import quoted
from anabranch.cli.output import Format
from anabranch.cli.running import run
from anabranch.cli.service_operation import carried_out
from anabranch.config import migration_file
from anabranch.errors import ClusterError, InvalidFieldError, RefusedError
from anabranch.migration.check import check_sound
from anabranch.migration.run import WaveRunState
from anabranch.migration.spec import Migration

if TYPE_CHECKING:  # imported when a verb asks, so that ``--help`` stays quick
    from anabranch.cli.service_client import ServiceClient

MigrationArgument = Annotated[
    str, typer.Argument(metavar="MIGRATION", autocompletion=migration_names, show_default=False)
]
WaveOption = Annotated[
    str | None,
    typer.Option(
        "--wave",
        help="The wave; may be left out of a migration that has one alone.",
        autocompletion=wave_names,
        show_default=False,
    ),
]
OneWaveOption = Annotated[
    str | None,
    typer.Option(
        "--wave", help="This wave alone; default: all of them.", autocompletion=wave_names, show_default=False
    ),
]
FileOption = Annotated[Path, typer.Option("-f", "--file", help="Migration file (YAML).", show_default=False)]


@dataclass(frozen=True, slots=True)
class MigrationChange:
    """A plan as the service answers it; ``id`` is what an approver is handed."""

    id: str
    hash: str
    plan: Mapping[str, Any] = field(hash=False)


@dataclass(eq=False)
class WhichWaveError(RefusedError):
    """A migration has several waves, and none was named."""

    migration: str
    waves: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"migration {self.migration} has {len(self.waves)} waves: {', '.join(self.waves)}"

    _hint = "name one: --wave WAVE"


@dataclass(eq=False)
class ForbiddenMigrationError(RefusedError):
    """Reasons of a plan that was shown forbid it."""

    what: str
    reasons: int

    @property
    def message(self) -> str:
        found = "1 reason is" if self.reasons == 1 else f"{self.reasons:,} reasons are"
        return f"{self.what}: {found} against it"

    _hint = "see to what the table above says, then plan again"


@dataclass(eq=False)
class GoesOnError(ClusterError):
    """The service ended while the end of what it does was waited for; it goes on once that is back."""

    what: str
    migration: str

    _message = "{what}: it goes on once the service is back, which ended meanwhile"
    _hint = "see how it ends: `anabranch migrate show {migration} --wait`"


def path_of(name: str) -> str:
    """The address of a migration."""
    return f"/migrations/{quote(name, safe='')}"


def loaded(file: Path) -> Migration:
    """The migration of a file, in which nothing contradicts itself; raises ConfigError, InvalidMigrationError."""
    migration = migration_file.load(file)
    check_sound(migration, str(file))
    return migration


def document_of(client: ServiceClient, verb: str, name: str | None, file: Path | None) -> tuple[dict[str, Any], str]:
    """The mapping of a migration that was named, or is in a file, and how that was typed.

    Raises InvalidFieldError unless one of both was.
    """
    if file is not None and name is None:
        migration = loaded(file)
        return migration_file.migration_fields(migration), f"-f {quoted(str(file))}"
    if name is not None and file is None:
        return client.get(path_of(name))["document"], quoted(name)
    raise InvalidFieldError(verb, "MIGRATION", "name a migration of the service, or a file with -f")


def wave_of(client: ServiceClient, name: str, wave: str | None) -> str:
    """The wave that was typed, or the only one; raises WhichWaveError."""
    if wave is not None:
        return wave
    known = tuple(str(one["name"]) for one in client.get(path_of(name))["migration"]["waves"])
    if len(known) != 1:
        raise WhichWaveError(name, known)
    return known[0]


def command_of(verb: str, name: str, wave: str | None, *more: str) -> str:
    """A command as it can be typed again."""
    words = ["anabranch", "migrate", verb, quoted(name)]
    words += [] if wave is None else ["--wave", quoted(wave)]
    return " ".join([*words, *more])


def change(
    client: ServiceClient,
    verb: str,
    request: Mapping[str, Any],
    command: str,
    what: str,
    table: Callable[[MigrationChange], RenderableType],
    done: Callable[[Any], RenderableType],
    *,
    execute: bool,
    wanted: str | None,
    output: Format,
) -> None:
    """Have the service plan a verb of migrations, show it, and apply it where that was typed."""

    async def planned() -> MigrationChange:
        answer = await asyncio.to_thread(client.post, f"/migrations/{verb}/plan", request)
        return MigrationChange(answer["id"], answer["hash"], answer["plan"])

    apply_planned(client, planned, command, what, table, done, execute=execute, wanted=wanted, output=output)


def apply_planned(
    client: ServiceClient,
    planned: Callable[[], Awaitable[MigrationChange]],
    command: str,
    what: str,
    table: Callable[[MigrationChange], RenderableType],
    done: Callable[[Any], RenderableType],
    *,
    execute: bool,
    wanted: str | None,
    output: Format,
) -> None:
    """Show a plan of migrations, and apply it where that was typed."""
    made: PlannedChange[MigrationChange, Any] = PlannedChange(
        command=command,
        what=what,
        plan=planned,
        apply=lambda plan: _ended(client, plan, what),
        table=table,
        done_table=done,
        refuse=lambda plan: _refuse(what, plan.plan),
        forbids=True,
    )
    run(apply_change(made, execute=execute, wanted=wanted, output=output))


async def _ended(client: ServiceClient, plan: MigrationChange, what: str) -> Any:
    """The report of what was carried out; raises GoesOnError where that has not ended."""
    report = await carried_out(client, plan.id, plan.hash, "anabranch migrate status")
    for one in (report, *report.get("runs", ())):
        if one.get("state") == WaveRunState.GOING.value:
            raise GoesOnError(what, str(one["migration"]))
    return report


def _refuse(what: str, plan: Mapping[str, Any]) -> None:
    """Raise ForbiddenMigrationError where a reason of a plan forbids it."""
    waves = plan.get("waves") or ()
    reasons = [*plan.get("reasons", ()), *(reason for wave in waves for reason in wave["reasons"])]
    if found := [reason for reason in reasons if reason.get("severity") == "error"]:
        raise ForbiddenMigrationError(what, len(found))
