"""Migrations of the service as tables: where waves stand, what runs have done, and plans of what is done for a wave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml
from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.migrations.asking import MigrationChange
from anabranch.cli.reasons import some
from anabranch.cli.render import findings, grid
from anabranch.cli.words import count, duration, moment, printable, size
from anabranch.model.counted import counted
from anabranch.model.reasons import Reason, Severity

_STEP_STYLE = {
    "done": "green",
    "doing": "cyan",
    "putting back": "yellow",
    "put back": "yellow",
    "to do": "dim",
    "not done": "dim",
}
_JOURNAL = "point of no return"


def said(text: str) -> RenderableType:
    """A sentence."""
    return Text(printable(text))


# -- where waves stand -----------------------------------------------------------------------------------------


def migrations(answer: Iterable[Mapping[str, Any]], now_ms: int) -> RenderableType:
    """One line a wave."""
    table = grid("MIGRATION", "WAVE", "STATE", "APPLICATIONS ON", "UNDER WAY", "HELD UP", right=("HELD UP",))
    waves = [(one["name"], wave) for one in answer for wave in one["waves"]]
    for name, wave in waves:
        table.add_row(name, *_wave(wave, now_ms))
    if not waves:
        return Text("no migrations; begin with: anabranch migrate discover --source NAME --target NAME")
    return Group(table, *(line for name, wave in waves for line in _not_copied(wave, f"migration {name}, ")))


def _wave(wave: Mapping[str, Any], now_ms: int) -> tuple[str, ...]:
    run = wave["run"]
    without = f"{wave['gone']} did not answer" if wave["gone"] else ""
    behind = "not all is copied" if wave["not_copied"] else ""
    state = ", ".join(one for one in (wave["state"], wave["lost"] or without or behind) if one)
    state += f" (held: {printable(wave['held'])})" if wave["held"] else ""
    under_way = "" if run is None or not run["is_open"] else f"{run['what']}, step {run['at'] + 1} of {run['steps']}"
    if under_way and run["waits"]:
        under_way += f": {printable(run['waits'])}"
    return wave["name"], state, wave["at"], under_way, held_up(run, now_ms)


def _not_copied(wave: Mapping[str, Any], whose: str = "") -> Iterable[RenderableType]:
    """Why its link does not copy all that it should."""
    if wave["not_copied"]:
        yield Text(f"{whose}wave {wave['name']}: {printable(wave['not_copied'])}", "yellow")


def held_up(run: Mapping[str, Any] | None, now_ms: int) -> str:
    """For how long a run held applications up, or does."""
    if run is None or run["paused_since_ms"] is None:
        return ""
    until = run["paused_until_ms"]
    return (
        f"{count((now_ms if until is None else until) - run['paused_since_ms'])} ms{' so far' if until is None else ''}"
    )


def migration(answer: Mapping[str, Any], wave: str | None, now_ms: int) -> RenderableType:
    """A migration, its waves, and the last run of each."""
    told = answer["migration"]
    head = f"migration {told['name']}: {told['source']} -> {told['target']}, by {told['author']}"
    table = grid("WAVE", "STATE", "APPLICATIONS ON", "UNDER WAY", "HELD UP", "TOPICS", "GROUPS", right=("HELD UP",))
    parts: list[RenderableType] = [Text(head)]
    if told["approvers"]:
        parts.append(Text(f"switches are approved by one of: {', '.join(told['approvers'])}"))
    for one in told["waves"]:
        table.add_row(*_wave(one, now_ms), some(one["topics"]), some(one["groups"]))
    parts += [table, *_throttle(told["throttle"], now_ms), *_access(told["access"], now_ms)]
    for one in told["waves"]:
        if wave in (None, one["name"]):
            parts += [*_lost(one), *_not_copied(one)]
    seen = set()
    for one in answer["runs"]:
        name = one["run"]["wave"]
        if name not in seen and wave in (None, name):
            seen.add(name)
            parts += _run(one, now_ms)
    return Group(*parts)


def _lost(wave: Mapping[str, Any]) -> Iterable[RenderableType]:
    """What may be lost with a cluster that a wave was led away from, or is not known without it."""
    if wave["lost"]:
        way = "back" if wave["leg"] % 2 else "there"
        yield Text(f"wave {wave['name']}: {wave['lost']}; there is no way {way}", "yellow")
    elif wave["is_gone"]:
        yield Text(f"wave {wave['name']}: {wave['gone']} did not answer, and does not keep up", "yellow")
    yield from (Text(f"  {printable(one)}", "yellow") for one in wave["doubts"])


def _throttle(throttle: Mapping[str, Any], now_ms: int) -> Iterable[RenderableType]:
    """How fast links may copy, and what holds them back."""
    if seen := throttle.get("seen"):
        rates = [
            f"{link} {'as fast as it goes' if rate is None else f'{size(rate)}/s'}"
            for link, rate in sorted(seen["rates"].items())
        ]
        if rates:
            yield Text(f"rates, {duration((now_ms - seen['at_ms']) / 1000)} ago: {', '.join(rates)}")
        for why in [*seen["reasons"], *seen["failures"]]:
            yield Text(f"held back: {printable(why)}", "yellow")


def _access(looks: Mapping[str, Mapping[str, Any]], now_ms: int) -> Iterable[RenderableType]:
    """When access rules and quotas were carried over last, what that changed, and why it failed for a wave."""

    def ago(at_ms: int) -> str:
        return f"{duration((now_ms - at_ms) / 1000)} ago"

    good = [look["good_ms"] for look in looks.values() if not look["why"] and look["good_ms"] is not None]
    changed = max((one for one in looks.values() if one["changed_ms"] is not None), key=_changed_ms, default=None)
    if good or changed:
        said = f"access rules and quotas carried over {ago(min(good))}" if good else "access rules and quotas"
        if changed:
            rules = f"{counted(changed['created'], 'rule')} made, {count(changed['deleted'])} deleted"
            quotas = f"{counted(changed['quotas'], 'quota')} changed"
            said += f"; last change {ago(changed['changed_ms'])}: {rules}, {quotas}"
        yield Text(said)
    for wave, look in sorted(looks.items()):
        if look["why"]:
            last = "never" if look["good_ms"] is None else f"last {ago(look['good_ms'])}"
            yield Text(f"access of wave {wave} is not carried over ({last}): {printable(look['why'])}", "yellow")


def _changed_ms(look: Mapping[str, Any]) -> int:
    return int(look["changed_ms"])


def _run(answer: Mapping[str, Any], now_ms: int) -> Iterable[RenderableType]:
    run = answer["run"]
    ended = "" if run["over_ms"] is None else f" to {moment(run['over_ms'])}"
    yield Text(f"\nwave {run['wave']}: {run['what']}, {run['state']}, {moment(run['began_ms'])}{ended} UTC", "bold")
    table = grid("", "STEP", "", "TOOK", right=("TOOK",))
    before = run["began_ms"]
    for number, step in enumerate(answer["steps"], 1):
        took = "" if step["ended_ms"] is None else duration((step["ended_ms"] - before) / 1000)
        before = step["ended_ms"] or before
        style = "bold" if step["kind"] == _JOURNAL else _STEP_STYLE.get(step["state"], "")
        table.add_row(f"{number}.", step["kind"], f"{step['state']}: {printable(step['text'])}", took, style=style)
    yield table
    if run["is_open"] and run["waits"]:
        yield Text(f"waits: {printable(run['waits'])}", "yellow")
    if run["why"]:
        yield Text(f"taken back: {printable(run['why'])}", "yellow")
    if told := held_up(run, now_ms):
        yield Text(
            f"applications were held up for {told}" if not run["is_open"] else f"applications are held up: {told}"
        )
    yield from _pauses(answer["pauses"])


def _pauses(pauses: Mapping[str, int]) -> Iterable[RenderableType]:
    """The topics that were written to, the longest pause first."""
    if pauses:
        table = grid("TOPIC", "NOT WRITTEN TO FOR AT LEAST", right=("NOT WRITTEN TO FOR AT LEAST",))
        for topic, ms in sorted(pauses.items(), key=lambda one: (-one[1], one[0])):
            table.add_row(topic, f"{count(ms)} ms")
        yield table


# -- plans -----------------------------------------------------------------------------------------------------


def _reasons(reasons: Iterable[Mapping[str, Any]]) -> list[RenderableType]:
    made = [Reason.found(Severity(one["severity"]), one["what"], one["fix"]) for one in reasons]
    return [findings(made)] if made else []


def start_plan(change: MigrationChange) -> RenderableType:
    """The waves that would be started, and every reason."""
    plan = change.plan
    table = grid("WAVE", "TOPICS", "GROUPS", "TO COPY", right=("TOPICS", "GROUPS", "TO COPY"))
    parts: list[RenderableType] = [Text(f"migration {plan['name']}: {plan['source']} -> {plan['target']}"), table]
    for wave in plan["waves"]:
        table.add_row(
            wave["name"], count(len(wave["topics"])), count(len(wave["groups"])), size(wave["estimate"]["size"])
        )
        if wave["reasons"]:
            parts += [Text(f"\nwave {wave['name']}", style="bold"), *_reasons(wave["reasons"])]
    parts += _reasons(plan["reasons"])
    if not plan["waves"]:
        parts.append(Text("nothing is left to start"))
    return Group(*parts, Text(f"plan {change.hash}"))


def wave_plan(change: MigrationChange) -> RenderableType:
    """Each step, with what it would meet now, and every reason against it."""
    plan = change.plan
    part = "" if plan["part"] == "all" else f", {plan['part']}"
    head = f"{plan['verb']} of wave {plan['wave']} of migration {plan['migration']}{part}"
    table = grid("", "STEP", "", "NOW")
    for number, step in enumerate(plan["steps"], 1):
        style = "bold" if step["kind"] == _JOURNAL else "red" if step["forbidden"] else ""
        now = ("it would wait: " if step["waits"] else "") + printable(step["what"])
        table.add_row(f"{number}.", step["kind"], printable(step["text"]), now, style=style)
    return Group(
        Text(f"{head}: {plan['source']} -> {plan['target']}", "bold"),
        table,
        *_reasons(plan["reasons"]),
        Text(f"plan {change.hash}, to be approved by its id: {change.id}"),
    )


def rehearsal_plan(change: MigrationChange) -> RenderableType:
    """What a rehearsal makes, and what it leaves out."""
    plan = change.plan
    table = grid("REAL", "MADE FOR THE REHEARSAL")
    for real, scratch in [*plan["topics"].items(), *plan["groups"].items(), *plan["checkpoints"].items()]:
        table.add_row(real, scratch)
    left = [Text(f"not rehearsed: {printable(one)}", "yellow") for one in plan["left_out"]]
    return Group(Text(f"rehearsal of wave {plan['wave']}"), table, *left, Text(f"plan {change.hash}"))


def rehearsed(report: Mapping[str, Any]) -> RenderableType:
    """How a rehearsal went."""
    table = grid("", "TOOK", "HELD UP", right=("TOOK", "HELD UP"))
    for run in report["runs"]:
        pause = "" if run["pause_ms"] is None else f"{count(run['pause_ms'])} ms"
        table.add_row(run["verb"], duration(run["took_ms"] / 1000), pause)
    told = (
        f"{count(report['records'])} records of {count(report['partitions'])} partitions were copied exactly, and "
        f"{count(report['positions'])} positions moved exactly; all that was made is removed"
    )
    left = [Text(f"not rehearsed: {printable(one)}", "yellow") for one in report["left_out"]]
    return Group(table, Text(told), *left)


def give_up_plan(change: MigrationChange) -> RenderableType:
    """What would be put back."""
    plan = change.plan
    table = grid("", "IS STILL DONE" if plan["goes_on"] else "IS PUT BACK, THE LAST STEP FIRST")
    for number, text in enumerate(plan["steps"], 1):
        table.add_row(f"{number}.", printable(text))
    left = [Text(f"left out, without the lost cluster: {printable(text)}", "yellow") for text in plan["left_out"]]
    return Group(Text(f"{plan['verb']} of wave {plan['wave']} of migration {plan['migration']}"), table, *left)


def hold_plan(change: MigrationChange) -> RenderableType:
    """Why switches wait from now on."""
    plan = change.plan
    waits = [f"{name or 'all waves'}: {printable(why)}" for name, why in sorted(plan["after"].items())]
    told = "; ".join(waits) if waits else "no switch waits"
    return Text(f"migration {plan['migration']}: {told}")


def throttle_plan(change: MigrationChange) -> RenderableType:
    """How fast it may copy from now on."""
    wish = change.plan["after"]
    rate = "as its file says" if wish["rate"] is None else f"at most {size(wish['rate'])}/s"
    of = "" if change.plan["wave"] is None else f"wave {change.plan['wave']} of "
    whose = f"{of}migration {change.plan['migration']}"
    if not wish["is_paused"]:
        return Text(f"{whose} copies {rate}")
    longest = wish["longest_ms"]
    most = "" if longest is None else f", for {duration(longest / 1000)} at most: records are kept for twice that"
    return Text(f"{whose} copies nothing{most}")


def set_plan(change: MigrationChange) -> RenderableType:
    """What the file was, and what it would be."""
    table = grid("BEFORE", "AFTER")
    table.add_row(*(yaml.safe_dump(change.plan[side], sort_keys=False).rstrip() for side in ("before", "after")))
    approval = Text(f"plan {change.hash}, to be approved by its id: {change.id}")
    return Group(Text(f"migration {change.plan['migration']}"), table, approval)


def plan_of(verb: str, change: MigrationChange) -> RenderableType:
    """The plan of any verb of migrations."""
    known = {
        "migrations.start": start_plan,
        "migrations.set": set_plan,
        "migrations.hold": hold_plan,
        "migrations.release": hold_plan,
        "migrations.give-up": give_up_plan,
        "migrations.rehearse": rehearsal_plan,
        "migrations.throttle": throttle_plan,
        "migrations.resume": throttle_plan,
    }
    return known.get(verb, wave_plan)(change)


# -- what came of them -----------------------------------------------------------------------------------------


def started(report: Mapping[str, Any]) -> RenderableType:
    """The waves that are copied now."""
    runs = report["runs"]
    lines = [f"wave {run['wave']}: start {run['state']}" for run in runs] or ["nothing was left to start"]
    return Group(*(Text(line) for line in lines))


def ended(report: Mapping[str, Any]) -> RenderableType:
    """How a run of a wave ended."""
    if "runs" in report:
        return started(report)
    if "left_out" in report:
        return rehearsed(report)
    if "run" not in report:
        return Text("done")
    held = "" if report["pause_ms"] is None else f"; applications were held up for {count(report['pause_ms'])} ms"
    doubts = [Text(printable(one), "yellow") for one in report["doubts"]]
    return Group(
        Text(f"wave {report['wave']}: {report['verb']} {report['state']}{held}"), *_pauses(report["pauses"]), *doubts
    )
