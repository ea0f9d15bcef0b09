"""The names of MirrorMaker 2's own topics, by the aliases of the two clusters and the policy's separator.

Source: ``ReplicationPolicy.java``, ``DefaultReplicationPolicy.java``; KIP-690 made the separator count for internal
topics too, where it was set (``replication.policy.separator``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from anabranch.errors import InvalidFieldError
from anabranch.model.topics import IllegalTopicNameError, check_name

SEPARATOR = "."
HEARTBEATS = "heartbeats"
_ALIAS = r"[a-zA-Z0-9._-]+"


def offset_syncs_topic(alias: str, separator: str = SEPARATOR) -> str:
    """The offset syncs: on the source with the *target's* alias, or, if they are kept on the target, the source's."""
    return f"mm2-offset-syncs{separator}{alias}{separator}internal"


def checkpoints_topic(source: str, separator: str = SEPARATOR) -> str:
    """The groups' translated positions: on the target, with the source's alias."""
    return f"{source}{separator}checkpoints{separator}internal"


def check_names(source: str, separator: str = SEPARATOR) -> None:
    """Raise InvalidFieldError where an alias or a separator cannot be part of a topic's name."""
    bad = next((part for part in (source, separator) if part and not re.fullmatch(_ALIAS, part)), None)
    field = "--separator" if bad == separator and bad != source else "--source-alias"
    try:
        for name in (checkpoints_topic(source, separator), heartbeats_copy(source, separator)):
            check_name(name)
    except IllegalTopicNameError as error:
        raise InvalidFieldError("mm2 publish", field, error.message, f"give another {field}") from None


def heartbeats_copy(source: str, separator: str = SEPARATOR) -> str:
    """What the source's heartbeats are called on the target under every policy: clients count hops by this name."""
    return f"{source}{separator}{HEARTBEATS}"


def source_of_checkpoints(topic: str, separator: str = SEPARATOR) -> str | None:
    """The source's alias, from the name of a checkpoints topic; None for any other topic."""
    dot = re.escape(separator)
    found = re.fullmatch(rf"({_ALIAS}){dot}checkpoints{dot}internal", topic)
    return found[1] if found else None


def alias_of_offset_syncs(topic: str, separator: str = SEPARATOR) -> str | None:
    """The alias in the name of an offset-syncs topic; None for any other topic."""
    dot = re.escape(separator)
    found = re.fullmatch(rf"mm2-offset-syncs{dot}({_ALIAS}){dot}internal", topic)
    return found[1] if found else None


def aliases_in(topics: Iterable[str], separator: str = SEPARATOR) -> frozenset[str]:
    """The clusters that MirrorMaker 2 copies from or to, as the names of a cluster's topics have them.

    Its own topics have the separator of the others only where that was set, and by newer versions.
    """
    found = {
        alias_of(name, one)
        for name in topics
        for one in {SEPARATOR, separator}
        for alias_of in (source_of_checkpoints, alias_of_offset_syncs)
    }
    return frozenset(alias for alias in found if alias is not None)
