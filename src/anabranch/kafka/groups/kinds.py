"""What kind of group it is, from what brokers tell."""

from __future__ import annotations

import re
from collections.abc import Iterable

from anabranch.model.groups import GroupKind, GroupState, Member

STREAMS_ASSIGNOR = "stream"  # StreamsPartitionAssignor.name()
_THREAD = re.compile(r"-StreamThread-\d+-consumer$")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TYPES = {"consumer": GroupKind.CONSUMER, "share": GroupKind.SHARE, "streams": GroupKind.STREAMS}
_PROTOCOLS = {"connect": GroupKind.CONNECT, "sr": GroupKind.SCHEMAS, "": GroupKind.SIMPLE}


def kind_of(group_type: str, protocol_type: str) -> GroupKind:
    """The kind by a listing's two words; a classic group of a protocol unknown to us is a classic group."""
    return _TYPES.get(group_type.lower()) or _PROTOCOLS.get(protocol_type, GroupKind.CLASSIC)


def state_of(name: str) -> GroupState:
    """A state from its name, ``PreparingRebalance`` as well as ``PREPARING_REBALANCE``; UNKNOWN where it is none."""
    try:
        return GroupState(_CAMEL.sub("_", name).lower())
    except ValueError:
        return GroupState.UNKNOWN


def is_streams(protocol: str, members: Iterable[Member]) -> bool:
    """Whether a classic group is a Kafka Streams application: by its assignor, or by what Streams calls its threads."""
    return protocol == STREAMS_ASSIGNOR or any(_THREAD.search(member.client_id) for member in members)


def streams_prefixes(topics: Iterable[str]) -> frozenset[str]:
    """Every name that a Streams application may have that made one of these topics.

    Its repartition and changelog topics are called ``<application>-<name>-repartition`` and ``...-changelog``, and
    both parts may contain dashes.  This is all that brokers know of an application that is not running.
    """
    found: set[str] = set()
    for topic in topics:
        base, _, end = topic.rpartition("-")
        if end not in {"repartition", "changelog"}:
            continue
        parts = base.split("-")
        found.update("-".join(parts[:count]) for count in range(1, len(parts)))
    return frozenset(found)
