"""The shape of the service's file (``anabranch serve --file serve.yaml``); paths in it are relative to it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, IPvAnyNetwork

from anabranch.config.yaml_file import FileShape, check, read

LAUNCHER_NAME = r"^[a-z0-9][a-z0-9._-]{0,59}$"
RoleWord = Literal["viewer", "operator", "approver", "admin"]


class OidcShape(FileShape):
    """An OpenID Connect provider that people sign in with."""

    issuer: str = Field(description="The provider's address, as it calls itself.", pattern=r"^https?://")
    client_id: str = Field(min_length=1, description="The service's id at the provider.")
    client_secret_env: str | None = Field(default=None, description="Environment variable with the client secret.")
    client_secret_file: str | None = Field(default=None, description="File with the client secret.")
    label: str = Field(default="single sign-on", description="What the login page calls the provider.")
    claim: str = Field(default="groups", description="The claim of the ID token whose values give roles.")
    groups_claim: str = Field(
        default="",
        description="The claim of the ID token with a person's groups, which grants may be to; empty takes none.",
    )
    name_claim: str = Field(default="preferred_username", description="The claim that names the account.")
    scopes: list[str] = Field(default_factory=lambda: ["openid", "profile"], description="Asked for at a login.")
    roles: dict[str, RoleWord] = Field(
        min_length=1, description="Value of the claim: role. Who has none is not let in; the highest counts."
    )


class ReceiverShape(FileShape):
    """Who is told of alerts of streams: a webhook, or people by mail."""

    webhook: str | None = Field(default=None, pattern=r"^https?://", description="An address that takes JSON by POST.")
    secret_env: str | None = Field(default=None, description="Environment variable with the key that signs the body.")
    mail: list[str] | None = Field(default=None, min_length=1, description="Addresses of people.")


class MailShape(FileShape):
    """The server that mail goes out by."""

    host: str = Field(min_length=1, description="Its name.")
    port: int = Field(default=587, ge=1, le=65535, description="Its port.")
    sender: str = Field(pattern=r"@", description="The address that mail is from.")
    tls: Literal["starttls", "tls", "none"] = Field(default="starttls", description="How the connection is encrypted.")
    ca: str | None = Field(default=None, description="Certificates (PEM) that are trusted, in place of the system's.")
    user: str = Field(default="", description="Who signs in there; nobody where it is empty.")
    password_env: str | None = Field(default=None, description="Environment variable with the password.")


class AlertsShape(FileShape):
    """Who is told of alerts of streams."""

    receivers: dict[str, ReceiverShape] = Field(default_factory=dict, description="By a name; each is told of all.")
    mail: MailShape | None = Field(default=None, description="The server for receivers by mail.")


class ArtifactsShape(FileShape):
    """Where jars, wheels and files of Python are kept that functions of streams come from."""

    place: str | None = Field(
        default=None, description="A directory, or a URI such as s3://bucket/artifacts; default: beside jobs' files."
    )
    dependencies: bool = Field(
        default=True, description="Whether pip, or Maven, is asked at an upload for what it needs."
    )
    most: int = Field(
        default=200 << 20,
        ge=1024,
        le=1 << 31,
        description="Bytes that an upload has at most; also what it needs.",
    )


class OpenLineageShape(FileShape):
    """Who is told of runs of streams, as OpenLineage has them."""

    url: str = Field(pattern=r"^https?://", description="Where run events are posted, such as HOST/api/v1/lineage.")
    token_env: str | None = Field(default=None, description="Environment variable with a bearer's token.")


class LauncherShape(FileShape):
    """Where the jobs of streams run that name it."""

    kind: Literal["local", "standalone", "yarn", "kubernetes"] = Field(description="What runs the executors.")
    master: str | None = Field(default=None, description="Spark's master: local[4], spark://..., k8s://...")
    deploy_mode: Literal["client", "cluster"] = Field(
        default="client", description="Where the driver is; client, on the service's machine, is what there is."
    )
    spark: dict[str, str] = Field(default_factory=dict, description="Settings of Spark, over those of the service.")
    archive: str | None = Field(
        default=None, description="What `anabranch link package` wrote, for machines that have nothing but Python."
    )
    files: list[str] = Field(
        default_factory=list, description="Files of contexts, such as passwords, that are sent to executors."
    )
    checkpoints: str | None = Field(
        default=None,
        description="A directory or URI for checkpoints that executors reach; needed by all kinds but local.",
    )
    hadoop: str | None = Field(
        default=None, description="A directory with Hadoop's settings; default: HADOOP_CONF_DIR of the service."
    )
    pod_template: str | None = Field(default=None, description="What each executor's pod has (YAML).")


class ServeShape(FileShape):
    """How the service runs; flags of `anabranch serve` come first."""

    version: Literal[1] = Field(default=1, description="Version of this file's format.")
    host: str | None = Field(default=None, description="Where it listens; default 127.0.0.1.")
    port: int | None = Field(default=None, ge=0, le=65535, description="Default 8420; 0 chooses one.")
    store: str | None = Field(
        default=None, description="A SQLite file, or postgresql://USER@HOST/DATABASE with the password in PGPASSWORD."
    )
    checkpoints: list[str] = Field(
        default_factory=list, description="Directories or URIs below which checkpoints may be read and rewritten."
    )
    master: str | None = Field(default=None, description="Spark master of links; default local[*,8].")
    spark: dict[str, str] = Field(default_factory=dict, description="Settings of Spark for every job.")
    launchers: dict[Annotated[str, Field(pattern=LAUNCHER_NAME)], LauncherShape] = Field(
        default_factory=dict, description="Where streams run that name one of these; the others run on the master."
    )
    certificate: str | None = Field(default=None, description="The service's certificate chain (PEM): it serves TLS.")
    key: str | None = Field(default=None, description="The certificate's private key (PEM), without a password.")
    public_url: str | None = Field(
        default=None, pattern=r"^https?://[^/]+/?$", description="How browsers reach it, behind a proxy."
    )
    proxies: list[IPvAnyNetwork] = Field(
        default_factory=list,
        description="Addresses of proxies whose X-Forwarded-For tells who asks; else whoever connects does.",
    )
    hooks: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(
        default_factory=dict,
        description="Commands that migrations name, each with its arguments; they are run without a shell.",
    )
    previews: int | None = Field(
        default=None, ge=0, le=50, description="Previews of scripts that may run at once; default 2, 0 allows none."
    )
    running_streams: int | None = Field(
        default=None, ge=1, le=10_000, description="Streams that may run at once; default any number."
    )
    alerts: AlertsShape = Field(default_factory=AlertsShape, description="Who is told of alerts of streams.")
    artifacts: ArtifactsShape = Field(default_factory=ArtifactsShape, description="Artifacts of streams.")
    openlineage: OpenLineageShape | None = Field(default=None, description="Who is told of runs of streams.")
    oidc: OidcShape | None = Field(default=None, description="Sign in through a provider.")


def load(path: Path) -> ServeShape:
    """The file's fields; raises ``ConfigError`` naming file and field."""
    return check(ServeShape, read(path), str(path))
