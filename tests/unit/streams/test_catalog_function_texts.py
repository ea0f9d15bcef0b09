"""Which functions of the catalog a text calls, and what artifacts bring of them."""

from __future__ import annotations

import pytest

from anabranch.errors import InvalidFieldError
from anabranch.streams.artifacts.errors import TwoArtifactVersionsError
from anabranch.streams.artifacts.references import one_of_each, reference
from anabranch.streams.catalog.ddl import definitions
from anabranch.streams.catalog.functions import (
    CatalogTexts,
    NotPinnedFunctionError,
    called,
    of_artifact,
    of_artifacts,
    pinned_of,
)
from anabranch.streams.catalog.objects import Function

pytestmark = pytest.mark.unit

CLEAN = "CREATE FUNCTION shop.clean AS 'text.clean' USING FILE 'artifact:text@2'"
OUTER = "CREATE FUNCTION shop.outer(x STRING) RETURNS STRING RETURN `shop` . `CLEAN`(x)"
PLAIN = "CREATE FUNCTION plain(x INT) RETURNS INT RETURN x"
CATALOG = CatalogTexts((CLEAN, OUTER, PLAIN), (("shop.cleaned", "SELECT shop.outer(name) FROM shop.names"),))


def names(text: str) -> list[str]:
    """The functions that a text calls."""
    return [one.name.short for one in called(CATALOG, text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT shop.clean(a)", ["shop.clean"]),
        ("SELECT spark_catalog.`Shop`.`Clean` (a)", ["shop.clean"]),
        ("SELECT shop.outer(a)", ["shop.clean", "shop.outer"]),
        ("SELECT * FROM STREAM shop.cleaned", ["shop.clean", "shop.outer"]),
        ("SELECT plain(1)", ["default.plain"]),
        ("SELECT default.plain(1)", ["default.plain"]),
        ("SELECT clean, outer, t.clean, workshop.clean(a), shop.cleaner(b), plainly", []),
    ],
)
def test_what_a_text_calls_is_called_by_its_whole_name(text: str, found: list[str]) -> None:
    """With what that calls, through views, too; a word of the same spelling is none."""
    assert names(text) == found


def test_artifacts_of_functions_are_named_by_their_statements() -> None:
    """One of SQL has none; a path is none, and two versions of one are refused."""
    clean, plain = called(CATALOG, "shop.clean(a) plain(b)")
    assert [str(one) for one in of_artifacts(clean)] == ["artifact:text@2"] and of_artifacts(plain) == ()
    assert of_artifact((clean, plain), "text") == (clean,) and of_artifact((clean, plain), "other") == ()
    made = definitions("CREATE FUNCTION shop.bad AS 'a.B' USING JAR '/tmp/a.jar'")[0].object
    assert isinstance(made, Function)
    with pytest.raises(InvalidFieldError):
        of_artifacts(made)
    with pytest.raises(TwoArtifactVersionsError, match="or a function of the catalog"):
        one_of_each([reference("artifact:text@2"), reference("artifact:text")])


def test_what_was_pinned_of_a_function_runs_whatever_it_has_come_to_be() -> None:
    """Another definition, and one of SQL; one that was of SQL as it was saved has nothing pinned, and says so."""
    clean, plain = called(CATALOG, "shop.clean(a) plain(b)")
    was = "CREATE FUNCTION shop.clean AS 'text.clean' USING FILE 'artifact:text@1'"
    assert pinned_of(clean, {"shop.clean": was}) == was
    now = definitions("CREATE OR REPLACE FUNCTION shop.clean(x STRING) RETURNS STRING RETURN 'x'")[0].object
    assert isinstance(now, Function) and pinned_of(now, {"shop.clean": was}) == was
    assert pinned_of(plain, {"shop.clean": was}) == pinned_of(now, {}) == ""
    with pytest.raises(NotPinnedFunctionError, match=r"shop\.clean of the catalog has come to be of an artifact"):
        pinned_of(clean, {})
