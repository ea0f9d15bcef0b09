"""Creating a subscription that does not exist yet: a group, some partitions, and where each begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.groups.refusals import Refusal, Why, active_refusal, kind_refusal
from anabranch.model.groups import Commit, Group
from anabranch.model.topics import TopicPartition


@dataclass(frozen=True, slots=True)
class CreatePlan:
    """Where a group is to begin on a cluster; what it has committed already is never touched.

    ``undo`` names the undo record once it was carried out; ``notes`` say where it does not begin plainly where asked.
    """

    cluster: str
    group: str
    start: str
    begins: Mapping[TopicPartition, Commit] = field(hash=False)
    refusals: tuple[Refusal, ...] = ()
    executed: bool = False
    undo: str = ""
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing forbids it."""
        return not self.refusals


def create(cluster: str, name: str, start: str, offsets: Mapping[TopicPartition, int], now: Group | None) -> CreatePlan:
    """Plan to begin a group at some offsets, given how it stands there."""
    found = (active_refusal(now), kind_refusal(now, "cluster") if now is not None else None)
    refusals = [one for one in found if one is not None]
    commits = {} if now is None else now.commits
    if not offsets:
        refusals.append(Refusal(Why.NO_COMMITS, f"no partition is left to begin {name} at", "name topics by --topic"))
    for at in sorted(offsets):
        if at in commits:
            refusals.append(
                Refusal(
                    Why.EXISTS,
                    f"{name} has committed {commits[at].offset:,} for {at} already",
                    "only what does not exist is created; kafka-consumer-groups --reset-offsets moves what does",
                )
            )
    begins = {at: Commit(offsets[at]) for at in sorted(offsets)}
    return CreatePlan(cluster, name, start, begins, tuple(refusals))
