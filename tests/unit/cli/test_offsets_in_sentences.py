"""Offsets have their thousands set apart wherever the source puts one into a text that people read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import anabranch

pytestmark = pytest.mark.test
PACKAGE = Path(anabranch.__path__[0])
OFFSET = re.compile(r"(?:.*_)?(?:offset|position|end|sequence|upto)s?")
"""What offsets and sequences are called."""
TEMPLATE = re.compile(rf"{{({OFFSET.pattern})}}")
"""One in the text of an error, which its fields fill."""
ALLOWED = {
    ("cli/groups/baseline.py", "positions"): "a count in words",
    ("cli/streams/beginning.py", "offset"): "an argument of a command line",
    ("migration/lost.py", "offsets"): "offsets in words",
    ("offsets/offset_map.py", "source_end"): "for who debugs",
    ("offsets/offset_map.py", "target_end"): "for who debugs",
    ("operations/migrations/rehearsed_jobs.py", "offset"): "latest or committed, as a word",
    ("service/verbs/create_words.py", "offset"): "an argument of a command line",
    ("service/verbs/migration_shapes.py", "end"): "the source or the target",
    ("spark/routes/errors.py", "offset"): "an argument of a command line",
    ("state/codecs/gap_records.py", "sequence"): "the key of a record",
    ("streams/script.py", "end"): "what ends a quotation",
}
"""Where such a name is no number, or is read by a program; each with why."""


def put_in(tree: ast.AST) -> Iterator[str]:
    """The names of what is put into texts as it is, by its name alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and node.format_spec is None and node.conversion == -1:
            value = node.value
            if isinstance(value, ast.Attribute):
                yield value.attr
            elif isinstance(value, ast.Name):
                yield value.id
        elif (
            isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        ):
            yield from TEMPLATE.findall(node.value.value)


def test_an_offset_in_a_sentence_has_its_thousands_set_apart() -> None:
    """``{offset:,}`` in place of ``{offset}``; a program's words are listed."""
    found = {
        (str(path.relative_to(PACKAGE)), name)
        for path in sorted(PACKAGE.rglob("*.py"))
        for name in put_in(ast.parse(path.read_text("utf-8")))
        if OFFSET.fullmatch(name)
    }
    assert found - ALLOWED.keys() == set(), "write {...:,}, or say above why not"
    assert ALLOWED.keys() <= found, "these need no place among the allowed ones any more"
