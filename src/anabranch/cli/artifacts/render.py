"""Artifacts as tables: pure functions from what the service answers to what Rich prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.render import grid
from anabranch.cli.service_change import ServiceChange
from anabranch.cli.words import count, moment, printable

MOST_FUNCTIONS = 30


def artifacts(answer: Sequence[Mapping[str, Any]]) -> RenderableType:
    """One line an artifact."""
    if not answer:
        return Text("no artifacts; upload one with: anabranch artifact upload NAME FILE")
    table = grid("ARTIFACT", "KIND", "VERSION", "OWNER", "DESCRIPTION", right=("VERSION",))
    for one in answer:
        told = Text(printable(one["owner"])), Text(printable(one["description"]))
        table.add_row(one["name"], one["kind"], count(one["newest"]), *told)
    return table


def artifact(answer: Mapping[str, Any]) -> RenderableType:
    """An artifact with its versions."""
    one, versions = answer["artifact"], answer["versions"]
    head = Text.assemble((one["name"], "bold"), f": {one['kind']} of {printable(one['owner'])}")
    parts: list[RenderableType] = [head]
    if one["description"]:
        parts.append(Text(printable(one["description"])))
    table = grid("VERSION", "FILE", "BYTES", "SHA-256", "UPLOADED", "BY", "USED BY", "NOTE", right=("VERSION", "BYTES"))
    for each in versions:
        version, content = each["version"], each["version"]["content"]
        told = content["file"], count(content["size"]), content["sha256"][:12], moment(version["at_ms"])
        uses = ", ".join(each["uses"])
        table.add_row(
            count(version["number"]), *told, Text(printable(version["author"])), uses, Text(printable(version["note"]))
        )
    parts.append(table)
    if versions:
        parts += [_functions(versions[0]["version"]["functions"]), _needed(versions[0]["version"]["dependencies"])]
    return Group(*parts)


def save_plan(shown: ServiceChange) -> RenderableType:
    """A version that would be saved."""
    plan = shown.plan
    content = plan["content"]
    head = Text(f"version {plan['version']} of artifact {plan['artifact']}: {plan['kind']} {content['file']}")
    head.append(f", {count(content['size'])} bytes, SHA-256 {content['sha256']}")
    return Group(head, _functions(plan["functions"], plan["more"]), _needed(plan["dependencies"]))


def saved(done: Mapping[str, Any]) -> RenderableType:
    """That a version was saved, and how a script names it."""
    text = f"version {done['version']} of artifact {done['artifact']} is saved"
    return Text(f"{text}; a script names it 'artifact:{done['artifact']}@{done['version']}'")


def delete_plan(shown: ServiceChange) -> RenderableType:
    """Versions that would be forgotten."""
    plan = shown.plan
    numbers = ", ".join(map(str, plan["versions"]))
    return Text(f"versions {numbers} of artifact {plan['artifact']} are forgotten" + _last(plan["is_last"]))


def deleted(done: Mapping[str, Any]) -> RenderableType:
    """That versions are forgotten."""
    return Text(f"versions {', '.join(map(str, done['versions']))} of artifact {done['artifact']} are forgotten")


def _last(is_last: bool) -> str:
    return "; it has no others, and goes with them" if is_last else ""


def _functions(functions: Sequence[Mapping[str, Any]], more: int = 0) -> RenderableType:
    if not functions:
        return Text("no functions were found in it", style="dim")
    table = grid("FUNCTION", "ARGUMENTS", "RETURNS")
    for one in functions[:MOST_FUNCTIONS]:
        arguments = ", ".join(_argument(each) for each in one["arguments"])
        table.add_row(one["name"], Text(arguments), one["returns"])
    left = len(functions) - MOST_FUNCTIONS + more
    return Group(table, Text(f"and {count(left)} more", style="dim")) if left > 0 else table


def _argument(one: Mapping[str, Any]) -> str:
    text = f"{one['name']} {one['type']}".strip()
    return f"[{text}]" if one["optional"] else text


def _needed(files: Sequence[Mapping[str, Any]]) -> RenderableType:
    return Text(
        f"with it: {', '.join(one['file'] for one in files)}" if files else "it needs nothing else", style="dim"
    )
