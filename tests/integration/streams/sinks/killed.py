"""A process that writes a batch and stands still in the middle of it: ``python -m ... PROVIDER OPTIONS QUERY ROWS``."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from anabranch.spark.session import session
from anabranch.spark.streams.sinks import mysql, opensearch, postgresql, redis
from anabranch.spark.streams.sinks.port import QueryIdentity
from anabranch.streams.tables import TableDeclaration
from tests.integration.streams.sinks.rows import many

KINDS = {one.KIND.provider: one.KIND for one in (mysql, opensearch, postgresql, redis)}
CHUNKS = 3
"""So many are sent before it stands still."""


def stand_still(sink: Any) -> None:
    """Say so, and wait, once some chunks are sent."""
    connect = sink._connect
    sent = 0

    def connected(retrying: Any) -> Any:
        server = connect(retrying)
        load = server.load

        def counted(columns: Any, chunk: bytes) -> None:
            nonlocal sent
            load(columns, chunk)
            sent += 1
            if sent == CHUNKS:
                print("SENT", flush=True)
                threading.Event().wait()

        server.load = counted
        return server

    sink._connect = connected


def main(provider: str, options: str, query: str, rows: str) -> None:
    """Write, and wait in the middle."""
    table = TableDeclaration("hits", provider, options=json.loads(options))
    sink = KINDS[provider].open(table, QueryIdentity("job", query, 1))
    stand_still(sink)
    spark = session("killed", "local[2]")
    sink.write(many(spark, int(rows), "killed"), 0)  # type: ignore[union-attr]


if __name__ == "__main__":
    main(*sys.argv[1:])
