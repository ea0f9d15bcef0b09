"""Every API that a simulated broker answers, by its key."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.kafka.simulated.apis import access, admin, fetch, groups, logs, metadata, modern, produce, transactions
from anabranch.kafka.simulated.broker import Api

APIS: Mapping[int, Api] = {
    int(api.request.API_KEY): api
    for module in (access, admin, fetch, groups, logs, metadata, modern, produce, transactions)
    for api in module.APIS
}
