"""Names of clusters: several of one are one for the catalog, and one that comes to stand for another is found out."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.model.cluster import ClusterContext, PasswordLogin, SaslMechanism, Security, SecurityProtocol, Tls
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.service import route_desk
from anabranch.service.catalog_desk import ServiceCatalogDesk
from anabranch.service.route_desk import ServiceDesk

pytestmark = pytest.mark.unit


def test_contexts_with_an_address_in_common_are_one_cluster() -> None:
    """Whatever else they say; a code that is no context is itself."""
    contexts = {
        name: ClusterContext(name, addresses)
        for name, addresses in {
            "main": ("a:1", "b:1"),
            "mirror": ("c:1",),
            "other": ("B:1", "d:1"),
            "third": ("d:1",),
        }.items()
    }
    clusters = SimpleNamespace(contexts=lambda: SimpleNamespace(contexts=contexts))
    desk = ServiceCatalogDesk(
        cast("Any", None), cast("Any", SimpleNamespace(newest=None)), cast("Any", clusters), "mei"
    )
    assert desk.leads(("gone",)) == {"other": "main", "third": "main"}


class _Answers:
    """In place of a cluster: its id."""

    async def __aenter__(self) -> _Answers:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def cluster_id(self) -> str:
        return "an id"


def test_addresses_of_a_route_table_are_asked_for_an_id_with_no_login_but_the_service_s_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The secrets that they name are of applications, and whoever wrote the table chose where they would go."""
    password = PasswordLogin(SaslMechanism.PLAIN, "shop", SecretRef(SecretKind.ENV, "PASSWORD"))
    login = Security(SecurityProtocol.SASL_SSL, None, password)
    certificate = Security(SecurityProtocol.SSL, Tls(cert_file="a.pem", key_file="b.pem"))
    own = ClusterContext("own", ("a:1",), login)
    asked: list[str] = []

    def asks(name: str) -> _Answers:
        asked.append(name)
        return _Answers()

    monkeypatch.setattr(route_desk, "open_cluster", lambda context: asks(context.bootstrap[0]))
    routing = SimpleNamespace(contexts={"own": own})
    clusters = SimpleNamespace(cluster=asks)
    none: Any = None
    desk = ServiceDesk(none, cast("Any", routing), none, none, cast("Any", clusters))

    async def ids() -> list[str]:
        others = [ClusterContext("own", ("b:1",), security) for security in (login, certificate, Security())]
        return [await desk.cluster_id(one) for one in (own, *others)]

    assert asyncio.run(ids()) == ["an id", "", "", "an id"]
    assert asked == ["own", "b:1"]
