"""What the job of a stream is told of the catalog: for whom it runs decides, each time that it is started."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.config.catalogspec import CatalogSpec
from anabranch.errors import RefusedError
from anabranch.operations.catalog.loading import catalog_for
from anabranch.service.catalog_desk import ServiceCatalogDesk
from anabranch.service.clusters import ClusterPool
from anabranch.service.routing import Routing
from anabranch.service.stored import Stored


@dataclass(eq=False)
class AuthorGoneError(RefusedError):
    """The account for which a script would run is not there, or is disabled."""

    account: str

    _message = "the script would run for account {account!r}, which is disabled or not there"
    _hint = "have somebody with the grants save it as another version: `anabranch stream edit NAME FILE`"


async def catalog_spec_for(stored: Stored, routing: Routing, clusters: ClusterPool, account: str) -> CatalogSpec:
    """What a script of an account may use of the catalog of now; raises AuthorGoneError, StoreError.

    ``account`` is the author of the version that runs, or who asks for a preview.
    """
    accounts = await stored.ask(stored.accounts.all)
    if not any(one.name == account and one.disabled_at is None for one in accounts):
        raise AuthorGoneError(account)
    return await catalog_for(ServiceCatalogDesk(stored, routing, clusters, account), account)
