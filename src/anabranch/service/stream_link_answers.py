"""What the service answers about links as jobs beside streams."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from anabranch.model.reports import LinkStatus
from anabranch.operations.jobs.outcome import how_it_ended
from anabranch.service.board import SeenCluster, SeenLink
from anabranch.service.stream_answers import StreamAnswer, StreamQueryAnswer, StreamRunAnswer, StreamSummary
from anabranch.service.words import command
from anabranch.store.runs import Run
from anabranch.streams.kinds import StreamJobKind
from anabranch.streams.links import state_of_link
from anabranch.streams.states import StreamState, StreamWanted

CONNECTOR = "link"


def link_summary(cluster: SeenCluster, seen: SeenLink) -> StreamSummary:
    """A link in a list of streams; a cluster that cannot be read now is told with what was known last."""
    status = seen.status
    spec = status.spec
    state, why = state_of_link(status, seen.totals)
    if cluster.problem is not None:
        why = "; ".join(part for part in (why, f"not read since: {cluster.problem.detail}") if part)
    return StreamSummary(
        spec.id,
        StreamJobKind.LINK,
        "",
        f"copies {spec.source.context} to {cluster.name}",
        state,
        wanted_of_link(status, state),
        why,
        *(None, 0, 0, 0, None),
        (_copying(seen),) if status.running else (),
        cluster.name,
        command("link", "show", spec.id, options=[("--target", cluster.name)]),
    )


def wanted_of_link(status: LinkStatus, state: StreamState) -> StreamWanted:
    """What a person wants of a link in this state: nothing else asks a run to end."""
    return StreamWanted.RUNNING if status.running and state is not StreamState.STOPPING else StreamWanted.STOPPED


def link_answer(cluster: SeenCluster, seen: SeenLink, runs: Sequence[Run]) -> StreamAnswer:
    """A link as a stream: without versions or checkpoints, with the runs that the service has started."""
    return StreamAnswer(link_summary(cluster, seen), "", (), tuple(_run(one) for one in runs))


def _copying(seen: SeenLink) -> StreamQueryAnswer:
    plan, sums = seen.status.plan, seen.totals
    told = datetime.fromtimestamp(seen.status.read_at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return StreamQueryAnswer(
        query=seen.status.spec.id,
        table=seen.target,
        connector=CONNECTOR,
        line=0,
        batch=None if plan is None else plan.batch,
        rows_in=None,
        rows_out=None,
        rows_per_second=sums.records_per_s,
        batch_ms=None,
        lag=sums.lag_records,
        watermark=None,
        state_rows=None,
        errors=None,
        retries=None,
        told_at=told.replace("+00:00", "Z"),
    )


def _run(run: Run) -> StreamRunAnswer:
    why = "" if run.exit_code in (None, 0) else how_it_ended(run.exit_code)
    ended = None, run.ended_at, run.exit_code, bool(run.exit_code), why, ""
    return StreamRunAnswer(Path(run.log).stem, 0, 0, run.host, run.pid, run.began_at, *ended)
