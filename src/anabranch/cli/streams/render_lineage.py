"""Lineage as tables: pure functions from what the service answers to what Rich prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from anabranch.cli.render import grid
from anabranch.cli.words import moment, printable


def stream(answer: Mapping[str, Any], column: str | None) -> RenderableType:
    """Each edge of a stream, or those of one column, on either side."""
    head = f"stream {answer['stream']}, version {answer['version']}, told {moment(answer['told_at_ms'])}"
    parts: list[RenderableType] = [Text(head, style="bold")]
    table = grid("FROM", "TO", "KIND")
    wanted = None if column is None else column.lower()
    for insert in answer["inserts"]:
        for edge in insert["edges"]:
            source = f"{edge['source_table']}.{edge['source_column']}"
            target = f"{edge['target_table']}.{edge['target_column'] or '*'}"
            if wanted is None or wanted in (source.lower(), target.lower()):
                path = "".join(f".{one}" for one in edge["path"])
                table.add_row(*(Text(printable(text)) for text in (f"{source}{path}", target, edge["kind"])))
    if table.row_count:
        parts.append(table)
    for insert in answer["inserts"]:
        sources = ", ".join(insert["sources"]) or "no table"
        if wanted is None:
            parts.append(Text(printable(f"{insert['target']} is written from {sources}"), style="dim"))
        if insert["not_understood"]:
            noted = ", ".join(insert["not_understood"])
            parts.append(Text(printable(f"not understood in it, so there may be fewer edges: {noted}"), style="yellow"))
    if wanted is None and answer["functions"]:
        called = ", ".join(f"{one['function']} of artifact {one['artifact']}" for one in answer["functions"])
        parts.append(Text(printable(f"it calls {called}"), style="dim"))
    if answer["hidden"]:
        parts.append(Text(printable(f"you may not see columns of {', '.join(answer['hidden'])}"), style="yellow"))
    return Group(*parts)


def column(answer: Mapping[str, Any], *, impact: bool) -> RenderableType:
    """Who reads a column, and what breaks if it goes."""
    named = printable(answer["column"])
    parts: list[RenderableType] = []
    if answer["readers"]:
        table = grid("STREAM", "WRITES", "COLUMNS", "KINDS")
        for one in answer["readers"]:
            columns = [*one["columns"], *(["*"] if one["is_for_rows"] else [])]
            cells = one["stream"], one["target"], ", ".join(columns), ", ".join(one["kinds"]) or "named alone"
            table.add_row(*(Text(printable(text)) for text in cells))
        parts += [Text(f"{named} is read by:", style="bold"), table]
    else:
        parts.append(Text(f"no stream that has told its lineage reads {named}"))
    if impact:
        streams = ", ".join(answer["streams"])
        parts.append(Text(f"without it break: {streams}" if streams else "without it no stream breaks", style="bold"))
        for word in ("lost", "changed"):
            parts += [Text(printable(f"  {word}: {one}")) for one in answer[word]]
    for word, text in (("uncertain", "parts are not understood of"), ("unknown", "no lineage yet of")):
        if answer[word]:
            parts.append(Text(printable(f"{text}: {', '.join(answer[word])}"), style="yellow"))
    return Group(*parts)
