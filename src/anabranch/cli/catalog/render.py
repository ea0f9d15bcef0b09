"""The catalog and its changes as tables: pure functions from what the service answers to what Rich prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.render import findings, grid
from anabranch.cli.words import count, moment, printable
from anabranch.model.reasons import Reason, Severity
from anabranch.streams.versions import StreamSettings

_STYLES = {"create": "green", "change": "yellow", "keep": "dim"}


def attached_tables(found: Sequence[Mapping[str, Any]], *, is_cut: bool) -> RenderableType:
    """One line a table of catalogs of Spark's own."""
    if not found:
        return Text("nothing that you may see; a grant is on a name: anabranch catalog grant read lake.shop user:NAME")
    table = grid("LAUNCHER", "CATALOG", "DATABASE", "TABLE", "PROBLEM")
    for one in found:
        table.add_row(*_cells(*(one[name] for name in ("launcher", "catalog", "database", "table", "problem"))))
    return Group(table, Text("there are more", style="yellow")) if is_cut else table


def entries(found: Sequence[Mapping[str, Any]], attached: Sequence[Mapping[str, Any]] = ()) -> RenderableType:
    """One line an entry, and the catalogs of Spark's own."""
    if attached:
        names = printable(", ".join(_attached(one) for one in attached))
        more = f"attached: {names}; their tables: anabranch catalog list --attached"
        return Group(entries(found), Text(more, style="dim"))
    if not found:
        return Text("nothing that you may see; define it with: anabranch catalog create FILE.sql --execute")
    table = grid("NAME", "KIND", "OWNER", "CHANGED", "DESCRIPTION")
    for one in found:
        told = _cells(one["short"], one["kind"], one["owner"])
        table.add_row(*told, moment(one["changed_at"]), *_cells(one["description"]))
    return table


def _attached(one: Mapping[str, Any]) -> str:
    is_own = one["launcher"] == StreamSettings().launcher
    return str(one["name"]) if is_own else f"{one['name']} (launcher {one['launcher']})"


def entry(found: Mapping[str, Any]) -> RenderableType:
    """One entry with all that it says."""
    summary, document = found["summary"], found["document"]
    parts: list[RenderableType] = [
        Text.assemble(
            (f"{summary['kind']} {summary['short']}", "bold"),
            f", of {printable(summary['owner'])}; you may {', '.join(found['may']) or 'see it'}",
        )
    ]
    if summary["description"]:
        parts.append(Text(printable(summary["description"])))
    if "columns" in document:
        parts.append(Text(f"provider {printable(document['provider'])}"))
        columns = grid("COLUMN", "TYPE", "COMMENT")
        for one in document["columns"]:
            columns.add_row(*_cells(one["name"], one["type"], document["comments"].get(one["name"], "")))
        parts.append(columns)
        for name, value in document["options"].items():
            parts.append(Text(f"  {printable(name)} = {printable(value)}"))
    parts += [Text(printable(document[name])) for name in ("query", "statement") if name in document]
    parts.append(Text(f"revision {found['revision']}, {moment(summary['changed_at'])} by {found['author']}", "dim"))
    return Group(*parts)


def versions(found: Sequence[Mapping[str, Any]]) -> RenderableType:
    """One line a version."""
    table = grid("VERSION", "AT", "AUTHOR", "COLUMNS", right=("VERSION",))
    for one in found:
        columns = ", ".join(f"{column['name']} {column['type']}" for column in one["columns"])
        table.add_row(count(one["number"]), moment(one["at"]), *_cells(one["author"], columns))
    return table if found else Text("it has no columns of its own")


def grants(found: Sequence[Mapping[str, Any]]) -> RenderableType:
    """One line a grant."""
    table = grid("ON", "PRINCIPAL", "PRIVILEGE", "SINCE", "BY")
    for one in found:
        told = _cells(one["securable"], one["principal"], one["privilege"])
        table.add_row(*told, moment(one["at"]), *_cells(one["author"]))
    return table if found else Text("no grants that you may see")


def groups(found: Sequence[Mapping[str, Any]]) -> RenderableType:
    """One line a group."""
    table = grid("GROUP", "ACCOUNTS")
    for one in found:
        members = (f"{each} (provider)" if each in one["claimed"] else each for each in one["members"])
        table.add_row(*_cells(one["group"], ", ".join(members)))
    return table if found else Text("no groups that you may see")


