"""What applications have counted since an instance began: it goes on across switches, and from client to client.

Invariants
    A1  no sum ever falls: of a client that is known what is new since its last report is added, and all of one that
        has begun to count anew.
    A2  at most ``MOST`` applications have sums of their own; all others have one together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from anabranch.model.routing import Client, ClientReport, ClientRole

MOST = 200
OTHERS = "(others)"
Side = tuple[str, str]
"""An application, and what its clients do."""


@dataclass(slots=True)
class Sums:
    """Of the clients of one application that do the same."""

    records: int = 0
    bytes: int = 0
    errors: int = 0


class ClientTotals:
    """The sums of one instance."""

    def __init__(self) -> None:
        self._sums: dict[Side, Sums] = {}
        self._names: set[str] = set()

    def heard(self, client: Client, report: ClientReport) -> None:
        """A client has reported; it still has its report of before."""
        before = client.report
        sums = self._sums.setdefault((self._named(client.facts.application), client.query.role.value), Sums())
        sums.records += _more(before.records, report.records)
        sums.bytes += _more(before.bytes, report.bytes)
        sums.errors += _more(before.errors, report.errors)

    def sums(self) -> Mapping[Side, Sums]:
        """Those of now."""
        return dict(sorted(self._sums.items()))

    def lags(self, clients: Iterable[Client]) -> Mapping[str, int]:
        """By application the lag of consumers together, of those that know theirs."""
        found: dict[str, int] = {}
        for client in clients:
            if client.query.role is ClientRole.CONSUMER and client.report.lag is not None:
                name = self._named(client.facts.application)
                found[name] = found.get(name, 0) + client.report.lag
        return dict(sorted(found.items()))

    def _named(self, application: str) -> str:
        if application not in self._names:
            if len(self._names) >= MOST:
                return OTHERS
            self._names.add(application)
        return application


def _more(before: int, now: int) -> int:
    return now - before if now >= before else now


def client_metrics(sums: Mapping[Side, Sums], lags: Mapping[str, int]) -> Iterator[Metric]:
    """Of applications: what their clients have read and written, errors that they were told, and lag."""
    told = {
        "records": (
            "anabranch_client_records",
            "Records that clients have read, or have handed over to be written, on whichever cluster",
        ),
        "bytes": (
            "anabranch_client_bytes",
            "Bytes of the values that consumers have read, and of keys and values that producers have sent, if counted",
        ),
        "errors": (
            "anabranch_client_errors",
            "Errors that applications were told: calls and commits that failed, messages in place of records, "
            "and messages that were not delivered, if counted",
        ),
    }
    for field, named in told.items():
        counter = CounterMetricFamily(*named, labels=("application", "role"))
        for side, one in sums.items():
            # A producer counts them where its application asks for statistics.
            if field != "bytes" or side[1] != ClientRole.PRODUCER.value or one.bytes:
                counter.add_metric(side, getattr(one, field))
        yield counter
    gauge = GaugeMetricFamily(
        "anabranch_client_lag_records",
        "Records that live consumers have still to read where they are; left out where none has said",
        labels=("application",),
    )
    for application, lag in lags.items():
        gauge.add_metric((application,), lag)
    yield gauge
