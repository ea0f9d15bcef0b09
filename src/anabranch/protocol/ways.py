"""The ways out of each stop, as commands: what a person reads below the reason, and what the docs list."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from anabranch.protocol.endings import Stop

_RESUME = "anabranch link resume {link}"
_ACCEPT = "anabranch link accept {link} {topic}"
_ONE = "anabranch link accept {link} {topic}-{partition}"
_GIVE_UP = "give up what cannot be copied: anabranch link accept {link} {topic}-{partition} --at OFFSET"

_MENDED = (f"correct what is named, then: {_RESUME}",)
_RECORDS = (*_MENDED, _GIVE_UP)
_DOUBT = (
    f"see where it would go on, and what the target may then hold twice: {_ONE}",
    f"or say where, after a comparison: {_ONE} --at OFFSET",
)
_AGAIN = (f"see what is copied where: {_ACCEPT}",)

WAYS: Mapping[Stop, tuple[str, ...]] = MappingProxyType(
    {
        Stop.TOO_LARGE: _RECORDS,
        Stop.NOT_ALLOWED: _MENDED,
        Stop.INVALID_RECORD: _RECORDS,
        Stop.INVALID_TIMESTAMP: _RECORDS,
        Stop.REFUSED: _RECORDS,
        Stop.OLD_FORMAT: (_GIVE_UP,),
        Stop.CORRUPT: (f"let the source's replica be made again, then: {_RESUME}", _GIVE_UP),
        Stop.SOURCE_EXPIRED: (f"see what is given up: {_ONE}",),
        Stop.SOURCE_TRUNCATED: (f"see what the target holds twice: {_ONE}",),
        Stop.SOURCE_MADE_AGAIN: _AGAIN,
        Stop.TARGET_MADE_AGAIN: _AGAIN,
        Stop.SOURCE_GONE: (
            "leave the topic out: anabranch link set {link} --exclude {topic}",
            f"or make it, then: {_ACCEPT}",
        ),
        Stop.SOURCE_NOT_ALLOWED: _MENDED,
        Stop.POSITION_LOST: _DOUBT,
        Stop.CLAIMS_LOST: (f"end every run of the link; {_DOUBT[0]}", _DOUBT[1]),
        Stop.OWNER_FORGOTTEN: (f"once the time that is named is over: {_RESUME}",),
        Stop.DIVERGED: (f"compare both sides: anabranch verify start {{link}}; {_DOUBT[0]}", _DOUBT[1]),
    }
)


def ways_out(reason: str | None, link: str, topic: str, partition: int) -> tuple[str, ...]:
    """The ways out of a stop whose persisted reason this is; none where it tells of no stop that is known."""
    if reason is None:
        return ()
    found = next((ways for stop, ways in WAYS.items() if stop.value in reason), ())
    return tuple(way.format(link=link, topic=topic, partition=partition) for way in found)
