"""Links as tables: pure functions from values to what Rich prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from anabranch.cli import words
from anabranch.cli.hints import repeated, typed_target
from anabranch.cli.reasons import reasons, some
from anabranch.cli.render import findings, grid
from anabranch.cli.words import count, duration, moment, size
from anabranch.model.lane import LaneProgress, LaneState
from anabranch.model.reports import ClusterFacts, DeletePlan, DeleteReport, LinkStatus, ProbeReport, TopicPlan
from anabranch.model.totals import Totals, lanes_of, state_word, totals

_STATE_STYLE: Mapping[str, str] = {
    LaneState.WAITING: "dim",
    LaneState.COPYING: "cyan",
    LaneState.FOLLOWING: "green",
    LaneState.UNREACHABLE: "bold red",
    LaneState.PAUSED: "yellow",
    LaneState.STOPPED: "bold red",
}


def links(statuses: Sequence[LinkStatus]) -> RenderableType:
    """One line a link."""
    if not statuses:
        return Text("no links; make one with: anabranch link create --source NAME --target NAME")
    table = grid("LINK", "SOURCE", "TARGET", "STATE", "LANES", "DONE", "LAG", "RATE", right=("LANES", "DONE", "LAG"))
    for status in statuses:
        sums = totals(status)
        table.add_row(
            status.spec.id,
            status.spec.source.context,
            status.spec.target.context,
            state_of(status, sums),
            count(sums.lanes) if not sums.missing else f"{count(sums.lanes)} of {count(sums.lanes + sums.missing)}",
            percent(sums),
            count(sums.lag_records),
            f"{size(sums.bytes_per_s)}/s",
        )
    return table


def status(link: LinkStatus, limit: int | None = None) -> RenderableType:
    """A link with its progress and its lanes; with a limit, the most urgent ones."""
    sums = totals(link)
    parts: list[RenderableType] = [headline(link, sums)]
    if link.lanes:
        parts += [_bar(sums), lanes(link.lanes, limit)]
    if limit is not None and len(link.lanes) > limit:
        parts.append(Text(f"and {count(len(link.lanes) - limit)} lanes more", style="dim"))
    parts += reasons(_chosen(link.lanes, limit))
    if link.left_out:
        names = some([str(at) for at in link.left_out])
        parts.append(Text(f"{names} left out on purpose: what was copied of it stays, and counts for nothing", "dim"))
    planned = () if link.plan is None else link.plan.findings
    if found := [*link.findings, *planned]:
        parts.append(findings(found))
    return Group(*parts)


def headline(link: LinkStatus, sums: Totals) -> Text:
    """The link in two lines: its settings and its status."""
    spec = link.spec
    text = Text.assemble(
        (spec.id, "bold"),
        f"  {spec.source.context} -> {spec.target.context}  ",
        state_of(link, sums),
        f"  {words.limit(spec.rate_limit)}, mode {spec.mode}, start {spec.start}",
    )
    text.append(f"\n{_lanes_text(sums)}; {count(sums.records)} records, {size(sums.bytes)} copied")
    if link.lanes:
        text.append(f"\n{_source_text(link, sums)}", style="" if not sums.unknown else "yellow")
    return text


def _source_text(link: LinkStatus, sums: Totals) -> str:
    """How long ago the source answered."""
    seen = link.source_seen_ms
    if seen is None:
        return "the source was never reached"
    text = f"source last reached {duration(max(0, link.read_at_ms - seen) / 1000)} ago"
    if sums.unknown:
        text += f"; the lag of {lanes_of(sums.unknown)} is not known"
    return text


def state_of(link: LinkStatus, sums: Totals) -> Text:
    """One word for the whole link: its most urgent state."""
    word = state_word(link, sums)
    return Text(word, style=_STATE_STYLE.get(word, "yellow"))


def percent(sums: Totals) -> str:
    """The copied share; 100 only when no lane lags, is stopped or has not begun."""
    if not sums.lanes:
        return "-"
    if sums.done is None:
        return "?"
    return "100.0 %" if sums.complete else f"{min(sums.done * 100, 99.9):.1f} %"


def line(link: LinkStatus) -> str:
    """The link in one line, for a pipe."""
    sums = totals(link)
    return (
        f"{moment(link.read_at_ms)} {link.spec.id} {state_of(link, sums)} {percent(sums)}; {_lanes_text(sums)}; "
        f"lag {count(sums.lag_records)} records, {size(sums.lag_bytes)}, {duration(sums.lag_seconds)}; "
        f"{_rates(sums)}; ETA {duration(sums.eta_seconds)}"
    )


def lanes(found: Sequence[LaneProgress], limit: int | None = None) -> Table:
    """One line a lane, by source partition, in 80 columns; with a limit, stopped ones and then the largest lags.

    Bytes behind and records a second are in the link's sums, and of each lane in JSON; ``reasons`` stand below.
    """
    renamed = any(lane.target != lane.source for lane in found)
    columns = ("LANE", *(("TARGET",) if renamed else ()), "STATE", "MODE", "POSITION", "LAG", "BEHIND", "RATE")
    table = grid(*columns, right=("POSITION", "LAG", "BEHIND", "RATE"))
    for column in table.columns[1 + renamed :]:
        column.no_wrap = True  # names alone may be long
    for lane in _chosen(found, limit):
        target = ["same" if lane.target == lane.source else str(lane.target)] if renamed else []
        table.add_row(
            str(lane.source),
            *target,
            Text(lane.state.value, style=_STATE_STYLE[lane.state]),
            lane.mode.value,
            count(lane.position),
            count(lane.lag_records),
            duration(lane.lag_seconds),
            f"{size(lane.bytes_per_s)}/s",
        )
    return table


def _chosen(found: Sequence[LaneProgress], limit: int | None) -> list[LaneProgress]:
    """The lanes to show by source partition; with a limit, the most urgent ones."""
    ordered = sorted(found, key=lambda lane: lane.source)
    return ordered if limit is None else sorted(sorted(ordered, key=_urgency)[:limit], key=lambda lane: lane.source)


def _urgency(lane: LaneProgress) -> tuple[bool, bool, int]:
    return lane.state is not LaneState.STOPPED, lane.lag_records is not None, -(lane.lag_records or 0)


def probe(report: ProbeReport) -> RenderableType:
    """Both clusters, the topics that would be copied, and all findings."""
    parts: list[RenderableType] = [_cluster("source", report.source), _cluster("target", report.target)]
    table = grid("TOPIC", "TARGET", "PARTITIONS", "ON TARGET", "LANES", right=("PARTITIONS",))
    for topic in report.topics:
        there = "exists" if topic.exists else "is made"
        table.add_row(topic.source, topic.target, count(topic.partitions), there, _modes(topic))
    parts.append(table if report.topics else Text("no topic matches"))
    parts += _mapped(report.topics)
    if report.findings:
        parts.append(findings(report.findings))
    return Group(*parts)


def created(link: str) -> Text:
    """That a link was stored, and how it begins to copy."""
    return Text(f"link {link} created; start it with: anabranch link run {link}{repeated(typed_target.get())}")


def delete_plan(plan: DeletePlan) -> RenderableType:
    """What a deletion would do."""
    text = Text()
    text.append(f"link {plan.link} is forgotten by its target", style="bold")
    text.append("; its target topics and their records stay\n")
    if plan.running:
        text.append("it is running", style="bold yellow")
        text.append(": its workers stop within seconds, and its `link run` ends with exit code 3\n", style="yellow")
    for topic, number in plan.forget.items():
        text.append(f"  {topic}: {count(number)} records forgotten\n")
    for topic, changes in plan.restore.items():
        for name, value in changes.items():
            text.append(f"  {topic}: {name} {'back to its default' if value is None else f'set to {value}'}\n")
    text.rstrip()
    return text


def deleted(done: DeleteReport) -> RenderableType:
    """That a link is deleted, and which configs could not be restored."""
    was = "; it was running, and its job ends by itself" if done.plan.running else ""
    text = Text(f"done: link {done.plan.link} is deleted{was}")
    return Group(findings(done.findings), text) if done.findings else text


def _modes(topic: TopicPlan) -> str:
    """How many lanes would begin in which mode."""
    found = Counter(lane.mode.value for lane in topic.lanes)
    return ", ".join(f"{count(number)} {mode}" for mode, number in sorted(found.items())) or "?"


def _mapped(topics: Sequence[TopicPlan]) -> list[RenderableType]:
    """Why lanes would be mapped, each reason with its lanes."""
    found: dict[str, list[str]] = {}
    for topic in topics:
        for lane in topic.lanes:
            if lane.why:
                found.setdefault(lane.why, []).append(f"{topic.source}-{lane.partition}")
    return [Text(f"mapped, since {why}: {some(names)}") for why, names in found.items()]


def _cluster(side: str, facts: ClusterFacts) -> Text:
    brokers = "1 broker" if facts.brokers == 1 else f"{count(facts.brokers)} brokers"
    text = Text(f"{side} {facts.context}: Kafka {facts.version}, {brokers}, id {facts.cluster_id}")
    for api in facts.apis:
        if not api.ok:
            offered = "not offered" if api.offered is None else f"offered {api.offered[0]} to {api.offered[1]}"
            text.append(f"\n  API {api.name}: needed {api.needed[0]} to {api.needed[1]}, {offered}", style="red")
    for permission in facts.permissions:
        what = f"{permission.principal}: {permission.operation} on {permission.resource}"
        if permission.granted is False:
            text.append(f"\n  missing: {what}", style="red")
        elif permission.granted is None:
            text.append(f"\n  cannot be determined: {what}", style="yellow")
    return text


def _lanes_text(sums: Totals) -> str:
    parts = [f"{count(number)} {state}" for state, number in sums.states]
    parts += [f"{count(sums.missing)} not begun"] if sums.missing else []
    return ", ".join(parts) or "no lanes yet"


def _bar(sums: Totals) -> RenderableType:
    table = Table.grid(padding=(0, 1, 0, 0))
    bar = ProgressBar(total=1.0, completed=1.0 if sums.complete else sums.done or 0.0, width=40)
    table.add_row(bar, percent(sums), f"ETA {duration(sums.eta_seconds)}")
    lag = f"lag {count(sums.lag_records)} records, {size(sums.lag_bytes)}, {duration(sums.lag_seconds)}"
    return Group(table, Text(f"{lag}; {_rates(sums)}"))


def _rates(sums: Totals) -> str:
    rates = f"{size(sums.bytes_per_s)}/s, {count(sums.records_per_s)} records/s"
    return rates if sums.latency_ms is None else f"{rates}, latency {_latency(sums.latency_ms)}"


def _latency(ms: int) -> str:
    """From a record's own timestamp to its place on the target."""
    return f"{ms} ms" if ms < 1000 else duration(ms / 1000)
