"""What verbs about links answer: probes of two clusters, a link's status, plans and what came of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from anabranch.model.lane import LaneMode, LaneProgress, run_of
from anabranch.model.link import LinkRecord, LinkSpec, MirroredTopic, WantedState
from anabranch.model.reasons import Reason, errors
from anabranch.model.staleness import as_read
from anabranch.model.topics import TopicPartition


@dataclass(frozen=True, slots=True)
class ApiSupport:
    """A Kafka API that is needed: versions that would do and those that every broker offers, None if none."""

    name: str
    needed: tuple[int, int]
    offered: tuple[int, int] | None

    @property
    def ok(self) -> bool:
        """Whether the two ranges overlap."""
        return self.offered is not None and max(self.needed[0], self.offered[0]) <= min(self.needed[1], self.offered[1])


@dataclass(frozen=True, slots=True)
class Permission:
    """An operation on a resource, such as WRITE on ``topic orders``; ``granted`` None where the cluster does
    not tell.
    """

    operation: str
    resource: str
    principal: str
    granted: bool | None


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What a probe learned about one cluster; ``version`` is read from the APIs that it offers."""

    context: str
    cluster_id: str
    version: str
    brokers: int
    apis: tuple[ApiSupport, ...] = ()
    permissions: tuple[Permission, ...] = ()


