"""How an instance of the service was told to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.model.accounts import Role
from anabranch.model.secrets import SecretRef
from anabranch.operations.artifacts.desk import ArtifactSettings
from anabranch.service.alert_sending import Mail, Webhook
from anabranch.service.job_settings import JobSettings
from anabranch.service.lineage_sending import LineageEndpoint
from anabranch.service.trials import AT_ONCE


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """A provider that vouches for people.

    ``claim`` is the one whose values give roles, the highest counts; who has none of them is not let in.
    ``groups_claim`` has the groups that somebody is in, as grants of the catalog name them; empty takes none.
    """

    issuer: str
    client_id: str
    client_secret: SecretRef | None
    label: str
    claim: str
    roles: Mapping[str, Role]
    name_claim: str = "preferred_username"
    scopes: tuple[str, ...] = ("openid", "profile")
    groups_claim: str = ""


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """``public_url`` is how browsers reach it, where that is not as it listens; ``roots`` as ``Reach`` has them.

    ``proxies`` are addresses or networks of proxies whose word for who asks is taken.  ``hooks`` are commands of the
    operator's by name, which migrations may have run.  ``previews`` is how many previews may run at once, 0 for none.
    ``receivers`` are told of alerts of streams.  ``artifacts`` None keeps them beside the jobs' files.
    ``openlineage`` is told of runs of streams.
    """

    host: str
    port: int
    store: str
    contexts: Path | None
    jobs: JobSettings
    roots: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    public_url: str | None = None
    oidc: OidcSettings | None = None
    proxies: tuple[str, ...] = ()
    hooks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    previews: int = AT_ONCE
    receivers: Mapping[str, Webhook | Mail] = field(default_factory=dict)
    artifacts: ArtifactSettings | None = None
    openlineage: LineageEndpoint | None = None
