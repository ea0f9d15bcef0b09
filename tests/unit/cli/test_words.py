"""One word an idea: what people read has the standard words, and not those that the project called things by once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import anabranch

pytestmark = pytest.mark.test
ROOT = Path(__file__).parents[3]
PACKAGE = Path(anabranch.__path__[0])
WORDS = {
    r"(cannot|could not) be told\b": "cannot be determined",
    r"nothing was done": "nothing was changed",
    r"is no longer so\b": "has changed since the plan",
    r"belongs to --": "requires --",
    r"[Dd]o it with:": "Dry run. Apply with:",
    r"\b[Mm]end(s|ed|ing)?\b": "fix, correct, repair",
    r"\b[Ss]tretch(es)?\b": "offset span",
    r"\b[Aa]new\b": "again",
    r"\b[Tt]enures?\b": "ownership",
    r"\b[Uu]ntold\b": "unavailable",
    r"\b(headgap|jumper|naive)\b": "head padding, gap writer, unmodified restart",
    r"\b[Rr]un maps?\b|\b([Ss]tored|[Pp]ersisted|[Ff]iled) runs\b": "offset map, mapped range",
    r"\b[Rr]uns say\b|\ba line a run\b|\bno run is persisted\b": "mapped range",
    r"\b[Ff]il(es|ed|ing) (runs|progress|ranges|them)\b": "persist",
    r"\b[Bb]ehind (offset|what (was|is)\b|them:|the (point of no return|fence|copies|old one))": "after",
}
"""What is not to be read, and what stands in its place."""
EVERY = re.compile("|".join(f"(?:{word})" for word in WORDS))
ALLOWED = {
    ("docs/reference/control-topics.md", "stretches"): "a field that is stored",
    ("src/anabranch/state/codecs/gap_records.py", "stretches"): "the same field",
    ("src/anabranch/cli/offsets/rebuild.py", "stretches"): "a field of an answer",
    ("src/anabranch/spark/align/run.py", "stretches"): "a field of a report",
    ("src/anabranch/spark/verify/cleaned.py", "untold"): "columns of Spark",
    ("src/anabranch/spark/verify/classifying.py", "untold"): "columns of Spark",
    ("src/anabranch/spark/verify/run.py", "untold"): "columns of Spark",
}
"""Where a word is stored, or is a name that people do not read; each with why."""


def messages(path: Path) -> Iterator[str]:
    """Texts of a module that people may read: strings but docstrings, and those of the command line's help, too."""
    source = path.read_text("utf-8")
    if not EVERY.search(re.sub(r'"\s*\n\s*f?"', "", source)):
        return  # nine in ten, and to parse them takes long
    tree = ast.parse(source)
    docstrings: set[int] = set()
    if PACKAGE / "cli" not in path.parents:
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            for one in body if isinstance(body, list) else ():
                if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                    docstrings.add(id(one.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield " ".join(node.value.split())


def pages() -> Iterator[tuple[str, str]]:
    """Documents, and the web's sources without comments: where each stands, and its text."""
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        yield str(path.relative_to(ROOT)), path.read_text("utf-8")
    for path in sorted((ROOT / "web" / "src").rglob("*.ts*")):
        if path.name != "schema.d.ts":
            text = re.sub(r"/\*.*?\*/|(?<=\s)//[^\n]*", "", path.read_text("utf-8"), flags=re.DOTALL)
            yield str(path.relative_to(ROOT)), text


def texts() -> Iterator[tuple[str, str]]:
    """All that people read."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for text in messages(path):
            yield str("src" / path.relative_to(PACKAGE.parent)), text
    yield from pages()


def test_what_people_read_has_the_standard_words() -> None:
    """Messages, help, hints, documents and the web; stored names stay as they are."""
    found = {
        (place, match[0]): text[max(0, match.start() - 60) : match.end() + 60]
        for place, text in texts()
        for match in EVERY.finditer(text)
    }
    wrong = {key: text for key, text in found.items() if key not in ALLOWED}
    assert not wrong, "see WORDS for what stands in their place"
    assert ALLOWED.keys() <= found.keys(), "these need no place among the allowed ones any more"
