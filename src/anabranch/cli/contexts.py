"""``anabranch context``: names for clusters.  Secrets are named by variable or file and are never flags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli import render
from anabranch.cli.completing import context_names
from anabranch.cli.jobs import report
from anabranch.cli.located import contexts
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.running import run
from anabranch.cli.words import count
from anabranch.config import contexts as store
from anabranch.config.contexts import context_fields
from anabranch.errors import ClusterError, ConfigError
from anabranch.model.cluster import ClusterContext
from anabranch.model.context_probe import ContextProbe
from anabranch.model.home import expanded
from anabranch.model.reasons import Reason

app = typer.Typer(help="Names for clusters.", no_args_is_help=True)


@dataclass(eq=False)
class ContextFailedError(ClusterError):
    """A context's cluster is not reached, or refuses the login."""

    context: str
    why: str
    fix: str

    _message = "context {context}: {why}"
    _hint = "{fix}"


@dataclass(eq=False)
class NoContextsError(ConfigError):
    """There is no context to test."""

    path: str

    _message = "there are no contexts to test: {path} has none, or is not there"
    _hint = "anabranch context add NAME --bootstrap HOST:PORT"


_Name = Annotated[str, typer.Argument(metavar="NAME", help="The context's name.", show_default=False)]
_Text = str | None


@app.command("list")
def list_(ctx: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """List the contexts and say which file they are in."""
    found = contexts(ctx)
    table = render.grid("", "NAME", "BOOTSTRAP", "PROTOCOL", "MECHANISM")
    for name, context in found.contexts.items():
        login = context.security.login
        table.add_row(
            "*" if name == found.target else "",
            name,
            ",".join(context.bootstrap),
            context.security.protocol.value,
            login.mechanism.value if login is not None else "",
        )
    where = f"{found.location.path} ({found.location.why})"
    if found.location.path.exists():
        footer = Text(f"{where}; * is the default target", style="dim")
    else:
        footer = Text(f"no contexts: there is no file {where} yet; anabranch context add makes it", style="dim")
    value = {
        "file": str(found.location.path),
        "target": found.target,
        "contexts": {name: context_fields(context) for name, context in found.contexts.items()},
    }
    emit(value, Group(table, footer), output)


@app.command()
def show(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=context_names, show_default=False)],
    output: FormatOption = Format.YAML,
) -> None:
    """Show one context; secrets appear as the names of their variables and files."""
    fields = {"name": name, **context_fields(contexts(ctx).get(name))}
    table = render.grid("FIELD", "VALUE")
    for field, value in _flat(fields):
        table.add_row(field, value)
    emit(fields, table, output)


