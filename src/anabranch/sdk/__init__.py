"""Clients of Kafka that name a cluster by its code and follow its route: confluent-kafka's interface, one changed line.

::

    from anabranch.sdk import Consumer

    consumer = Consumer({"cluster.code": "orders", "group.id": "shop"})  # was: "bootstrap.servers": ...

Needs confluent-kafka alone (``pip install 'anabranch[sdk]'``).
"""

from anabranch.sdk.consumer import Consumer
from anabranch.sdk.errors import (
    LostAssignmentError,
    MayNotError,
    NoRouteError,
    PartedTransactionError,
    RouteProblemError,
    ServiceDownError,
    StaleMessageError,
    StaleOffsetError,
    SwitchingError,
    UndoneMessagesError,
)
from anabranch.sdk.producer import Producer

__all__ = [
    "Consumer",
    "LostAssignmentError",
    "MayNotError",
    "NoRouteError",
    "PartedTransactionError",
    "Producer",
    "RouteProblemError",
    "ServiceDownError",
    "StaleMessageError",
    "StaleOffsetError",
    "SwitchingError",
    "UndoneMessagesError",
]