def defining(plan: Mapping[str, Any]) -> RenderableType:
    """What is made and changed, and what that breaks."""
    table = grid("CHANGE", "KIND", "NAME", "TOPIC")
    reasons: list[Reason] = []
    readers: list[Text] = []
    for one in plan["changes"]:
        change = Text(one["change"], _STYLES[one["change"]])
        table.add_row(change, *_cells(one["kind"], one["name"], f"made: {one['topic']}" if one["topic"] else ""))
        reasons += [_reason(one["name"], told) for told in one["reasons"]]
        if one["readers"]:
            readers.append(Text(f"{one['name']} is read by streams: {', '.join(one['readers'])}", style="yellow"))
    parts: list[RenderableType] = [table]
    if reasons:
        parts.append(findings(reasons))
    return Group(*parts, *readers)


def defined(report: Mapping[str, Any]) -> RenderableType:
    """What was changed."""
    topics = f"; topics made: {', '.join(report['topics'])}" if report["topics"] else ""
    return Text(f"done: {', '.join(report['changed']) or 'nothing changed'}{printable(topics)}")


def importing(plan: Mapping[str, Any]) -> RenderableType:
    """Each table with its columns, and what to look at."""
    parts: list[RenderableType] = []
    for one in plan["tables"]:
        told = f" from topic {printable(one['topic'])}: {count(one['fit'])} of {count(one['samples'])} samples fit"
        parts.append(Text.assemble((f"table {one['name']}", "bold"), told))
        columns = grid("COLUMN", "TYPE")
        for column in one["columns"]:
            columns.add_row(*_cells(column["name"], column["type"]))
        parts.append(columns)
        parts += [Text(f"  note: {printable(note)}", "yellow") for note in one["notes"]]
    return Group(*parts)


def dropping(plan: Mapping[str, Any]) -> RenderableType:
    """What goes."""
    text = Text()
    text.append(f"{plan['kind']} {plan['name']} goes", style="bold")
    text.append(f", and {count(plan['grants'])} grants on it\n")
    topic = plan["topic"]
    if topic is not None:
        told = f"{count(topic['partitions'])} partitions, {count(topic['records'])} records"
        text.append(f"topic {printable(topic['topic'])} of {topic['cluster']} is deleted: {told}\n", style="bold red")
    if plan["mentioned"]:
        text.append(f"views and functions that have its name: {', '.join(plan['mentioned'])}\n", style="yellow")
    for word, streams in (("read", plan["readers"]), ("written", plan["writers"])):
        if streams:
            text.append(f"it is {word} by streams: {', '.join(streams)}\n", style="bold yellow")
    text.rstrip()
    return text


def dropped(report: Mapping[str, Any]) -> RenderableType:
    """What is gone."""
    topic = f", and topic {printable(report['topic'])}" if report["topic"] else ""
    return Text(f"done: {report['name']} is gone{topic}")


def granting(plan: Mapping[str, Any]) -> RenderableType:
    """A grant that is given or taken back."""
    one = plan["grant"]
    word = "is given to" if plan["give"] else "is taken from"
    so = "" if plan["changes"] else " (it is so already)"
    return Text(printable(f"{one['privilege']} on {one['securable']} {word} {one['principal']}{so}"))


def granted(report: Mapping[str, Any]) -> RenderableType:
    """How it is now."""
    one = report["grant"]
    may = "may" if report["given"] else "has no grant to"
    return Text(printable(f"done: {one['principal']} {may} {one['privilege']} {one['securable']}"))


def setting(plan: Mapping[str, Any]) -> RenderableType:
    """What an entry's owner and description would be."""
    told = [f"{name} {printable(plan[name])}" for name in ("owner", "description") if plan[name] is not None]
    return Text(f"{plan['name']}: {', '.join(told)}")


def entry_set(report: Mapping[str, Any]) -> RenderableType:
    """An entry's owner and description of now."""
    return Text(f"done: {report['name']} is of {printable(report['owner'])}: {printable(report['description'])}")


def grouping(plan: Mapping[str, Any]) -> RenderableType:
    """Who comes and who goes."""
    told = [*(f"{one} comes" for one in plan["add"]), *(f"{one} goes" for one in plan["remove"])]
    return Text(printable(f"group {plan['group']}: {', '.join(told) or 'it is so already'}"))


def grouped(report: Mapping[str, Any]) -> RenderableType:
    """Who is in a group."""
    return Text(printable(f"done: group {report['group']} has {', '.join(report['members']) or 'nobody'}"))


def _cells(*texts: str) -> list[Text]:
    """Texts that others have written: neither styles nor what steers a terminal."""
    return [Text(printable(one)) for one in texts]


def _reason(name: str, told: Mapping[str, Any]) -> Reason:
    return Reason.found(Severity(told["severity"]), printable(f"{name}: {told['what']}"), printable(told["fix"]))
