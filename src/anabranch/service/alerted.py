"""The jobs that have alerts, as they were looked at last: streams of the store, links of clusters that were read.

A link that was away as its cluster was read last goes on to be so where the service began anew, and reads it no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from anabranch.model.clock import now_ms
from anabranch.service.board import SeenCluster, SeenLink
from anabranch.service.stored import Stored
from anabranch.service.stream_link_answers import wanted_of_link
from anabranch.service.stream_links import StreamLinks
from anabranch.service.streaming import Streaming
from anabranch.streams.alerts.conditions import WatchedStream
from anabranch.streams.alerts.jobs import AlertedJob
from anabranch.streams.alerts.link_conditions import WatchedLink
from anabranch.streams.alerts.rules import AlertKind, AlertRules
from anabranch.streams.alerts.standing import Alert, AlertState
from anabranch.streams.links import state_of_link
from anabranch.streams.restarting import WINDOW_MS
from anabranch.streams.states import StreamState, StreamWanted

_AWAY = (StreamWanted.RUNNING, StreamState.DEGRADED, "")
"""What is known of a link that was away before another instance came to act, which has never read its cluster."""


@dataclass(frozen=True, slots=True)
class Alerted:
    """A job and what is seen of it; ``made`` tells it apart from an earlier one of its name, ``page`` is its path."""

    job: AlertedJob
    seen: WatchedStream | WatchedLink
    owner: str
    made: int
    page: str


@dataclass(frozen=True, slots=True)
class AlertLook:
    """All that alerts are decided from: the jobs, what was changed of their rules, and how their alerts stand."""

    jobs: Sequence[Alerted]
    rules: Mapping[AlertedJob, AlertRules] = field(hash=False)
    alerts: Mapping[AlertedJob, Sequence[Alert]] = field(hash=False)


async def look(stored: Stored, streaming: Streaming, links: StreamLinks) -> AlertLook:
    """Look at every job once; raises StoreError."""
    kept, alerts, since = stored.streams, stored.alerts, now_ms() - WINDOW_MS
    streams, triggers, failures, of_links, rules, standing = await stored.ask(
        lambda: (
            *(kept.all(), kept.triggers(), kept.failures(since), stored.runs.link_failures(since)),
            *(alerts.all_rules(), alerts.all()),
        )
    )
    live = {one.name: one.live for one in streaming.known()}
    jobs: list[Alerted] = []
    for stream in streams:
        told = live.get(stream.name)
        watched = WatchedStream(
            *(stream.wanted, stream.state, stream.why, triggers.get(stream.name, "")),
            failures.get(stream.name, ()),
            {} if told is None else told.queries,
            told is not None,
        )
        page = f"/streams/{stream.name}"
        jobs.append(Alerted(AlertedJob(stream.name), watched, stream.owner, stream.created, page))
    every = {AlertedJob(seen.status.spec.id, cluster.name): (cluster, seen) for cluster, seen in links.every()}
    for job, (cluster, seen) in every.items():
        jobs.append(_of_link(job, watched_link(cluster, seen, of_links.get((job.target, job.name), ()))))
    for job, known in standing.items():
        why = links.why_never_read(job.target) if job.target and job not in every and _was_away(known) else ""
        if why:
            failed = of_links.get((job.target, job.name), ())
            jobs.append(_of_link(job, WatchedLink(*_AWAY, is_whole=False, failures=failed, not_read=why)))
    return AlertLook(jobs, rules, standing)


def _of_link(job: AlertedJob, seen: WatchedLink) -> Alerted:
    return Alerted(job, seen, "", 0, f"/links/{quote(job.target, safe='')}/{job.name}")


def _was_away(known: Sequence[Alert]) -> bool:
    """Whether a link was to run, and did not, when it was looked at last."""
    return any(one.kind is AlertKind.ALIVE and one.state is not AlertState.OVER for one in known)


def watched_link(cluster: SeenCluster, seen: SeenLink, failures: tuple[int, ...] = ()) -> WatchedLink:
    """A link as its alerts see it; ``failures`` are times (ms) of its runs that the service has started."""
    state, why = state_of_link(seen.status, seen.totals)
    behind = sum(lane.lag_records or 0 for lane in seen.status.lanes)
    return WatchedLink(
        *(wanted_of_link(seen.status, state), state, why, behind),
        is_whole=not seen.totals.unknown and not seen.totals.missing,
        failures=failures,
        not_read="" if cluster.problem is None else f"cluster {cluster.name} is not read: {cluster.problem.detail}",
    )
