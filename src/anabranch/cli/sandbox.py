"""``anabranch sandbox``: real Kafka clusters on this machine, in the background until ``down``."""

from __future__ import annotations

import signal
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from anabranch.cli import render
from anabranch.cli.output import Format, FormatOption, console, emit
from anabranch.config import contexts as store
from anabranch.errors import InvalidFieldError
from anabranch.sandbox.background import bring_up, proxy_of, take_down
from anabranch.sandbox.flights import TOPICS
from anabranch.sandbox.replay_plan import ReplayPlan, ReplayReport
from anabranch.sandbox.spec import ClusterSpec, ListenerSecurity
from anabranch.sandbox.state import Home, SandboxState

app = typer.Typer(help="Real Kafka clusters on this machine.", no_args_is_help=True)

_FOLLOW_SECONDS = 0.2
_CONDITION_STYLES = {"up": "green", "starting": "yellow", "degraded": "red", "failed": "red", "dead": "red"}


def _home() -> Home:
    return Home.find(Path.cwd())


def _complete(incomplete: str) -> list[str]:
    return [name for name in _home().names() if name.startswith(incomplete)]


_Name = Annotated[str, typer.Argument(metavar="NAME", autocompletion=_complete, show_default=False)]


class Order(StrEnum):
    """What a proxy can be told."""

    STALL = "stall"
    CUT = "cut"
    DELAY = "delay"
    CLEAR = "clear"
    SHOW = "show"


def parse_cluster(text: str, **settings: Any) -> ClusterSpec:
    """The spec of ``NAME[:VERSION[:BROKERS]]``; raises ``InvalidFieldError``."""
    name, *rest = text.split(":")
    if len(rest) > 2 or (len(rest) == 2 and not rest[1].isdigit()):
        raise InvalidFieldError("--cluster", text, "not NAME[:VERSION[:BROKERS]]", "write it as old:3.9.1:3")
    if rest and rest[0]:
        settings["version"] = rest[0]
    if len(rest) == 2:
        settings["brokers"] = int(rest[1])
    return ClusterSpec(name, **settings)


def _pairs(texts: list[str], flag: str) -> dict[str, str]:
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InvalidFieldError(flag, text, "not KEY=VALUE", f"write it as {flag} log.segment.bytes=1048576")
        pairs[key] = value
    return pairs


def _contexts(ctx: typer.Context, home: Home) -> store.Contexts:
    flag: Path | None = ctx.find_root().obj
    return store.load(store.Location(flag or home.path / "contexts.yaml", "sandbox"))


@app.command()
def up(
    ctx: typer.Context,
    cluster: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[:VERSION[:BROKERS]]", help="Repeatable; default: old and new.", show_default=False),
    ] = None,
    security: Annotated[str, typer.Option(help=f"One of {', '.join(ListenerSecurity)}.")] = "PLAINTEXT",
    proxied: Annotated[bool, typer.Option("--proxied", help="Put a proxy before each broker.")] = False,
    authorizer: Annotated[bool, typer.Option("--authorizer", help="Deny what no ACL allows, but to admin.")] = False,
    heap_mb: Annotated[int, typer.Option(min=128, help="Each broker's heap in MB.")] = 512,
    override: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A server property.", show_default=False)
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Start clusters, wait until they are ready and write their contexts.

    See docs/how-to/sandbox.md.
    """
    home = _home()
    settings: dict[str, Any] = {
        "security": security,
        "proxied": proxied,
        "authorizer": authorizer,
        "heap_mb": heap_mb,
        "overrides": _pairs(override or [], "--set"),
    }
    specs = [parse_cluster(text, **settings) for text in cluster or ["old", "new"]]
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        raise InvalidFieldError("--cluster", ", ".join(names), "a name is given twice", "give each its own name")
    with _spinner(f"starting {', '.join(names)}"):
        states = bring_up(home, specs)
    contexts = _contexts(ctx, home)
    for state in states:
        contexts = store.add(contexts, state.name, state.context or {}, replace=True)
    store.save(contexts)
    _emit(states, output, f"contexts are in {contexts.location.path}; stop with: anabranch sandbox down")


@app.command()
def status(output: FormatOption = Format.TABLE) -> None:
    """Show the clusters, and their processes that are dead."""
    home = _home()
    _emit([home.read(name) for name in home.names()], output, f"kept in {home.path / 'sandbox'}")


@app.command()
def logs(
    name: _Name,
    broker: Annotated[int, typer.Option(min=1, max=3, help="The broker's id.")] = 1,
    lines: Annotated[int, typer.Option("-n", "--lines", min=0, help="The last so many lines; 0: all.")] = 50,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until Ctrl-C.")] = False,
) -> None:
    """Print a broker's log."""
    state = _home().read(name)
    found = [process for process in state.brokers if process.node_id == broker]
    if not found:
        fix = f"anabranch sandbox status shows the brokers of {name}"
        raise InvalidFieldError(f"sandbox cluster {name!r}", "broker", f"there is no broker {broker}", fix)
    with Path(found[0].log).open(encoding="utf-8", errors="replace") as file:
        text = file.readlines()
        typer.echo("".join(text[-lines:] if lines else text), nl=False)
        while follow:
            more = file.read()
            if more:
                typer.echo(more, nl=False)
            elif not found[0].alive:
                return
            else:
                time.sleep(_FOLLOW_SECONDS)


