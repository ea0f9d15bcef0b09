"""Whether a context still leads to the cluster that a link was made for."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka.cluster import ClusterMetadata


@dataclass(eq=False)
class OtherClusterError(RefusedError):
    """A context leads to another cluster than the one the link was made for."""

    context: str
    wanted: str
    found: str

    @property
    def message(self) -> str:
        return f"context {self.context} leads to cluster {self.found}; the link was made for {self.wanted}"

    @property
    def hint(self) -> str:
        return f"mend the bootstrap servers: `anabranch context show {self.context}`"


def check_cluster(context: str, wanted: str, found: ClusterMetadata) -> None:
    """Raise OtherClusterError where a context leads to another cluster than the link's."""
    if found.cluster_id != wanted:
        raise OtherClusterError(context, wanted, found.cluster_id)
