"""``anabranch serve``: the service with its web pages, until it is told to end."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import platformdirs
import typer

from anabranch.errors import ConfigError, InvalidFieldError
from anabranch.model.home import expanded

if TYPE_CHECKING:
    from anabranch.config.serve_file import AlertsShape, OidcShape, OpenLineageShape, ServeShape
    from anabranch.operations.jobs.stream_launchers import StreamLauncher
    from anabranch.service.alert_sending import Mail, Webhook
    from anabranch.service.lineage_sending import LineageEndpoint
    from anabranch.service.serving import Began
    from anabranch.service.settings import OidcSettings, ServeSettings

HOST, PORT, MASTER = "127.0.0.1", 8420, "local[*,8]"

FileOption = Annotated[Path | None, typer.Option("--file", "-f", help="The service's file (YAML).", show_default=False)]
StoreOption = Annotated[
    str | None,
    typer.Option(
        help="A SQLite file, or postgresql://USER@HOST/DATABASE with the password in PGPASSWORD.",
        envvar="ANABRANCH_STORE",
        show_default=False,
    ),
]


@dataclass(eq=False)
class ServiceMissingError(ConfigError):
    """The part that serves is not installed here."""

    module: str

    _message = "this installation has no {module}: the service needs it"
    _hint = "pip install 'anabranch[service]'"


def serve(
    ctx: typer.Context,
    file: FileOption = None,
    host: Annotated[str | None, typer.Option(help="Where it listens; default 127.0.0.1.", show_default=False)] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Default 8420; 0 chooses one.", show_default=False)
    ] = None,
    store: StoreOption = None,
    checkpoints: Annotated[
        list[str] | None,
        typer.Option(help="Where checkpoints may be read and rewritten, below it. Repeatable.", show_default=False),
    ] = None,
    master: Annotated[
        str | None, typer.Option(help="Spark master of links; default local[*,8].", show_default=False)
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="Serve TLS with it (PEM).", show_default=False)] = None,
    key: Annotated[Path | None, typer.Option(help="The certificate's private key (PEM).", show_default=False)] = None,
) -> None:
    """Serve all that the command line can: REST, events, metrics.

    Ctrl-C and SIGTERM end it; links that it started run on, and it finds them again. The first start makes the
    account admin, and shows its token in a terminal. See docs/how-to/serve.md.
    """
    need_service()
    from anabranch.service.serving import serve as run

    flags = {"host": host, "port": port, "master": master}
    shape, base = _shape(file), _base(file)
    settings = _settings(ctx, shape, base, flags, _store(store, shape, base), checkpoints, certificate, key)
    run(settings, _tell, with_token=sys.stderr.isatty())


def need_service() -> None:
    """Raise ServiceMissingError where the service's packages are not installed."""
    for module in ("fastapi", "uvicorn", "sqlalchemy", "alembic", "psutil", "jwt"):
        if importlib.util.find_spec(module) is None:
            raise ServiceMissingError(module)


def store_address(store: str | None, file: Path | None) -> str:
    """The store that is meant: the flag's, then the environment's, then the file's, then the user's own."""
    return _store(store, _shape(file), _base(file))


def _store(flag: str | None, shape: ServeShape, base: Path) -> str:
    return flag or _located(base, shape.store) or str(_state() / "service.db")


def _state() -> Path:
    return platformdirs.user_state_path("anabranch")


def _base(file: Path | None) -> Path:
    """What paths in the service's file are relative to."""
    return Path.cwd() if file is None else file.parent.absolute()


def _shape(file: Path | None) -> ServeShape:
    from anabranch.config import serve_file

    return serve_file.ServeShape() if file is None else serve_file.load(file)


def _settings(
    ctx: typer.Context,
    shape: ServeShape,
    base: Path,
    flags: dict[str, str | int | None],
    store: str,
    checkpoints: list[str] | None,
    certificate: Path | None,
    key: Path | None,
) -> ServeSettings:
    from anabranch.operations.artifacts.desk import ArtifactSettings
    from anabranch.service.job_settings import JobSettings
    from anabranch.service.settings import ServeSettings
    from anabranch.service.trials import AT_ONCE

    kept = shape.artifacts
    place = _located(base, kept.place) or str(_state() / "artifacts")

    def given(name: str, default: str | int) -> str | int:
        flag, stored = flags[name], getattr(shape, name)
        return flag if flag is not None else stored if stored is not None else default

    chain, private = certificate or _below(base, shape.certificate), key or _below(base, shape.key)
    if (chain is None) != (private is None):
        missing = "--key" if private is None else "--certificate"
        raise InvalidFieldError("serve", missing, "certificate and key go together", "give both")
    master = str(given("master", MASTER))
    return ServeSettings(
        host=str(given("host", HOST)),
        port=int(given("port", PORT)),
        store=store,
        contexts=ctx.obj,
        jobs=JobSettings(
            master,
            "local[*]" if master.startswith("local") else master,
            _state(),
            shape.spark,
            launchers_of(shape, base),
            shape.running_streams,
        ),
        roots=tuple(checkpoints) if checkpoints else tuple(_located(base, one) or one for one in shape.checkpoints),
        certificate=chain,
        key=private,
        public_url=shape.public_url,
        oidc=None if shape.oidc is None else _oidc(shape.oidc, base),
        proxies=tuple(str(one) for one in shape.proxies),
        hooks={name: tuple(command) for name, command in shape.hooks.items()},
        previews=AT_ONCE if shape.previews is None else shape.previews,
        receivers=receivers_of(shape.alerts, base),
        artifacts=ArtifactSettings(place, kept.dependencies, kept.most),
        openlineage=endpoint_of(shape.openlineage),
    )


