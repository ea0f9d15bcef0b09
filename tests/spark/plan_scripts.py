"""Queries that read tables in every way there is, with what each needs: written by hand, before a plan was recorded.

The session has, in Spark's catalog: tables shop.orders, shop.customers, shop.secret, a streaming table shop.clicks,
views shop.totals (a scalar subquery on secret) and shop.nested (on totals, in a CASE), functions shop.most (a scalar
one that reads secret) and the temporary table function secrets.  Registered as a runner does it, as temporary views:
``shop.payments`` of the catalog, its view ``shop.paid`` (on payments and shop.secret), and the script's own ``mine``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.streams.needed import Registered

REGISTERED = Registered(frozenset({"mine"}), frozenset({"shop.payments"}), frozenset({"shop.paid"}))
SETUP = (
    "CREATE DATABASE IF NOT EXISTS shop",
    *(
        f"CREATE TABLE IF NOT EXISTS shop.{name} (id INT, name STRING, amount DOUBLE) USING parquet"
        for name in ("orders", "customers", "secret")
    ),
    "INSERT INTO shop.secret VALUES (1, 'a', 2.0)",
    "CREATE TABLE IF NOT EXISTS shop.clicks USING rate OPTIONS (rowsPerSecond '1')",
    "CREATE VIEW shop.totals AS SELECT id, (SELECT max(amount) FROM shop.secret) AS most FROM shop.orders",
    "CREATE VIEW shop.nested AS SELECT CASE WHEN id > 1 THEN (SELECT max(most) FROM shop.totals) ELSE 0 END AS c "
    "FROM shop.customers",
    "CREATE FUNCTION shop.most(x INT) RETURNS DOUBLE RETURN (SELECT max(amount) FROM shop.secret WHERE id = x)",
    "CREATE TEMPORARY FUNCTION secrets(x INT) RETURNS TABLE(id INT, amount DOUBLE) "
    "RETURN SELECT id, amount FROM shop.secret WHERE id = x",
    "CREATE TEMPORARY VIEW passing AS SELECT * FROM shop.secret",
)
ORDERS, CUSTOMERS, SECRET = "shop.orders", "shop.customers", "shop.secret"
CALLS, VARIABLES = "call methods of Java classes (reflect, java_method)", "use session variables"


@dataclass(frozen=True)
class Script:
    """A query, and what it needs: tables of the catalog by short name, the script's own, sources and calls."""

    query: str
    tables: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    sources: int = 0
    calls: tuple[str, ...] = ()


