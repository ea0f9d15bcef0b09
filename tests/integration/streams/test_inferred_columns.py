"""Columns that were inferred, tried on real Spark: every sample decodes under them."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json

from anabranch.streams.inference import infer
from tests.chance import seed

pytestmark = pytest.mark.full

LEAVES = (None, True, 1, -7, 2**62, 2**70, 1.5, -2.25, 1e300, "", "a", "é", "1")


def value(chance: random.Random, depth: int) -> Any:
    """Some JSON value."""
    what = chance.randrange(4 if depth else 2)
    if what == 2:
        return [value(chance, depth - 1) for _ in range(chance.randrange(3))]
    if what == 3:
        return {name: value(chance, depth - 1) for name in chance.sample("abc", chance.randrange(3))}
    return chance.choice(LEAVES)


def is_kept(before: Any, after: Any) -> bool:
    """Whether nothing that is not null became null."""
    if before is None:
        return True
    if after is None:
        return False
    if isinstance(before, dict) and not isinstance(after, str):
        return all(is_kept(one, after[name]) for name, one in before.items())
    if isinstance(before, list) and not isinstance(after, str):
        return len(before) == len(after) and all(map(is_kept, before, after))
    return True


def test_spark_decodes_every_sample(spark: SparkSession) -> None:
    """F1, of records of every kind of mixture."""
    first = seed(0)
    for number in range(first, first + 25):
        chance = random.Random(number)
        records = [{name: value(chance, 2) for name in chance.sample("vwxyz", 3)} for _ in range(4)]
        found = infer(json.dumps(one).encode() for one in records)
        schema = ", ".join(f"{one.name} {one.type}" for one in found.columns)
        texts = spark.createDataFrame(
            [(number, json.dumps(one)) for number, one in enumerate(records)], "n INT, t STRING"
        )
        rows = texts.orderBy("n").select(from_json(col("t"), schema).alias("v")).collect()
        for record, row in zip(records, rows, strict=True):
            decoded = row["v"].asDict(recursive=True)
            assert is_kept(record, decoded), (number, schema, record, decoded)
