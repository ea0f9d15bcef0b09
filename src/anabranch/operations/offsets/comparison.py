"""A comparison of both sides through maps that are in a file."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from anabranch.config.maps_file import StoredMap
from anabranch.config.verifyspec import VerifySpec
from anabranch.model.cluster import ClusterContext
from anabranch.verify.pins import Pin


def comparison(source: ClusterContext, target: ClusterContext, link: str, maps: Sequence[StoredMap]) -> VerifySpec:
    """A comparison of both sides through these maps, which keeps nothing on the target.

    For a map with unclear spans it covers what follows the last one, and says so.
    """
    pins, doubts = [], {}
    for one in maps:
        runs = one.ranges
        since = (runs.source_start, runs.target_start)
        if one.unclear:
            since = (one.unclear[-1].source_to, one.unclear[-1].target_to)
            doubts[str(one.source)] = f"unclear up to source offset {since[0]:,}; only what follows is compared"
        whole = (runs.source_end, runs.target_end)
        pins.append(Pin(str(one.lane), one.source, one.target, since[0], whole[0], since[1], whole[1], runs))
    return VerifySpec(link, f"verify-{uuid.uuid4().hex[:12]}", source, target, tuple(pins), keep=False, doubts=doubts)