SCRIPTS: Mapping[str, Script] = {
    "plain": Script("SELECT * FROM shop.orders", (ORDERS,)),
    "alias-of-another-name": Script("SELECT orders.id FROM shop.secret AS orders", (SECRET,)),
    "view": Script("SELECT * FROM shop.totals", (ORDERS, SECRET, "shop.totals")),
    "view-in-view": Script("SELECT * FROM shop.nested", (CUSTOMERS, "shop.nested", ORDERS, SECRET, "shop.totals")),
    "temporary-view": Script("SELECT * FROM passing", (SECRET,)),
    "cte-read-twice": Script(
        "WITH x AS (SELECT * FROM shop.secret) SELECT a.id FROM x a JOIN x b ON a.id = b.id", (SECRET,)
    ),
    "cte-not-read": Script("WITH x AS (SELECT * FROM shop.secret) SELECT * FROM shop.orders", (ORDERS, SECRET)),
    "cte-in-cte": Script(
        "WITH x AS (WITH y AS (SELECT id FROM shop.secret) SELECT * FROM y) SELECT * FROM x", (SECRET,)
    ),
    "scalar-subquery": Script("SELECT id, (SELECT max(id) FROM shop.secret) FROM shop.orders", (ORDERS, SECRET)),
    "scalar-subquery-in-case": Script(
        "SELECT CASE WHEN id = 1 THEN (SELECT max(name) FROM shop.secret) END FROM shop.orders", (ORDERS, SECRET)
    ),
    "in-where": Script("SELECT * FROM shop.orders WHERE id IN (SELECT id FROM shop.secret)", (ORDERS, SECRET)),
    "not-in-having": Script(
        "SELECT id FROM shop.orders GROUP BY id HAVING max(amount) NOT IN (SELECT amount FROM shop.secret)",
        (ORDERS, SECRET),
    ),
    "exists-correlated": Script(
        "SELECT * FROM shop.orders o WHERE EXISTS (SELECT 1 FROM shop.secret s WHERE s.id = o.id)", (ORDERS, SECRET)
    ),
    "lateral": Script(
        "SELECT * FROM shop.orders o, LATERAL (SELECT max(amount) FROM shop.secret s WHERE s.id = o.id)",
        (ORDERS, SECRET),
    ),
    "union-branch": Script("SELECT id FROM shop.orders UNION ALL SELECT id FROM shop.secret", (ORDERS, SECRET)),
    "except": Script("SELECT id FROM shop.orders EXCEPT SELECT id FROM shop.secret", (ORDERS, SECRET)),
    "order-by": Script("SELECT * FROM shop.orders ORDER BY (SELECT max(id) FROM shop.secret)", (ORDERS, SECRET)),
    "join-condition": Script(
        "SELECT o.id FROM shop.orders o JOIN shop.customers c ON o.id = (SELECT max(id) FROM shop.secret)",
        (CUSTOMERS, ORDERS, SECRET),
    ),
    "window": Script(
        "SELECT sum(id) OVER (PARTITION BY (SELECT max(id) FROM shop.secret)) FROM shop.orders", (ORDERS, SECRET)
    ),
    "function": Script("SELECT shop.most(id) FROM shop.orders", (ORDERS, SECRET)),
    "table-function": Script("SELECT * FROM secrets(1)", (SECRET,)),
    "table-function-lateral": Script("SELECT * FROM shop.orders o, LATERAL secrets(o.id)", (ORDERS, SECRET)),
    "identifier-clause": Script("SELECT * FROM IDENTIFIER('shop.' || 'secret')", (SECRET,)),
    "pivot": Script(
        "SELECT * FROM (SELECT id, name FROM shop.secret) PIVOT (count(id) FOR name IN ('a', 'b'))", (SECRET,)
    ),
    "pipe": Script("FROM shop.orders |> WHERE id > 1 |> UNION ALL (TABLE shop.secret)", (ORDERS, SECRET)),
    "recursive": Script(
        "WITH RECURSIVE r(n) AS (SELECT max(id) FROM shop.secret UNION ALL SELECT n + 1 FROM r WHERE n < 5) "
        "SELECT * FROM r",
        (SECRET,),
    ),
    "stream": Script("SELECT * FROM STREAM shop.clicks", ("shop.clicks",)),
    "stream-with-watermark": Script(
        "SELECT window(timestamp, '1 minute') w, count(*) FROM STREAM(shop.clicks) WATERMARK timestamp DELAY OF "
        "INTERVAL 10 SECONDS GROUP BY 1",
        ("shop.clicks",),
    ),
    "stream-and-lookup": Script(
        "SELECT c.value FROM STREAM shop.clicks c JOIN shop.secret s ON c.value = s.id", ("shop.clicks", SECRET)
    ),
    "registered-table": Script("SELECT * FROM `shop.payments`", ("shop.payments",)),
    "registered-view": Script("SELECT * FROM `shop.paid`", ("shop.paid", "shop.payments", SECRET)),
    "own": Script("SELECT * FROM mine WHERE value IN (SELECT id FROM shop.secret)", (SECRET,), ("mine",)),
    "path": Script("SELECT * FROM parquet.`{secret}`", sources=1),
    "path-in-subquery": Script(
        "SELECT * FROM mine WHERE value > (SELECT count(*) FROM parquet.`{secret}`)", (), ("mine",), sources=1
    ),
    "reflect": Script("SELECT reflect('java.lang.System', 'getenv', 'HOME') FROM mine", (), ("mine",), calls=(CALLS,)),
    "try-reflect": Script("SELECT try_reflect('java.lang.System', 'getenv', 'HOME')", calls=(CALLS,)),
    "java-method": Script(
        "SELECT * FROM mine WHERE java_method('java.lang.System', 'getenv', 'HOME') = '/'",
        (),
        ("mine",),
        calls=(CALLS,),
    ),
    "session-variable": Script("SELECT hidden FROM mine", (), ("mine",), calls=(VARIABLES,)),
    "no-table": Script("SELECT explode(sequence(1, 3)), n FROM VALUES (1), (2) AS t(n), range(4)"),
}
"""By name; ``{secret}`` is the directory of shop.secret."""
