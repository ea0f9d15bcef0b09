"""``anabranch stream checkpoint``: checkpoints of a stream that are saved under a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.dryrun import ExecuteOption, PlanOption, typed
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.render import grid
from anabranch.cli.service_change import ServiceChange
from anabranch.cli.service_options import ServiceOption, service_of
from anabranch.cli.streams.asking import StreamArgument, change, path_of
from anabranch.cli.words import count, moment, printable
from anabranch.errors import InvalidFieldError


def checkpoint(
    ctx: typer.Context,
    name: StreamArgument,
    save: Annotated[str, typer.Option(metavar="WORD", help="Save those of now under this name.")] = "",
    delete: Annotated[str, typer.Option(metavar="WORD", help="Take the one of this name away.")] = "",
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the checkpoints that were saved of a stream; with --save, save those of a stopped one under a name.

    --delete cannot be taken back: it shows what is deleted, and requires --execute.
    `stream start NAME --from-checkpoint WORD` goes back to one.
    """
    if save and delete:
        raise InvalidFieldError("stream checkpoint", "--save", "choose one of --save and --delete")
    client = service_of(ctx, service)
    if save or delete:
        request = {"stream": name, **({"save": save} if save else {"delete": delete})}
        change(
            client,
            "checkpoint",
            request,
            plan_table,
            changed,
            output,
            execute=execute or not delete,
            wanted=plan,
            command=typed(),
        )
        return
    if execute or plan is not None:
        raise InvalidFieldError("stream checkpoint", "--execute", "there is nothing to apply", "add --delete WORD")
    answer: Any = client.get(f"{path_of(name)}/checkpoints")
    emit(answer, table(answer), output)


def plan_table(shown: ServiceChange) -> RenderableType:
    """What would be saved, or taken away."""
    plan = shown.plan
    verb = "is saved" if plan["verb"] == "save" else "is taken away"
    head = Text(f"checkpoint {plan['name']} of stream {plan['stream']} {verb}; version {plan['version']} ran with it")
    queries = grid("QUERY", "BATCH", "RECORDS BEFORE", right=("BATCH", "RECORDS BEFORE"))
    for one in plan["queries"]:
        queries.add_row(printable(one["query"]), count(one["batch"]), count(one["records"]))
    return Group(head, queries)


def changed(done: Mapping[str, Any]) -> RenderableType:
    """That it was saved, or taken away."""
    verb = "is saved" if done["verb"] == "save" else "is gone"
    return Text(f"checkpoint {done['name']} of stream {done['stream']} {verb}")


def table(answer: Sequence[Mapping[str, Any]]) -> RenderableType:
    """One line a query of each."""
    if not answer:
        return Text("no saved checkpoints; save one of a stopped stream with: --save WORD")
    shown = grid("CHECKPOINT", "SAVED", "BY", "VERSION", "QUERY", "BATCH", right=("VERSION", "BATCH"))
    for one in answer:
        head = one["name"], moment(one["at_ms"]), printable(one["author"]), str(one["version"])
        for query in one["queries"]:
            shown.add_row(*head, printable(query["query"]), count(query["batch"]))
            head = "", "", "", ""
    return shown
