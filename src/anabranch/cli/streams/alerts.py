"""``anabranch stream alerts``: how the alerts of a stream or a link stand, and their rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.render import grid
from anabranch.cli.service_change import ServiceChange
from anabranch.cli.service_options import ServiceOption, service_of
from anabranch.cli.streams.asking import StreamArgument, TargetOfLinkOption, change, path_of
from anabranch.cli.words import printable
from anabranch.model.clock import now_ms
from anabranch.streams.alerts.jobs import AlertedJob


def alerts(
    ctx: typer.Context,
    name: StreamArgument,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="SETTING",
            help="lag=50000, lag.for=5m, slow=off, ...: KIND is alive, lag, restarts or slow. Repeatable.",
            show_default=False,
        ),
    ] = None,
    receivers: Annotated[
        list[str] | None,
        typer.Option("--to", help="Who is told, by the names in the service's file, or all.", show_default=False),
    ] = None,
    target: TargetOfLinkOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show the alerts of a stream or a link and their rules; with --set or --to, change the rules."""
    client = service_of(ctx, service)
    if settings or receivers:
        request = {"stream": name, "settings": settings or [], "receivers": receivers, "target": target or ""}
        change(client, "alerts", request, rules_plan, changed, output)
        return
    answer: Any = client.get(f"{path_of(name)}/alerts", target=target)
    emit(answer, table(answer, now_ms()), output)


def rules_plan(shown: ServiceChange) -> RenderableType:
    """The rules that it would have."""
    return _rules(shown.plan)


def changed(done: Mapping[str, Any]) -> RenderableType:
    """That they were changed."""
    return Text(f"the alerts of {AlertedJob(done['stream'], done['target']).words} are changed")


def table(answer: Mapping[str, Any], now: int) -> RenderableType:
    """How the alerts stand, then their rules."""
    stand = grid("ALERT", "QUERY", "STATE", "FOR", "WHY", right=("FOR",))
    for one in answer["alerts"]:
        since = f"{max(0, now - one['since_ms']) // 1000:,} s"
        stand.add_row(one["kind"], printable(one["query"]), one["state"], since, printable(one["words"]))
    head: RenderableType = stand if answer["alerts"] else Text("no alert")
    return Group(head, Text(), _rules(answer))


def _rules(fields: Mapping[str, Any]) -> RenderableType:
    rules = grid("RULE", "LIMIT", "FOR", "", right=("LIMIT", "FOR"))
    for one in fields["rules"]:
        limit = "" if one["kind"] == "alive" else f"{one['limit']:,g}"
        note = "off" if not one["is_on"] else "changed" if one.get("is_changed") else ""
        rules.add_row(one["kind"], limit, f"{one['for_s']:,g} s", note)
    who = ", ".join(fields["receivers"]) or "nobody: the service's file names no receiver"
    return Group(rules, Text(f"told to {who}"))
