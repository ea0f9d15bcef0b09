"""One cluster by several names is one for the catalog, so that no name is a way around a grant."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.model.cluster import ClusterContext
from anabranch.service.catalog_desk import ServiceCatalogDesk

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
