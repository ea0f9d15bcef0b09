"""What a source holds, and the plan of a migration, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.hints import aimed
from anabranch.cli.reasons import some
from anabranch.cli.render import findings, grid
from anabranch.cli.words import count, duration, size
from anabranch.migration.estimate import Estimate
from anabranch.migration.inventory import Inventory, TopicInventory
from anabranch.migration.spec import Migration
from anabranch.migration.steps import MigrationStep

if TYPE_CHECKING:  # imported when a verb runs, so that ``--help`` and completion stay quick
    from anabranch.operations.migrations.discover import Discovered
    from anabranch.operations.migrations.plan import MigrationPlan, WavePlan


def discovered(found: Discovered, out: Path | None) -> RenderableType:
    """The topics, the waves that are suggested, and what to do next."""
    seen, migration = found.source, found.migration
    head = (
        f"{seen.context}: cluster {seen.cluster_id}, Kafka {seen.version}, brokers: {count(seen.brokers)}, "
        f"topics: {count(len(seen.topics))}, groups: {count(len(seen.groups))}"
    )
    access = "no authorizer is known" if found.rules is None else f"access rules: {count(len(found.rules))}"
    quotas = "" if found.quotas is None else f", quotas: {count(len(found.quotas))}"
    parts: list[RenderableType] = [Text(head), Text(f"{access}{quotas}")]
    if seen.topics:
        parts.append(_topics(seen))
    if migration.waves:
        parts.append(_waves(migration, seen))
    if found.reasons:
        parts.append(findings(found.reasons))
    if out is None:
        parts.append(Text(aimed(f"nothing was written; write the file with: --out {migration.name}.yaml")))
    else:
        parts.append(Text(f"{out} is written; look at it, then: anabranch migrate plan -f {out}"))
    return Group(*parts)


def _topics(seen: Inventory) -> RenderableType:
    table = grid(
        *("TOPIC", "PARTITIONS", "RECORDS", "SIZE", "GROWS", "KEPT", "BATCHES"),
        right=("PARTITIONS", "RECORDS", "SIZE", "GROWS"),
    )
    for name, topic in sorted(seen.topics.items()):
        grows = "?" if topic.per_second is None else f"{count(topic.per_second)}/s"
        numbers = count(topic.partitions), count(topic.records), size(topic.size), grows
        table.add_row(name, *numbers, _kept(topic), ", ".join(_kinds(topic, seen.seen_ms)))
    return table


def _kept(topic: TopicInventory) -> str:
    """For how long records stay, by the settings that are in force."""
    time, most = topic.retention_ms, topic.retention_bytes
    told = [duration(time / 1000)] if time is not None else []
    return ", ".join([*told, *([f"{size(most)} a partition"] if most is not None else [])]) or "for ever"


def _kinds(topic: TopicInventory, now_ms: int) -> Iterator[str]:
    sample = topic.sample
    if sample.is_early:
        yield "times before 2000"
    if sample.is_ahead(now_ms):
        yield "times ahead of now"
    if topic.is_compacted:
        yield "compacted"
    if sample.transactional:
        yield "transactional"
    if sample.append_time:
        yield "LogAppendTime"
    if sample.plain:
        yield "of producers without an id"
    if sample.gaps:
        yield "with gaps"


def _waves(migration: Migration, seen: Inventory) -> RenderableType:
    table = grid("WAVE", "TOPICS", "GROUPS", "CLIENTS", "WRITERS", right=("WRITERS",))
    for wave in migration.waves:
        table.add_row(
            wave.name, some(wave.topics), some(wave.groups), some(wave.clients), count(len(seen.writing(wave.topics)))
        )
    return table


def planned(plan: MigrationPlan, *, steps: bool) -> RenderableType:
    """The waves in their order, the reasons of each, and the plan's hash."""
    parts: list[RenderableType] = [
        Text(f"migration {plan.name}: {plan.source} ({plan.source_id}) -> {plan.target} ({plan.target_id})"),
        _overview(plan),
    ]
    for wave in plan.waves:
        if wave.reasons or steps:
            parts.append(Text(f"\nwave {wave.name}", style="bold"))
        if steps:
            parts += _steps(wave)
        if wave.reasons:
            parts.append(findings(wave.reasons))
    if plan.reasons:
        parts += [Text("\nthe whole", style="bold"), findings(plan.reasons)]
    verdict = "nothing forbids it" if plan.ok else "it cannot be started as it is"
    parts.append(Text(f"\n{verdict}; plan {plan.hash}", style="" if plan.ok else "bold red"))
    return Group(*parts)


def _overview(plan: MigrationPlan) -> RenderableType:
    table = grid("WAVE", "ORDER", "TOPICS", "GROUPS", "TO COPY", "ABOUT", right=("TOPICS", "GROUPS", "TO COPY"))
    for wave in plan.waves:
        table.add_row(
            wave.name,
            wave.order.value,
            count(len(wave.topics)),
            count(len(wave.groups)),
            size(wave.estimate.size),
            _about(wave.estimate),
        )
    return table


def _about(estimate: Estimate) -> str:
    at = f"at {size(estimate.rate)}/s{', assumed' if estimate.assumed else ''}"
    if estimate.waves > 1:
        at += f", while {estimate.waves} waves copy at once"
    return "never" if estimate.is_endless else f"{duration(estimate.seconds)} {at}"


def _steps(wave: WavePlan) -> Iterator[RenderableType]:
    yield _listed("start", wave.start)
    for switch in wave.switches:
        yield _listed(f"switch {switch.part.value}", switch.steps)


def _listed(title: str, steps: tuple[MigrationStep, ...]) -> RenderableType:
    table = grid(title.upper(), "", right=())
    for number, step in enumerate(steps, 1):
        table.add_row(f"{number}. {step.kind.value}", step.text)
    return table
