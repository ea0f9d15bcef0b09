"""What the job of a stream is told of the catalog: for whom it runs decides, each time that it is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.config.catalogspec import CatalogSpec
from anabranch.errors import RefusedError
from anabranch.model.accounts import Role
from anabranch.operations.artifacts.pinning import pins_of
from anabranch.operations.catalog.loading import catalog_for, texts_for
from anabranch.service.catalog_desk import ServiceCatalogDesk
from anabranch.service.clusters import ClusterPool
from anabranch.service.routing import Routing
from anabranch.service.stored import Stored
from anabranch.streams.artifacts.values import ArtifactPin
from anabranch.streams.catalog.attached import attached
from anabranch.streams.inline import CATALOG_ALONE, InlinePolicy
from anabranch.streams.kept import NotOwnerError


@dataclass(eq=False)
class AuthorGoneError(RefusedError):
    """The account for which a script would run is not there, or is disabled."""

    account: str

    _message = "the script would run for account {account!r}, which is disabled or not there"
    _hint = "have somebody with the grants save it as another version: `anabranch stream edit NAME FILE`"


@dataclass(eq=False)
class AuthorNoAdminError(RefusedError):
    """The author of a PySpark file may no longer run any code here."""

    account: str

    _message = "the PySpark file is of account {account!r}, which is no admin: it would run with the service's rights"
    _hint = "have an admin look at it and save it as another version: `anabranch stream edit NAME FILE.py`"


async def check_runs_code(stored: Stored, account: str) -> None:
    """Raise AuthorNoAdminError where an account is no admin, disabled or not there; StoreError."""
    if not await _is_admin(stored, account):
        raise AuthorNoAdminError(account)


async def check_owns(stored: Stored, stream: str, account: str) -> None:
    """Raise NotOwnerError where an account is neither a stream's owner nor an admin; NoStreamError, StoreError."""
    owner = (await stored.ask(lambda: stored.streams.get(stream))).owner
    if account != owner and not await _is_admin(stored, account):
        raise NotOwnerError(stream, owner, account)


async def _is_admin(stored: Stored, account: str) -> bool:
    accounts = await stored.ask(stored.accounts.all)
    return any(one.name == account and one.disabled_at is None and one.role is Role.ADMIN for one in accounts)


async def pins_for(
    stored: Stored, routing: Routing, clusters: ClusterPool, account: str, script: str
) -> tuple[ArtifactPin, ...]:
    """What a script of an account runs with from now on, with what functions of the catalog bring.

    Raises what `pins_of` raises, and StoreError.
    """
    texts = await texts_for(ServiceCatalogDesk(stored, routing, clusters, account), account)
    return await stored.ask(lambda: pins_of(stored.artifacts, script, texts))


async def catalog_spec_for(
    stored: Stored, routing: Routing, clusters: ClusterPool, settings: Mapping[str, str], account: str, author: str
) -> CatalogSpec:
    """What a script may use that runs with the grants of an account; raises AuthorGoneError, StoreError.

    ``settings`` of its Spark attach catalogs.  The script's own tables are judged by who wrote it: where its
    ``author`` is an admin now they may name topics and servers that the catalog does not have.
    """
    roles = {one.name: one.role for one in await stored.ask(stored.accounts.all) if one.disabled_at is None}
    if account not in roles:
        raise AuthorGoneError(account)
    policy = InlinePolicy() if roles.get(author) is Role.ADMIN else CATALOG_ALONE
    desk = ServiceCatalogDesk(stored, routing, clusters, account)
    return await catalog_for(desk, account, policy, attached(settings))
