"""Which relations a parsed plan names: none is passed over, whatever stands beside it."""

from __future__ import annotations

import pytest

from anabranch.spark.streams.function_bodies import is_of
from anabranch.spark.streams.granted import cte_names, relations

pytestmark = pytest.mark.unit
SECRET = ("lake", "db", "secret")


class Plan:
    """A plan as Spark writes it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def toString(self) -> str:
        """Its text."""
        return self._text


@pytest.mark.parametrize(
    "text",
    [
        "'Project [*]\n+- 'UnresolvedRelation [lake, db, secret], [], false\n",
        "'Project [*]\n+- 'UnresolvedRelation [lake, db, secret], [a=]], false\n",
        "'Project [*]\n+- 'UnresolvedRelation [lake, db, secret], [a=x\ny], false\n",
        "'Project ['UnresolvedRelation [ AS a#1]\n+- 'UnresolvedRelation [lake, db, secret], [], false\n",
        "'Project ['UnresolvedRelation [x], [ AS a#1]\n+- 'UnresolvedRelation [lake, db, secret], [a=], false\n",
    ],
)
def test_a_relation_is_told_whatever_stands_beside_it(text: str) -> None:
    """Brackets in its options, and a text before it that looks like the beginning of one."""
    assert (SECRET, False) in relations(Plan(text))


def test_each_relation_is_told_once_with_how_it_is_read() -> None:
    """As they stand there."""
    text = "'Join Inner\n:- 'UnresolvedRelation [a], [b=]], true\n+- 'UnresolvedRelation [shop, c], [], false\n"
    assert relations(Plan(text)) == [(("a",), True), (("shop", "c"), False)]


def test_a_quoted_name_with_dots_hides_no_table() -> None:
    """A common table expression has a name of one part; a table of a catalog of that spelling has three."""
    queries = cte_names(Plan("CTE [lake.db.secret, rates]\n:  +- SubqueryAlias `lake.db.secret`\n"))
    assert is_of(queries, ("Rates",)) and not is_of(queries, SECRET) and not is_of(queries, ("shop", "rates"))
