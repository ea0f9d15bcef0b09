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

    _message = "context {context} leads to cluster {found}; the link was made for {wanted}"
    _hint = "correct the bootstrap servers: `anabranch context show {context}`"


def check_cluster(context: str, wanted: str, found: ClusterMetadata) -> None:
    """Raise OtherClusterError where a context leads to another cluster than the link's."""
    if found.cluster_id != wanted:
        raise OtherClusterError(context, wanted, found.cluster_id)
