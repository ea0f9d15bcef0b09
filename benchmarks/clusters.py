"""The clusters of a benchmark: brokers of one heap and one JVM for every system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters

KAFKA = "4.3.1"
BROKER_HEAP_MB = 1024


@contextmanager
def clusters(
    scratch: Path, *, source_brokers: int = 1, overrides: Mapping[str, str] = MappingProxyType({})
) -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Source and target, stopped on exit; deleted logs go at once, to leave the disk as it was."""
    settings = {"log.segment.delete.delay.ms": "500", **overrides}
    options = ("-XX:+UseG1GC", f"-Xms{BROKER_HEAP_MB}m")
    specs = [
        ClusterSpec(
            name, version=KAFKA, brokers=brokers, overrides=settings, heap_mb=BROKER_HEAP_MB, jvm_options=options
        )
        for name, brokers in (("source", source_brokers), ("target", 1))
    ]
    started: tuple[SandboxCluster, ...] = start_clusters(specs, scratch)
    try:
        source, target = started
        yield source, target
    finally:
        for cluster in started:
            cluster.stop()
