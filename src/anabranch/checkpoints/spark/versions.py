"""Which Spark wrote a checkpoint, as far as its bytes tell: the newest release that first wrote what is there.

Releases add keys to the second line of offsets/N and take none away, so that line names the oldest release that can
have written it. A newer one writes the same for a query that it took over, and says no more.
"""

from __future__ import annotations

from collections.abc import Mapping

_KEYS = (
    ("4.3", "spark.sql.dropDuplicates.deterministicKeyOrder.enabled"),
    ("4.2", "spark.sql.streaming.stateStore.rowChecksum.enabled"),
    ("4.0", "spark.sql.streaming.stateStore.encodingFormat"),
    ("3.5", "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan"),
)
_OFFSETS = {2: "4.2"}
_COMMITS = {2: "4.0", 3: "4.2"}
_OLDEST = "2.1"


def engine_version(conf: Mapping[str, str], offsets_version: int, commits_version: int) -> str:
    """The engine in words: ``Spark 4.2 or newer``."""
    found = [release for release, key in _KEYS if key in conf]
    found += [_OFFSETS.get(offsets_version, _OLDEST), _COMMITS.get(commits_version, _OLDEST)]
    return f"Spark {max(found)} or newer"
