"""The scripts of the lineage tests, with the edges that a person worked out, and the plans that Spark made of them.

A script begins with ``-- script: what it shows``.  Below it stand the edges that are expected (``out.*``: whole rows)::

    -- edge: visits.user -> out.user identity
    -- table: visits -> out             (a table of which no column is used)
    -- reads: visits.page visits.n      (columns that are named, and make nothing)
    -- not understood: relation rate
    -- then: dropDuplicates user        (what is done to the rows and SQL cannot say)

Plans are in ``plans.jsonl``, a line a script, made by ``python -m tests.integration.streams.record_lineage``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from anabranch.streams.lineage.edges import InsertLineage, lineage_of_insert

HERE = Path(__file__).parent
PLANS = HERE / "plans.jsonl"
PACKAGES = {
    "e:": "org.apache.spark.sql.catalyst.expressions.",
    "p:": "org.apache.spark.sql.catalyst.plans.logical.",
}
"""How the file of plans shortens the names of classes."""

STREAMS: Mapping[str, str] = {
    "visits": "user STRING, page STRING, ts TIMESTAMP, n INT, price DOUBLE, tags ARRAY<STRING>, "
    "props MAP<STRING, STRING>, "
    "value STRUCT<user: STRUCT<id: BIGINT, name: STRING>, items: ARRAY<STRUCT<sku: STRING, qty: INT>>>",
    "clicks": "user STRING, ts TIMESTAMP, ad STRING, cost DOUBLE",
    "raw": "key STRING, value STRING, topic STRING, timestamp TIMESTAMP",
}
TABLES: Mapping[str, str] = {
    "users": "id INT, name STRING, country STRING",
    "orders": "id INT, amount DOUBLE",
}
CATALOG: Mapping[str, str] = {
    "cities": "(city STRING, country STRING, pop INT) USING parquet",
    "rates": "(code STRING, rate DOUBLE) USING parquet",
    "ticks": "USING rate",
}
DECLARED = (*STREAMS, *TABLES, "cities")


@dataclass(frozen=True, slots=True)
class Case:
    """One script: what it shows, its text, and what is expected of it."""

    name: str
    file: str
    text: str
    edges: frozenset[str]
    tables: frozenset[str]
    reads: frozenset[str]
    not_understood: frozenset[str]
    then: tuple[str, ...]

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements of the script."""
        return tuple(one.strip() for one in self.text.split(";") if one.strip())


@dataclass(frozen=True, slots=True)
class Recorded:
    """The plan of an INSERT, as Spark analysed it."""

    target: str
    columns: tuple[str, ...]
    plan: Sequence[Any]

    @property
    def text(self) -> str:
        """The plan as Spark writes it."""
        return json.dumps(_long(self.plan))


@cache
def cases() -> tuple[Case, ...]:
    """All scripts."""
    return tuple(case for file in sorted((HERE / "scripts").glob("*.sql")) for case in _cases(file))


@cache
def recorded() -> Mapping[str, tuple[Recorded, ...]]:
    """The plans of each script by its name."""
    lines = PLANS.read_text(encoding="utf-8").splitlines()
    return {
        found["script"]: tuple(Recorded(one["target"], tuple(one["columns"]), one["plan"]) for one in found["inserts"])
        for found in map(json.loads, lines)
    }


@cache
def lineages(case: Case) -> tuple[InsertLineage, ...]:
    """What is told of each INSERT of a script."""
    return tuple(lineage_of_insert(one.text, one.target, one.columns, DECLARED) for one in recorded()[case.name])


def _cases(file: Path) -> list[Case]:
    found = []
    for part in file.read_text(encoding="utf-8").split("-- script: ")[1:]:
        name, *lines = part.splitlines()
        told: dict[str, list[str]] = {}
        for line in lines:
            if line.startswith("-- ") and not line.startswith("-- ("):
                word, _, rest = line[3:].partition(": ")
                told.setdefault(word, []).append(rest)
        unknown = set(told) - {"edge", "table", "reads", "not understood", "then"}
        assert not unknown, f"{file.name}, {name}: {unknown}"
        text = "\n".join(line for line in lines if not line.startswith("--"))
        edges, tables, noted = (frozenset(told.get(word, ())) for word in ("edge", "table", "not understood"))
        reads = frozenset(one for line in told.get("reads", ()) for one in line.split())
        then = tuple(told.get("then", ("",))[0].split())
        found.append(Case(name, file.name, text, edges, tables, reads, noted, then))
    return found


def _long(found: Any) -> Any:
    if isinstance(found, list):
        return [_long(one) for one in found]
    if not isinstance(found, dict):
        return found
    wider = {key: _long(value) for key, value in found.items()}
    kind = wider.get("class")
    if isinstance(kind, str):
        wider["class"] = PACKAGES.get(kind[:2], kind[:2]) + kind[2:]
        wider.setdefault("num-children", 0)
    if isinstance(wider.get("exprId"), int):
        wider["exprId"] = {"id": wider["exprId"]}
    if "outputAttrIds" in wider:
        wider["outputAttrIds"] = [{"id": one} for one in wider["outputAttrIds"]]
    return wider
