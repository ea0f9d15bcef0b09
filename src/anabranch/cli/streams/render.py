"""Streams as tables: pure functions from what the service answers to what Rich prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.hints import quoted
from anabranch.cli.render import grid
from anabranch.cli.service_change import ServiceChange
from anabranch.cli.service_options import repeated_service
from anabranch.cli.words import count, duration, moment, printable
from anabranch.streams.kinds import StreamJobKind, StreamKind

_STYLES = {
    "running": "green",
    "starting": "cyan",
    "stopping": "cyan",
    "degraded": "yellow",
    "failed": "red",
    "lost": "red",
    "draft": "dim",
    "stopped": "dim",
}
_DIFF = {"+": "green", "-": "red", "@": "cyan"}
MOST_RUNS = 10


def streams(answer: Sequence[Mapping[str, Any]], now_ms: int) -> RenderableType:
    """One line a stream."""
    if not answer:
        return Text("no streams; save one with: anabranch stream create NAME FILE")
    names = "STREAM", "KIND", "STATE", "SINCE", "VERSION", "QUERIES", "ROWS/S", "LAG", "OWNER"
    links = [one for one in answer if one["kind"] == StreamJobKind.LINK]
    table = grid(*names, right=("ROWS/S", "LAG"))
    for one in answer:
        queries = one["queries"]
        rates = [query["rows_per_second"] for query in queries if query["rows_per_second"] is not None]
        lags = [query["lag"] for query in queries if query["lag"] is not None]
        table.add_row(
            one["name"],
            one["kind"],
            _state(one["state"]),
            _since(one, now_ms),
            _version(one),
            count(len(queries)) if queries else "",
            count(round(sum(rates))) if rates else "",
            count(sum(lags)) if lags else "",
            printable(one["owner"]) if one["kind"] != StreamJobKind.LINK else f"to {one['target']}",
        )
    if not links:
        return table
    look = links[0]["look"]
    return Group(table, Text(f"more of a link, as of the first here: {look}", style="dim"))


def stream(answer: Mapping[str, Any], now_ms: int) -> RenderableType:
    """A stream with its queries and its newest runs."""
    one = answer["stream"]
    head = Text.assemble((one["name"], "bold"), ": ", _state(one["state"]))
    if one["kind"] == StreamJobKind.LINK:
        head.append(f", a link to {one['target']}")
    else:
        head.append(f" for {_since(one, now_ms)}, version {_version(one)}")
    parts: list[RenderableType] = [head]
    if one["description"]:
        parts.append(Text(printable(one["description"])))
    if one["why"]:
        parts.append(Text(printable(one["why"]), style="red" if one["state"] == "failed" else "yellow"))
    if one["queries"]:
        parts.append(_queries(one["queries"]))
    if answer["runs"]:
        parts.append(_runs(answer["runs"][:MOST_RUNS]))
    last = f"more: {one['look']}" if one["kind"] == StreamJobKind.LINK else f"checkpoints: {answer['checkpoints']}"
    parts.append(Text(last, style="dim"))
    return Group(*parts)


def versions(answer: Mapping[str, Any]) -> RenderableType:
    """One line a version, the newest first."""
    table = grid("VERSION", "SAVED", "BY", "TRIGGER", "RESTARTS", "LAUNCHER", "NOTE", right=("VERSION", "RESTARTS"))
    published = answer["stream"]["published"]
    for one in answer["versions"]:
        settings = one["settings"]
        number = f"{one['number']}{' *' if one['number'] == published else ''}"
        told = settings["trigger"], count(settings["restarts"]), settings["launcher"], printable(one["note"])
        table.add_row(number, moment(one["at_ms"]), printable(one["author"]), *told)
    return Group(table, Text("* is published: the next start runs it", style="dim"))


def diff(lines: Sequence[str]) -> RenderableType:
    """A unified diff."""
    if not lines:
        return Text("no difference")
    return Group(*(Text(printable(line), style=_DIFF.get(line[:1], "")) for line in lines))


def save_plan(shown: ServiceChange) -> RenderableType:
    """A version that would be saved."""
    plan = shown.plan
    head = Text(f"version {plan['version']} of stream {plan['stream']}, ")
    if plan["kind"] == StreamKind.PYSPARK:
        head.append("a PySpark file: it runs any code with the rights of the service's user")
        return Group(head, diff(plan["diff"])) if plan["base"] else head
    head.append(f"{count(len(plan['statements']))} statements")
    queries = grid("QUERY", "STATEMENT", "INTO", "CONNECTOR", "OUTPUT MODE", "COLUMNS", right=("STATEMENT",))
    for one in plan["queries"]:
        shape = ", ".join(f"{column['name']} {column['type']}" for column in one["columns"])
        queries.add_row(
            one["query"], str(one["statement"]), one["table"], one["connector"], one["mode"], printable(shape)
        )
    parts: list[RenderableType] = [head, queries]
    if plan["artifacts"]:
        parts.append(Text(printable(f"it runs with {', '.join(map(_pinned, plan['artifacts']))}")))
    return Group(*parts, diff(plan["diff"])) if plan["base"] else Group(*parts)


def _pinned(one: Mapping[str, Any]) -> str:
    """A version of an artifact, with the functions of the catalog that it brings."""
    names = ", ".join(each["name"] for each in one["functions"])
    return f"{one['artifact']}@{one['number']}" + (f" ({names})" if names else "")


def publish_plan(shown: ServiceChange) -> RenderableType:
    """The version that the next start would run."""
    plan = shown.plan
    return Text(f"the next start of stream {plan['stream']} runs version {plan['after']}; it was {plan['before']}")


def run_plan(shown: ServiceChange) -> RenderableType:
    """What would be done with a run."""
    plan = shown.plan
    if plan["target"]:
        return Text(f"{plan['verb']} link {plan['stream']} to {plan['target']}, which is {plan['state']}")
    how = {"keep": "; its state is kept", "new": "; a state that does not fit begins again, empty"}.get(
        plan["choice"], ""
    )
    how += f"; every query begins again at {plan['start']}" if plan["start"] else ""
    head = Text(f"{plan['verb']} stream {plan['stream']}, which is {plan['state']}; version {plan['version']}{how}")
    back = [
        f"query {one['query']} goes back to checkpoint {plan['checkpoint']}, "
        + (
            "by a number of records that is not known"
            if one["records"] is None
            else f"by {count(one['records'])} records"
        )
        + ": what it wrote since is written again"
        for one in plan["back"]
    ]
    return Group(head, *(Text(line) for line in back))


def delete_plan(shown: ServiceChange) -> RenderableType:
    """A stream that would be forgotten."""
    plan = shown.plan
    text = (
        f"stream {plan['stream']} is forgotten, with {count(plan['versions'])} versions and {count(plan['runs'])} runs"
    )
    return Text(f"{text}; its checkpoints stay")


def abandon_plan(shown: ServiceChange) -> RenderableType:
    """A run that would be given up, and what may happen."""
    plan = shown.plan
    since = moment(plan["silent_since"])
    head = f"{plan['run']} of stream {plan['stream']} is given up: machine {plan['host']} is not heard of since {since}"
    follows = "it is started on another machine" if plan["wanted"] == "running" else "it stays stopped"
    return Group(Text(f"{head}; {follows}"), *(Text(line, style="yellow") for line in plan["may"]))


def abandoned(done: Mapping[str, Any]) -> RenderableType:
    """That a run is given up."""
    return Text(f"the run of stream {done['stream']} is given up; the stream is wanted {done['wanted']}")


def created(done: Mapping[str, Any], service: str | None) -> RenderableType:
    """That a stream was saved, and how it is started."""
    name = quoted(done["stream"])
    more = repeated_service(service)
    return Text(f"stream {done['stream']} is saved; start it with: anabranch stream start {name}{more}")


def saved(done: Mapping[str, Any], service: str | None) -> RenderableType:
    """That a version was saved, and how it is published."""
    again = f"anabranch stream publish {quoted(done['stream'])} {done['version']}{repeated_service(service)}"
    return Text(f"version {done['version']} of stream {done['stream']} is saved; publish it with: {again}")


def published(done: Mapping[str, Any]) -> RenderableType:
    """That a version is published."""
    text = f"version {done['version']} of stream {done['stream']} is published"
    if done["wanted"] == "running":
        text += f"; have it run with: anabranch stream restart {quoted(done['stream'])}"
    return Text(text)


def wanted(done: Mapping[str, Any]) -> RenderableType:
    """What is wanted of a stream now, or what became of a link."""
    if done["target"]:
        now = f"runs as {done['run']}" if done["run"] else "has ended"
        return Text(f"link {done['stream']} to {done['target']} {now}")
    return Text(f"stream {done['stream']} is wanted {done['wanted']}")


def deleted(done: Mapping[str, Any]) -> RenderableType:
    """That a stream is forgotten."""
    return Text(f"stream {done['stream']} is forgotten")


def _state(state: str) -> Text:
    return Text(state, style=_STYLES.get(state, ""))


def _since(one: Mapping[str, Any], now_ms: int) -> str:
    """For how long it is in its state; of a link that is not known."""
    return "" if one["since_ms"] is None else duration((now_ms - one["since_ms"]) / 1000)


def _version(one: Mapping[str, Any]) -> str:
    if one["kind"] == StreamJobKind.LINK:
        return ""
    runs, next_one = one["running_version"], one["published"]
    return str(next_one) if runs in (None, next_one) else f"{runs} ({next_one} is published)"


def _queries(queries: Sequence[Mapping[str, Any]]) -> RenderableType:
    table = grid(
        *("QUERY", "CONNECTOR", "BATCH", "ROWS IN", "ROWS/S", "BATCH MS", "LAG", "STATE ROWS"),
        *("ERRORS", "RETRIES", "WATERMARK"),
        right=("BATCH", "ROWS IN", "ROWS/S", "BATCH MS", "LAG", "STATE ROWS", "ERRORS", "RETRIES"),
    )
    for one in queries:
        rate = one["rows_per_second"]
        numbers = one["batch"], one["rows_in"], None if rate is None else round(rate), one["batch_ms"], one["lag"]
        cells = [count(value) for value in (*numbers, one["state_rows"], one["errors"], one["retries"])]
        table.add_row(one["query"], one["connector"], *cells, one["watermark"] or "")
    return table


def _runs(runs: Sequence[Mapping[str, Any]]) -> RenderableType:
    table = grid(
        *("RUN", "VERSION", "START", "LAUNCHER", "BEGAN", "ENDED", "EXIT CODE", "WHY"),
        right=("VERSION", "START", "EXIT CODE"),
    )
    for one in runs:
        ended = "" if one["ended_at_ms"] is None else moment(one["ended_at_ms"])
        code = "" if one["ended_at_ms"] is None else count(one["exit_code"])
        began = moment(one["began_at_ms"])
        told = one["id"], str(one["version"]), str(one["fence"]), one["launcher"], began, ended, code
        table.add_row(*told, printable(one["why"]))
    return table
