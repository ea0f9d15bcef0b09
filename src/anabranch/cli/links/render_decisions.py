"""Pending decisions as tables: about lanes, and about open transactions of a source partition."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.render import grid
from anabranch.cli.words import count, moment, span
from anabranch.model.decisions import AcceptPlan, PendingDecision
from anabranch.model.topics import TopicPartition
from anabranch.model.transactions import AbortPlan, AbortReport, SourceTransaction


def accept_plan(plan: AcceptPlan) -> RenderableType:
    """Each lane with what happened to it, and below what accepting it means."""
    parts: list[RenderableType] = [Text(f"{name} is missing and is made again, empty") for name in plan.remake]
    parts += [Text(f"{name} was deleted and made again: the link goes on with it as it is") for name in plan.recreated]
    for choice in plan.pending:
        head = Text(f"{choice.source}", style="bold")
        head.append(f"  {choice.cause.value}; copied up to offset {count(choice.position)}", style="not bold")
        parts += [head, Text(f"  accept: {choice.means}")]
    table = grid(
        "LANE", "TARGET", "GENERATION", "GOES ON AT", "GIVEN UP", "KEPT TWICE", right=("GENERATION", "GOES ON AT")
    )
    for choice in plan.pending:
        table.add_row(
            str(choice.source),
            str(choice.target),
            str(choice.lane.generation),
            count(_onward(choice)),
            _range(choice.given_up),
            _range(choice.twice),
        )
    return Group(*parts, table) if plan.pending else Group(*parts)


def abort_plan(plan: AbortPlan) -> RenderableType:
    """Each open transaction with its coordinator's state, and which one would be ended."""
    head = _ends(plan.source, plan.stable, plan.high_watermark)
    table = grid(
        "PRODUCER ID",
        "EPOCH",
        "BEGINS AT",
        "SINCE",
        "LAST WRITTEN",
        "TRANSACTIONAL ID",
        "COORDINATOR",
        right=("EPOCH",),
    )
    for one in plan.transactions:
        table.add_row(
            str(one.open.producer_id),
            f"{one.open.producer_epoch}/{one.open.coordinator_epoch}",
            count(one.open.start_offset),
            moment(one.since_ms),
            moment(one.open.last_timestamp),
            "?" if one.known is None else one.known.transactional_id,
            _coordinator(one, plan.read_at_ms),
        )
    text = Text()
    for reason in plan.kept:
        text.append(f"{reason}\n")
    if plan.abort is not None:
        text.append(
            f"the transaction of producer id {plan.abort} would be ended by an abort marker: its records are not copied"
        )
    else:
        text.append("none would be ended")
    return Group(head, table, text)


def abort_report(done: AbortReport) -> RenderableType:
    """The transaction that was ended, and what waits now."""
    ended = f"the transaction of producer id {done.plan.abort} was ended by an abort marker"
    return Group(
        Text(f"{ended}: its records are not copied"), _ends(done.plan.source, done.stable, done.high_watermark)
    )


def _ends(source: TopicPartition, stable: int, high_watermark: int) -> Text:
    waiting = high_watermark - stable
    return Text(f"{source}: stable up to offset {count(stable)}, {count(waiting)} offsets wait after it")


def _coordinator(one: SourceTransaction, now_ms: int) -> str:
    if one.known is None:
        return one.unavailable or "no coordinator reports it"
    left = one.known.ends_itself_in_ms(now_ms) / 1000
    return f"{one.known.state}, timeout in {left:.0f} s" if one.known.state == "Ongoing" else one.known.state


def _onward(choice: PendingDecision) -> int:
    if choice.decision.skip is not None:
        return choice.decision.skip[1]
    return choice.decision.start or 0


def _range(offsets: tuple[int, int] | None) -> str:
    return "-" if offsets is None else span(offsets[0], offsets[1] - 1)