@dataclass(frozen=True, slots=True)
class LaneForecast:
    """The mode that a lane would begin with, and why it would be mapped; empty where it would keep offsets."""

    partition: int
    mode: LaneMode
    why: str


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """A topic that the link would copy now, and where to; ``exists`` says whether the target has it already.

    ``lanes`` is empty where their modes could not be found out.
    """

    source: str
    target: str
    partitions: int
    exists: bool
    lanes: tuple[LaneForecast, ...] = ()


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """All that is known before a link is made, every reason at once."""

    spec: LinkSpec
    source: ClusterFacts
    target: ClusterFacts
    topics: tuple[TopicPlan, ...]
    findings: tuple[Reason, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing forbids the link."""
        return not errors(self.findings)


@dataclass(frozen=True, slots=True)
class LinkPlan:
    """What the running link's planner last found: which run plans, in which micro-batch, over how many lanes.

    With ``ends`` the run was told to end: its workers give all lanes back.  ``digest`` is that of the lanes and their
    modes, empty where nobody said which they are.  ``looked_at_ms`` is a moment before the source was read for these
    lanes and findings, however often they are persisted again; None where that is not known.  ``left_out`` are the
    topics of the link's filter that were then left out on purpose, not for an error.  ``outlived`` are lanes of which
    the source may have dropped tombstones (:mod:`anabranch.model.tombstones`).
    """

    link: str
    owner: str
    batch: int
    planned_at_ms: int
    lanes: int
    findings: tuple[Reason, ...] = ()
    ends: bool = False
    digest: str = ""
    looked_at_ms: int | None = None
    left_out: tuple[str, ...] = ()
    outlived: Mapping[str, int | None] = field(default_factory=dict, hash=False)


EVERY_RUN = "*"
"""In place of a run's name: each run of the link that had begun when this was asked, whoever has heard of it."""


@dataclass(frozen=True, slots=True)
class StopRequest:
    """Runs of a link that people have asked to stop, whose drivers and workers read this; ``EVERY_RUN`` may be one.

    Workers obey their run's name alone, since they do not know when it began: a driver that is meant without its name
    adds it.  ``asked_at_ms`` tells requests apart, and stays where names are added.
    """

    link: str
    runs: tuple[str, ...]
    asked_at_ms: int

    def __or__(self, runs: Iterable[str]) -> StopRequest:
        """The same request, with more runs."""
        return replace(self, runs=tuple(sorted({*self.runs, *runs})))


@dataclass(frozen=True, slots=True)
class StopPlan:
    """The runs of a link that would be asked to stop, none where it does not run, and how long to wait for their end.

    0 seconds wait for nothing.  ``hash`` covers the link and these runs.  With them every run is asked that has begun
    by then; one that begins later is not.
    """

    link: str
    runs: tuple[str, ...]
    wait_s: float
    hash: str


@dataclass(frozen=True, slots=True)
class StopReport:
    """What became of such a request: the runs that were asked, none where the link did not run; whether they ended."""

    link: str
    runs: tuple[str, ...]
    ended: bool


_LAST_WORD_MS = 3_000
"""How long after a run was told to end its workers may still persist: each second, until they have given all back."""


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """A link as it stands on its target; ``plan`` is None if it never ran.

    ``lanes`` are as they were persisted, but for what is too old to be so still (``as_read``).  ``findings`` are what
    was found as it was read, also where it does not run.  ``left_out`` are the source partitions of lanes that were
    begun and that the link leaves out on purpose now: they are not among ``lanes``.
    """

    record: LinkRecord
    lanes: tuple[LaneProgress, ...]
    plan: LinkPlan | None
    read_at_ms: int
    findings: tuple[Reason, ...] = ()
    left_out: tuple[TopicPartition, ...] = ()

    @property
    def wanted(self) -> WantedState:
        """The wanted state."""
        return self.record.wanted

    @property
    def spec(self) -> LinkSpec:
        """The spec."""
        return self.record.wanted.spec

    @property
    def running(self) -> bool:
        """Whether a lane or the planner was persisted within the last minute, and the run has not ended.

        Some lane is persisted about once a second, also while they are paused.  A link without any persists once a
        lease, and given two.
        """
        updates = [lane.updated_at_ms for lane in self.lanes]
        timeout_ms = 60_000 if self.lanes else max(60_000, 2_000 * self.spec.lease_seconds)
        if self.plan is not None:
            updates.append(self.plan.planned_at_ms)
            timeout_ms = _LAST_WORD_MS if self.plan.ends else timeout_ms
        return bool(updates) and self.read_at_ms - max(updates) <= timeout_ms

    @property
    def missing(self) -> int:
        """How many planned lanes have persisted nothing yet.

        The plan of a link that does not run may be older than what leaves lanes out: then it counts those, too.
        """
        if self.plan is None:
            return 0
        since = 0 if self.running else len(self.left_out)
        return max(0, self.plan.lanes - len(self.lanes) - since)

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs that go on, as far as one can tell: that of the plan, and those whose workers report on lanes."""
        if not self.running:
            return ()
        planning = set() if self.plan is None else {self.plan.owner}
        return tuple(sorted(planning | {run_of(lane.owner) for lane in self.lanes if not lane.is_old}))

    @property
    def ending(self) -> bool:
        """Whether the run was told to end, and its workers still persist."""
        return self.running and self.plan is not None and self.plan.ends

    @property
    def source_seen_ms(self) -> int | None:
        """When the source last told the end of a partition, None if it never did."""
        return max((lane.source_seen_ms for lane in self.lanes if lane.source_seen_ms is not None), default=None)

    def as_read(self) -> LinkStatus:
        """The same link, with its lanes as they stand when it was read."""
        return replace(self, lanes=as_read(self.lanes, self.running, self.read_at_ms))


@dataclass(frozen=True, slots=True)
class DeletePlan:
    """What deleting a link does: records forgotten per control topic, configs given back; target topics stay.

    ``hash`` covers what the plan saw (:mod:`anabranch.model.plans`).
    """

    link: str
    topics: tuple[MirroredTopic, ...]
    restore: Mapping[str, Mapping[str, str | None]]
    forget: Mapping[str, int]
    running: bool
    hash: str


@dataclass(frozen=True, slots=True)
class DeleteReport:
    """A link that was deleted; ``findings`` are configs that could not be given back."""

    plan: DeletePlan
    findings: tuple[Reason, ...] = ()