@app.command("test")
def try_(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", autocompletion=context_names, help="Default: all.", show_default=False),
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Connect to a context's cluster: its version, the principal, and what is missing for a link.

    Shows the cluster id, version, brokers and principal, and what is missing for a link from there (on the topics that
    are seen) and to there (on the cluster; `link create` probes rights on target topics). Each context that fails is an
    error with a hint. The exit code is 0 if all are reached, else the highest of theirs: 2 for a missing file or
    secret, and where there is no context at all, 4 for a cluster that is not reached or refuses the login.
    """
    known = contexts(ctx)
    if name is None and not known.contexts:
        raise NoContextsError(str(known.location.path))
    chosen = list(known.contexts.values()) if name is None else [known.get(name)]
    found = run(_reach(chosen))
    emit(found, _tried(found), output)
    failed = [one for one in found if not one.ok]
    for one in failed:
        report(ContextFailedError(one.context, one.error, one.hint))
    if failed:
        raise typer.Exit(max(one.exit_code for one in failed))


async def _reach(chosen: Sequence[ClusterContext]) -> Sequence[ContextProbe]:
    from anabranch.operations.contexts.reaching import reach

    return await reach(chosen)


@app.command()
def add(
    ctx: typer.Context,
    name: _Name,
    bootstrap: Annotated[str, typer.Option(help="host:port, several with commas.", show_default=False)],
    protocol: Annotated[str, typer.Option(help="PLAINTEXT, SSL, SASL_SSL or SASL_PLAINTEXT.")] = "PLAINTEXT",
    ca_file: Annotated[_Text, typer.Option(help="Authorities of the broker's certificate (PEM).")] = None,
    cert_file: Annotated[_Text, typer.Option(help="Our certificate for mTLS (PEM).")] = None,
    key_file: Annotated[_Text, typer.Option(help="Our private key for mTLS (PEM).")] = None,
    key_password_env: Annotated[_Text, typer.Option(help="Variable with the private key's password.")] = None,
    key_password_file: Annotated[_Text, typer.Option(help="File with the private key's password.")] = None,
    mechanism: Annotated[_Text, typer.Option(help="PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER.")] = None,
    username: Annotated[_Text, typer.Option(help="For PLAIN and SCRAM.")] = None,
    password_env: Annotated[_Text, typer.Option(help="Variable with the password.")] = None,
    password_file: Annotated[_Text, typer.Option(help="File with the password.")] = None,
    token_url: Annotated[_Text, typer.Option(help="OAUTHBEARER: token endpoint.")] = None,
    client_id: Annotated[_Text, typer.Option(help="OAUTHBEARER: client id.")] = None,
    client_secret_env: Annotated[_Text, typer.Option(help="Variable with the client secret.")] = None,
    client_secret_file: Annotated[_Text, typer.Option(help="File with the client secret.")] = None,
    scope: Annotated[_Text, typer.Option(help="OAUTHBEARER: scope.")] = None,
    token_env: Annotated[_Text, typer.Option(help="OAUTHBEARER: variable with a bearer token.")] = None,
    token_file: Annotated[_Text, typer.Option(help="OAUTHBEARER: file with a bearer token.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the context of that name.")] = False,
) -> None:
    """Add a context; it is checked before the file is written, and no connection is made."""
    tls = _given(
        ca_file=_absolute(ca_file),
        cert_file=_absolute(cert_file),
        key_file=_absolute(key_file),
        key_password_env=key_password_env,
        key_password_file=_absolute(key_password_file),
    )
    sasl = _given(
        mechanism=mechanism,
        username=username,
        password_env=password_env,
        password_file=_absolute(password_file),
        token_url=token_url,
        client_id=client_id,
        client_secret_env=client_secret_env,
        client_secret_file=_absolute(client_secret_file),
        scope=scope,
        token_env=token_env,
        token_file=_absolute(token_file),
    )
    security = _given(protocol=protocol, tls=tls or None, sasl=sasl or None)
    entry = {"bootstrap": [a.strip() for a in bootstrap.split(",") if a.strip()], "security": security}
    changed = store.add(contexts(ctx, new=True), name, entry, replace)
    store.save(changed)
    typer.echo(f"context {name} is in {changed.location.path}")


@app.command()
def use(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=context_names, show_default=False)],
) -> None:
    """Make a context the target of verbs that name none."""
    store.save(store.use(contexts(ctx), name))
    typer.echo(f"the target is {name}")


@app.command()
def remove(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=context_names, show_default=False)],
) -> None:
    """Remove a context; the former file is kept as a backup, and the cluster is not touched."""
    changed = store.remove(contexts(ctx), name)
    store.save(changed)
    typer.echo(f"context {name} is removed; {changed.location.path}.bak still has it")


def _tried(found: Sequence[ContextProbe]) -> RenderableType:
    """Each context in a line, and below what is missing."""
    table = render.grid("CONTEXT", "CLUSTER", "KAFKA", "BROKERS", "LOGGED IN AS", right=("BROKERS",))
    missing: list[Reason] = []
    for one in found:
        if one.ok:
            table.add_row(one.context, one.cluster_id, one.version, count(one.brokers), one.principal)
        else:
            table.add_row(one.context, Text("not reached", style="bold red"), "-", "-", "-")
        for role, reasons in (("source", one.as_source), ("target", one.as_target)):
            missing += [replace(reason, what=f"{one.context} as a {role}: {reason.what}") for reason in reasons]
    return Group(table, render.findings(missing)) if missing else table


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _absolute(path: str | None) -> str | None:
    return None if path is None else str(Path.cwd() / expanded(path))


def _flat(value: Any, at: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [pair for name, inner in value.items() for pair in _flat(inner, f"{at}.{name}" if at else name)]
    return [(at, ",".join(value) if isinstance(value, list) else str(value))]
