"""What a look at the cluster of one context told, for who wants to know before a link is made."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.model.reasons import Reason


@dataclass(frozen=True, slots=True)
class ContextProbe:
    """One context: who answered there and who we are to it, or why nobody did.

    ``as_source`` and ``as_target`` name what is missing for a link from and to this cluster, as far as the cluster
    tells that without the link's topics being known.  With an ``error`` nothing else is known but ``exit_code``, which
    is the error's.
    """

    context: str
    principal: str = ""
    cluster_id: str = ""
    version: str = ""
    brokers: int = 0
    as_source: tuple[Reason, ...] = ()
    as_target: tuple[Reason, ...] = ()
    error: str = ""
    hint: str = ""
    exit_code: int = 0

    @property
    def ok(self) -> bool:
        """Whether the cluster was reached and let us in."""
        return not self.error