def _below(base: Path, path: str | None) -> Path | None:
    return None if path is None else base / expanded(path)


def _located(base: Path, place: str | None) -> str | None:
    return place if place is None or "://" in place else str(base / expanded(place))


def launchers_of(shape: ServeShape, base: Path) -> dict[str, StreamLauncher]:
    """Where streams may run, by name; raises InvalidFieldError."""
    from anabranch.operations.jobs.stream_launchers import DEFAULT, LauncherFields, LauncherKind, launcher_of
    from anabranch.streams.catalog.attached import check_attached

    check_attached(shape.spark, "spark")
    for name, one in shape.launchers.items():
        check_attached(one.spark, f"launchers.{name}.spark")
    if DEFAULT in shape.launchers:
        fix = "give it another name, or set `master` and `spark`"
        raise InvalidFieldError("serve", f"launchers.{DEFAULT}", "it is the service's own master and settings", fix)
    return {
        name: launcher_of(
            name,
            LauncherFields(
                kind=LauncherKind(one.kind),
                master=one.master or "",
                in_cluster=one.deploy_mode == "cluster",
                settings=one.spark,
                archive=_below(base, one.archive),
                files=tuple(base / expanded(file) for file in one.files),
                checkpoints=_located(base, one.checkpoints) or "",
                hadoop=_below(base, one.hadoop),
                pod_template=_below(base, one.pod_template),
            ),
            shape.spark,
        )
        for name, one in shape.launchers.items()
    }


def receivers_of(shape: AlertsShape, base: Path) -> dict[str, Webhook | Mail]:
    """Who is told of alerts; raises InvalidFieldError."""
    from anabranch.model.secrets import SecretKind, SecretRef
    from anabranch.service.alert_sending import Mail, Webhook

    def secret(name: str | None) -> SecretRef | None:
        return None if name is None else SecretRef(SecretKind.ENV, name)

    found: dict[str, Webhook | Mail] = {}
    for name, one in shape.receivers.items():
        field = f"alerts.receivers.{name}"
        if (one.webhook is None) == (one.mail is None):
            raise InvalidFieldError("serve", field, "a receiver is a webhook or mail", "give one of both")
        if one.webhook is not None:
            found[name] = Webhook(one.webhook, secret(one.secret_env))
        elif shape.mail is None:
            raise InvalidFieldError("serve", field, "no server for mail is named", "give alerts.mail with its host")
        else:
            server, to = shape.mail, tuple(one.mail or ())
            password, ca = secret(server.password_env), _located(base, server.ca)
            found[name] = Mail(server.host, server.port, server.sender, to, server.tls, server.user, password, ca)
    return found


def endpoint_of(shape: OpenLineageShape | None) -> LineageEndpoint | None:
    """Who is told of runs of streams."""
    from anabranch.model.secrets import SecretKind, SecretRef
    from anabranch.service.lineage_sending import LineageEndpoint

    if shape is None:
        return None
    token = None if shape.token_env is None else SecretRef(SecretKind.ENV, shape.token_env)
    return LineageEndpoint(shape.url, token)


def _oidc(shape: OidcShape, base: Path) -> OidcSettings:
    from anabranch.model.accounts import Role
    from anabranch.model.secrets import SecretKind, SecretRef
    from anabranch.service.settings import OidcSettings

    secret = None
    if shape.client_secret_env is not None:
        secret = SecretRef(SecretKind.ENV, shape.client_secret_env)
    elif shape.client_secret_file is not None:
        secret = SecretRef(SecretKind.FILE, str(_below(base, shape.client_secret_file)))
    return OidcSettings(
        shape.issuer,
        shape.client_id,
        secret,
        shape.label,
        shape.claim,
        {value: Role.of(role) for value, role in shape.roles.items()},
        shape.name_claim,
        tuple(shape.scopes),
        shape.groups_claim,
    )


def _tell(began: Began) -> None:
    """Say where it is, and how to sign in the first time: a token is shown to a person, never to a log."""
    typer.echo(f"serving at {began.address}; Ctrl-C ends it", err=True)
    if began.token is not None:
        typer.echo(f"the account {began.admin} was made; its token, shown this once: {began.token}", err=True)
    elif began.admin is not None:
        typer.echo(
            f"the account {began.admin} was made; make a token for it: anabranch token create {began.admin}", err=True
        )
