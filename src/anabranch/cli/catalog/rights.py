"""``anabranch catalog grant``, ``revoke``, ``set`` and ``group``: who may use what, and who owns it."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.applying import check_flags
from anabranch.cli.catalog import render
from anabranch.cli.catalog.changing import CatalogVerb, change
from anabranch.cli.catalog.options import EntryKind, KindOption, Level
from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.hints import quoted
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.service_options import ServiceOption, repeated_service, service_of
from anabranch.errors import InvalidFieldError
from anabranch.streams.grants import Privilege

PrivilegeArgument = Annotated[Privilege, typer.Argument(help="manage includes the others.", show_default=False)]
SecurableArgument = Annotated[str, typer.Argument(metavar="NAME", help="What it is on.", show_default=False)]
PrincipalArgument = Annotated[
    str, typer.Argument(metavar="PRINCIPAL", help="user:NAME or group:NAME.", show_default=False)
]
OnOption = Annotated[Level, typer.Option("--on", help="What the name is of.")]


def grant(
    ctx: typer.Context,
    privilege: PrivilegeArgument,
    name: SecurableArgument,
    principal: PrincipalArgument,
    on: OnOption = Level.OBJECT,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Give somebody a privilege on a table, view or function, on a database or on a catalog, and on all below it."""
    _privilege(ctx, "grant", (privilege, name, principal, on), execute, plan, service, output)


def revoke(
    ctx: typer.Context,
    privilege: PrivilegeArgument,
    name: SecurableArgument,
    principal: PrincipalArgument,
    on: OnOption = Level.OBJECT,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Take a privilege back; one that was given above, or to a group, stays."""
    _privilege(ctx, "revoke", (privilege, name, principal, on), execute, plan, service, output)


def _privilege(
    ctx: typer.Context,
    word: str,
    given: tuple[Privilege, str, str, Level],
    execute: bool,
    plan: str | None,
    service: str | None,
    output: Format,
) -> None:
    privilege, name, principal, on = given
    typed = f"anabranch catalog {word} {privilege.value} {quoted(name)} {quoted(principal)} --on {on.value}"
    typed += repeated_service(service)
    check_flags(typed, execute, plan)
    request = {"privilege": privilege.value, "name": name, "principal": principal, "on": on.value}
    verb = CatalogVerb(
        *(word, request, typed, f"the grants on {name}", "anabranch catalog grants"), render.granting, render.granted
    )
    change(service_of(ctx, service), verb, execute=execute, wanted=plan, output=output)


def set_entry(
    ctx: typer.Context,
    name: SecurableArgument,
    kind: KindOption = EntryKind.OBJECT,
    owner: Annotated[str | None, typer.Option(help="An account.", show_default=False)] = None,
    description: Annotated[str | None, typer.Option(help="What it is.", show_default=False)] = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Change an owner or a description."""
    if owner is None and description is None:
        raise InvalidFieldError("catalog set", "--owner", "nothing to change was given", "add --owner or --description")
    typed = f"anabranch catalog set {quoted(name)} --kind {kind.value}"
    typed += "" if owner is None else f" --owner {quoted(owner)}"
    typed += ("" if description is None else f" --description {quoted(description)}") + repeated_service(service)
    check_flags(typed, execute, plan)
    more = {"owner": owner, "description": description}
    request = {"name": name, "kind": kind.value, **{key: one for key, one in more.items() if one is not None}}
    look = f"anabranch catalog show {quoted(name)}"
    verb = CatalogVerb("set", request, typed, name, look, render.setting, render.entry_set)
    change(service_of(ctx, service), verb, execute=execute, wanted=plan, output=output)


def group(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="GROUP", help="It is there while it has accounts.", show_default=False)
    ],
    add: Annotated[list[str] | None, typer.Option(metavar="ACCOUNT", help="Comes in.", show_default=False)] = None,
    remove: Annotated[list[str] | None, typer.Option(metavar="ACCOUNT", help="Goes.", show_default=False)] = None,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Have accounts in a group, and others not; an admin may."""
    if not add and not remove:
        raise InvalidFieldError("catalog group", "--add", "nothing to change was given", "add --add or --remove")
    typed = f"anabranch catalog group {quoted(name)}"
    for word, accounts in (("add", add), ("remove", remove)):
        typed += "".join(f" --{word} {quoted(one)}" for one in accounts or ())
    typed += repeated_service(service)
    check_flags(typed, execute, plan)
    request = {"group": name, "add": add or [], "remove": remove or []}
    verb = CatalogVerb(
        *("group", request, typed, f"group {name}", "anabranch catalog groups"), render.grouping, render.grouped
    )
    change(service_of(ctx, service), verb, execute=execute, wanted=plan, output=output)
