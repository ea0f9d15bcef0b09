"""What a script may not do where it is judged by grants: ways of Spark's SQL out of the tables that it names.

Each was found by trying it on Spark 4.1; docs/reference/catalog.md has the list.

Invariant
    L4  a setting that is not known to be harmless is refused: some switch judged ways on again, or name classes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "spark.sql.runSQLOnFiles": "false",
        "spark.sql.variable.substitute": "false",
    }
)
"""Of the session: no path is a table, and ``${env:NAME}`` in a script is a text."""

FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("reflect", "java_method", "try_reflect"), "calls methods of Java"),
        **dict.fromkeys(
            ("from_avro", "schema_of_avro"), "opens files that its options name: use a table of format avro"
        ),
        **dict.fromkeys(("from_protobuf", "to_protobuf"), "opens files: use a table of format protobuf"),
        **dict.fromkeys(("from_xml", "schema_of_xml"), "opens files that its options name"),
    }
)
"""Functions that are not there, with why."""

_SETTABLE = re.compile(
    r"spark\.sql\.(shuffle\.partitions|session\.timezone|ansi\.enabled|autobroadcastjointhreshold"
    r"|adaptive\.(enabled|advisorypartitionsizeinbytes|autobroadcastjointhreshold|coalescepartitions\.[a-z]+"
    r"|skewjoin\.[a-z]+|localshufflereader\.enabled|nonemptypartitionratioforbroadcastjoin"
    r"|maxshuffledhashjoinlocalmapthreshold|optimizeskewsinrebalancepartitions\.enabled"
    r"|rebalancepartitionssmallpartitionfactor|applyfinalstageshuffleoptimizations)"
    r"|broadcasttimeout|mapkeydeduppolicy|legacy\.timeparserpolicy|maxmetadatastringlength"
    r"|streaming\.(nodatamicrobatches\.enabled|multiplewatermarkpolicy|minbatchestoretain|maxbatchestoretaininmemory"
    r"|statestore\.(maintenanceinterval|mindeltasforsnapshot|rocksdb\.[a-z.]+)"
    r"|statefuloperator\.[a-z.]+|stopactiverunonrestart|aggregation\.stateformatversion|join\.stateformatversion))",
)
_STATE_STORE = "spark.sql.streaming.statestore.providerclass"
_STATE_STORES = re.compile(
    r"org\.apache\.spark\.sql\.execution\.streaming\.state\.(HDFSBacked|RocksDB)StateStoreProvider"
)


def may_set(name: str, value: str) -> bool:
    """Whether a script may have a setting so (L4)."""
    lower = name.strip().lower()
    if lower == _STATE_STORE:
        return _STATE_STORES.fullmatch(value.strip()) is not None
    return _SETTABLE.fullmatch(lower) is not None
