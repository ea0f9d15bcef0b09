"""Scripts: cut into statements where Spark would, each at its place."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.streams.errors import ScriptError, excerpt
from anabranch.streams.script import Statement, pieces, split

pytestmark = pytest.mark.unit

QUOTED = ("'a;b'", "'it''s;'", r"'\';'", '"a;b"', r'"\";"', "`a;b`", "`a``;`", r"r'\;'", r'R"\;"', "-- a;b'\n")
COMMENTS = ("/* a;b */", "/* /* ; */ ' ; */", "-- one \\\n two;\n")
PLAIN = ("SELECT", " ", "\n", "a", "1", ",", "x_r", "\t", "é", "(", ")", "/*+ hint */", "- ", "/ ")
TOKENS = st.sampled_from((*QUOTED, *COMMENTS, *PLAIN))
STATEMENTS = st.lists(TOKENS, max_size=8).map("".join)


@given(st.lists(STATEMENTS, max_size=5))
def test_the_pieces_of_a_script_give_it_back_and_no_quoted_semicolon_cuts(statements: list[str]) -> None:
    """P1, P2."""
    script = ";".join(statements)

    assert pieces(script) == (tuple(statements) if statements else ("",))
    assert ";".join(pieces(script)) == script


@given(st.text(alphabet="ab'\"`;-/*+rR\\\n \r", max_size=40))
def test_any_text_is_cut_whole_or_refused_with_its_place(script: str) -> None:
    """P1 for text that nobody wrote with care."""
    try:
        statements = split(script)
    except ScriptError as caught:
        error = caught
    else:
        assert ";".join(pieces(script)) == script
        assert [statement.number for statement in statements] == list(range(1, len(statements) + 1))
        return
    lines = script.split("\n")
    assert 1 <= error.line <= len(lines)
    assert 1 <= error.column <= len(lines[error.line - 1])


@given(st.lists(STATEMENTS, max_size=4))
def test_a_padded_statement_has_each_character_where_the_script_has_it(statements: list[str]) -> None:
    """P3."""
    script = ";".join(statements)
    lines = script.split("\n")
    for statement in split(script):
        padded = statement.padded().split("\n")
        assert len(padded) == statement.text.count("\n") + statement.line
        for number, line in enumerate(padded[statement.line - 1 :], statement.line):
            begin = statement.column - 1 if number == statement.line else 0
            assert lines[number - 1].startswith(line[begin:], begin)


def test_comments_before_a_statement_are_no_part_of_it_and_empty_statements_are_none() -> None:
    """The place of a statement is that of its first word."""
    script = "-- first\n  SELECT 1;;\n/* two\n */ ; /* x */ SELECT /* y */ 2 -- end\n"

    assert split(script) == (
        Statement(1, 2, 3, "SELECT 1"),
        Statement(2, 4, 15, "SELECT /* y */ 2 -- end"),
    )


@pytest.mark.parametrize(
    ("script", "line", "column", "what"),
    [
        ("SELECT 1;\nSELECT 'a", 2, 8, "string"),
        ('SELECT "a', 1, 8, "string"),
        ("SELECT r'a\\", 1, 9, "string"),
        ("SELECT `a", 1, 8, "quoted name"),
        ("SELECT 1;\n\n /* a /* b */", 3, 2, "comment"),
    ],
)
def test_what_is_not_ended_is_named_where_it_begins(script: str, line: int, column: int, what: str) -> None:
    """The caret stands below the opening quote."""
    with pytest.raises(ScriptError) as caught:
        split(script)

    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert f"a {what} begins here" in error.message
    assert error.excerpt.splitlines()[1].index("^") == column - 1
    assert pickle.loads(pickle.dumps(error)).message == error.message


@pytest.mark.parametrize("script", ["BEGIN SELECT 1; END", "SELECT 1;\nbegin\nSELECT 1;\nend", "l: BEGIN END"])
def test_a_compound_statement_is_refused_by_name(script: str) -> None:
    """A script is a list of statements."""
    with pytest.raises(ScriptError, match=r"BEGIN \.\.\. END"):
        split(script)


def test_the_excerpt_of_a_long_line_shows_its_place() -> None:
    """A line of thousands of characters is no excerpt."""
    shown, caret = excerpt("x" * 500 + "!" + "y" * 500, 1, 501).split("\n")

    assert len(shown) == 100
    assert shown[caret.index("^")] == "!"