@app.command()
def down(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", autocompletion=_complete, show_default=False)
    ] = None,
) -> None:
    """Stop clusters (all, if none is named) and remove their data and contexts."""
    home = _home()
    for name in names or home.names():
        state = home.read(name)
        killed = take_down(home, name)
        contexts = _contexts(ctx, home)
        # A context of that name that somebody has pointed elsewhere since is not ours to remove.
        known = contexts.contexts.get(name)
        if known is not None and ",".join(known.bootstrap) == state.bootstrap:
            store.save(store.remove(contexts, name))
        note = f" (killed: {', '.join(killed)})" if killed else ""
        typer.echo(f"{name} is down{note}")


@app.command()
def replay(
    name: _Name,
    topic: Annotated[
        list[str] | None, typer.Option(help=f"Repeatable: {', '.join(TOPICS)}; default: all.", show_default=False)
    ] = None,
    rate: Annotated[
        float | None, typer.Option(min=0.1, help="Records/s over all topics; default: unlimited.", show_default=False)
    ] = None,
    partitions: Annotated[int, typer.Option(min=1, help="Of topics that are created.")] = 6,
    loop: Annotated[bool, typer.Option("--loop", help="Begin again at the end, until Ctrl-C.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after so many records.", show_default=False)] = None,
    compression: Annotated[str, typer.Option(help="lz4, gzip or none.")] = "lz4",
    output: FormatOption = Format.TABLE,
) -> None:
    """Feed the flights, weather and planes of New York in 2013 into a cluster."""
    # Here, because it loads the Kafka client, which the other verbs do without.
    from anabranch.sandbox.replay import replay as feed

    state = _home().read(name)
    if compression not in ("lz4", "gzip", "none"):
        raise InvalidFieldError("--compression", compression, "not supported", "use lz4, gzip or none")
    codec = None if compression == "none" else compression
    plan = ReplayPlan(tuple(topic or TOPICS), partitions, rate, loop, limit, codec)
    interrupted: list[int] = []
    # Nothing that takes a lock, as an event does: the handler may interrupt its holder.
    former = signal.signal(signal.SIGINT, lambda got, _frame: interrupted.append(got))
    try:
        with _spinner(f"replaying into {name}") as progress:

            def show(report: ReplayReport) -> None:
                pace = report.total / report.seconds if report.seconds else 0.0
                text = f"replaying into {name}: {report.total:,} records, {pace:,.0f}/s"
                progress.update(progress.task_ids[0], description=text)

            report = feed(state.internal_bootstrap, plan, stopped=lambda: bool(interrupted), progress=show)
    finally:
        signal.signal(signal.SIGINT, former)
    table = render.grid("TOPIC", "RECORDS")
    for fed, count in report.records.items():
        table.add_row(fed, f"{count:,}")
    emit(report, table, output)


@app.command()
def proxy(
    name: _Name,
    node: Annotated[int, typer.Argument(metavar="NODE", min=1, max=3, help="The broker's id.", show_default=False)],
    order: Annotated[Order, typer.Argument(help="stall, cut, delay MS, clear or show.", show_default=False)],
    ms: Annotated[float | None, typer.Argument(metavar="[MS]", min=0, help="With delay.", show_default=False)] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Stall, cut or delay what passes to one broker, until clear."""
    handle = proxy_of(_home().read(name), node)
    if (order is Order.DELAY) != (ms is not None):
        fix = f"anabranch sandbox proxy {name} {node} delay 100"
        raise InvalidFieldError("proxy", "MS", "goes with delay, and delay needs it", fix)
    if order is Order.DELAY:
        state = handle.delay(ms or 0.0)
    elif order is Order.SHOW:
        state = handle.state()
    else:
        state = {Order.STALL: handle.stall, Order.CUT: handle.cut, Order.CLEAR: handle.clear}[order]()
    table = render.grid("STALLED", "CUT", "DELAY MS", "CONNECTIONS")
    table.add_row(_yes(state.stalled), _yes(state.cut), f"{state.delay_ms:g}", str(state.connections))
    emit(state, table, output)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _spinner(text: str) -> Progress:
    out = console()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    progress = Progress(*columns, console=out, transient=True, disable=not out.is_terminal)
    progress.add_task(text)
    return progress


def _emit(states: list[SandboxState] | tuple[SandboxState, ...], output: Format, footer: str) -> None:
    table = render.grid("CLUSTER", "CONDITION", "VERSION", "SECURITY", "BROKERS", "BOOTSTRAP")
    for state in states:
        alive = sum(broker.alive for broker in state.brokers)
        dead = [f"{p.role} {p.node_id}" if p.node_id else p.role for p in state.processes if not p.alive]
        condition = Text(state.condition, style=_CONDITION_STYLES[state.condition])
        condition.append(f" ({', '.join(dead)} dead)" if dead else "", style="red")
        brokers = f"{alive}/{len(state.brokers)}"
        table.add_row(state.name, condition, state.version, state.security, brokers, state.bootstrap)
    emit([_plain(state) for state in states], table, output)
    if output is Format.TABLE:
        for state in states:
            if state.error:
                typer.echo(f"{state.name}: {state.error}", err=True)
        typer.echo(footer, err=True)


def _plain(state: SandboxState) -> dict[str, Any]:
    return {
        "name": state.name,
        "condition": state.condition,
        "version": state.version,
        "security": state.security,
        "cluster_id": state.cluster_id,
        "bootstrap": state.bootstrap,
        "proxied": state.control is not None,
        "error": state.error,
        "processes": [
            {
                "role": process.role,
                "node_id": process.node_id,
                "pid": process.process.pid if process.process else None,
                "alive": process.alive,
                "address": process.address,
                "log": process.log,
            }
            for process in state.processes
        ],
    }
