"""Every API that a simulated broker answers, by its key."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.kafka.simulated.apis import (
    access,
    acls,
    admin,
    fetch,
    groups,
    log_dirs,
    logs,
    metadata,
    modern,
    produce,
    quorum,
    quotas,
    transactions,
    users,
)
from anabranch.kafka.simulated.broker import Api

APIS: Mapping[int, Api] = {
    int(api.request.API_KEY): api
    for module in (
        access,
        acls,
        admin,
        fetch,
        groups,
        log_dirs,
        logs,
        metadata,
        modern,
        produce,
        quorum,
        quotas,
        transactions,
        users,
    )
    for api in module.APIS
}
