"""What the service answers, as plain values; and how OpenAPI tells of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.checkpoints.advice import Advice, ResumeOffsets
from anabranch.model.cluster_health import ClusterHealth
from anabranch.model.lane import LaneProgress
from anabranch.model.link import LinkRecord
from anabranch.model.reasons import Reason
from anabranch.model.reports import LinkPlan
from anabranch.model.totals import Totals
from anabranch.operations.documents import Schemas
from anabranch.service.board import Sample, Trend
from anabranch.service.problems import MEDIA, Problem
from anabranch.state.codecs.verified import LaneVerified, VerifyRun

SCHEMAS = Schemas()
"""Of all answers that routes have."""


@dataclass(frozen=True, slots=True)
class Me:
    """Who asks, whom, and whether that instance acts; ``holder`` is the one that does."""

    account: str
    role: str
    version: str
    instance: str
    acts: bool
    holder: str
    roots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoginWays:
    """How a browser signs in; ``provider`` is what people know the OIDC provider by, None where there is none."""

    provider: str | None


@dataclass(frozen=True, slots=True)
class ClusterAnswer:
    """A context, and when its links were read last; ``problem`` is why nothing newer is known.

    ``health`` is how the cluster was when its metadata was read last.
    """

    name: str
    bootstrap: tuple[str, ...]
    protocol: str
    mechanism: str | None
    links: int
    read_at_ms: int | None
    problem: Problem | None
    health: ClusterHealth | None


@dataclass(frozen=True, slots=True)
class ClustersAnswer:
    """The contexts; ``problem`` is why the file could not be read again."""

    file: str
    target: str | None
    clusters: tuple[ClusterAnswer, ...]
    problem: Problem | None


@dataclass(frozen=True, slots=True)
class LinkSummary:
    """A link in a list.  ``problem`` is why nothing newer than ``read_at_ms`` is known of it.

    ``trend`` is as far as this instance saw it.
    """

    target: str
    id: str
    source: str
    running: bool
    ending: bool
    paused: bool
    runs: tuple[str, ...]
    totals: Totals
    stopped: int
    findings: int
    read_at_ms: int
    source_seen_ms: int | None
    problem: Problem | None
    trend: Trend


@dataclass(frozen=True, slots=True)
class LinksAnswer:
    """The links of all clusters, and the clusters whose links are not known."""

    links: tuple[LinkSummary, ...]
    unread: tuple[ClusterAnswer, ...]


@dataclass(frozen=True, slots=True)
class LinkAnswer:
    """A link in full, but for its lanes."""

    summary: LinkSummary
    record: LinkRecord
    plan: LinkPlan | None
    findings: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class LanesPage:
    """Lanes of a link, from ``offset`` of the ``matching`` ones, of ``total``."""

    total: int
    matching: int
    offset: int
    lanes: tuple[LaneProgress, ...]
    read_at_ms: int
    problem: Problem | None


@dataclass(frozen=True, slots=True)
class LaneAnswer:
    """One lane of a link."""

    lane: LaneProgress
    read_at_ms: int
    problem: Problem | None


@dataclass(frozen=True, slots=True)
class History:
    """A link's last hour, the oldest first."""

    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class VerificationAnswer:
    """The last comparison of a link; ``report`` is that run's own, None where it has none (yet)."""

    run: VerifyRun
    running: bool
    lanes: tuple[LaneVerified, ...]
    report: Mapping[str, Any] | None
    read_at_ms: int


@dataclass(frozen=True, slots=True)
class AdviceAnswer:
    """The ways to move a job, and the exact offsets at which it resumes, or why these are not exact."""

    advice: Advice
    resumes: ResumeOffsets | None
    why: Reason | None


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """A plan that was shown.  ``role`` is needed to apply it, ``command`` does the same on a command line.

    ``files`` are texts that the command reads, by the names that it has for them.
    ``operation`` is the one that came of it, None where nobody has applied it.
    """

    id: str
    verb: str
    subject: str
    request: Mapping[str, Any]
    hash: str
    plan: Mapping[str, Any]
    account: str
    planned_at: int
    role: str
    command: str
    files: Mapping[str, str]
    operation: str | None


@dataclass(frozen=True, slots=True)
class VerbAnswer:
    """A verb, and the role that applies its plans."""

    name: str
    summary: str
    role: str


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the service can do its work; ``acts`` where it may change something, ``why`` where it cannot."""

    ready: bool
    acts: bool
    why: str


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A token that was made; its text is told here alone."""

    id: str
    account: str
    name: str
    token: str
    expires_at: int | None


def answered(
    kind: Any, status: int = 200, description: str = "What was asked for", *, media: str = "application/json"
) -> dict[int | str, dict[str, Any]]:
    """How a route's answers are documented; ``kind`` None has no body."""
    problem = {"description": "Why not", "content": {MEDIA: {"schema": SCHEMAS.of(Problem)}}}
    told: dict[str, Any] = {"description": description}
    if kind is not None:
        told["content"] = {media: {"schema": SCHEMAS.of(kind)}}
    return {status: told, "4XX": problem, "5XX": problem}
