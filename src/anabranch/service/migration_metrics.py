"""What Prometheus is told of migrations: whether their access rules and quotas are kept as on the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

_AGE = (
    "Seconds since access rules and quotas were last carried over, for all waves that are copied and have not been "
    "switched; left out before the first time. Told by the instance that acts"
)


def access_metrics(ages: Mapping[str, float], failures: Mapping[str, int]) -> Iterator[Metric]:
    """Of migrations with ``access.sync``: how old the last good round is, and how many failed on this instance."""
    age = GaugeMetricFamily("anabranch_migration_access_age_seconds", _AGE, labels=("migration",))
    for name, seconds in sorted(ages.items()):
        age.add_metric((name,), seconds)
    yield age
    failed = CounterMetricFamily(
        "anabranch_migration_access_failures",
        "Rounds in which they could not be carried over for a wave, since this instance began",
        labels=("migration",),
    )
    for name, count in sorted(failures.items()):
        failed.add_metric((name,), count)
    yield failed
