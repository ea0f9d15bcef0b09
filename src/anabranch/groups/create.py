"""Creating a subscription that does not exist yet: a group, some partitions, and where each begins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from anabranch.groups.refusals import active_refusal, kind_refusal
from anabranch.model.groups import Commit, Group
from anabranch.model.plans import REQUEST, plan_hash
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.start import StartPosition
from anabranch.model.topics import TopicPartition


@dataclass(frozen=True, slots=True)
class CreatePlan:
    """Where a group is to begin on a cluster; what it has committed already is never changed.

    ``topics`` and ``asked`` are what was asked for; ``notes`` say where it begins otherwise than a reader may expect.
    ``hash`` covers that, the partitions and the refusals, and not the offsets: the log's ends move by themselves.
    """

    cluster: str
    group: str
    start: str
    begins: Mapping[TopicPartition, Commit] = field(hash=False)
    hash: str
    topics: tuple[str, ...] = field(metadata=REQUEST)
    asked: StartPosition = field(metadata=REQUEST)
    refusals: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing refuses it."""
        return not self.refusals


@dataclass(frozen=True, slots=True)
class GroupCreated:
    """A group that was begun; ``undo`` names the undo record."""

    cluster: str
    group: str
    start: str
    begins: Mapping[TopicPartition, Commit] = field(hash=False)
    undo: str
    notes: tuple[str, ...] = ()


def create(
    cluster: str,
    name: str,
    topics: Iterable[str],
    start: StartPosition,
    offsets: Mapping[TopicPartition, int],
    now: Group | None,
    notes: Iterable[str] = (),
) -> CreatePlan:
    """Plan to begin a group at some offsets, given its state there."""
    refusing = (active_refusal(now), kind_refusal(now, "cluster") if now is not None else None)
    refusals = [reason for reason in refusing if reason is not None]
    commits = {} if now is None else now.commits
    if not offsets:
        refusals.append(
            Reason(ReasonKind.NO_COMMITS, f"no partition is left to begin {name} at", "name topics by --topic")
        )
    for partition in sorted(offsets):
        if partition in commits:
            refusals.append(
                Reason(
                    ReasonKind.EXISTS,
                    f"{name} has committed {commits[partition].offset:,} for {partition} already",
                    "only what does not exist is created; kafka-consumer-groups --reset-offsets moves what does",
                )
            )
    begins = {partition: Commit(offsets[partition]) for partition in sorted(offsets)}
    explicit = {str(partition): offset for partition, offset in start.offsets.items()}
    hash_ = plan_hash(
        cluster,
        name,
        str(start),
        explicit,
        [str(partition) for partition in begins],
        [reason.why for reason in refusals],
    )
    return CreatePlan(cluster, name, str(start), begins, hash_, tuple(topics), start, tuple(refusals), tuple(notes))
