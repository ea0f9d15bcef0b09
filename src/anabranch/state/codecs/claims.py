"""``__anabranch_claims``: who may write a lane, under ``lane/producer-id``, and where the marker that fenced a producer
id lies in the target's log, under ``lane/producer-id/killed``."""

from __future__ import annotations

from anabranch.model.lane import LaneMode
from anabranch.protocol.claims import Claim, ClaimKey, ClaimState, FenceKey
from anabranch.state.codecs.errors import MalformedRecordError
from anabranch.state.codecs.fields import dump, load
from anabranch.state.codecs.topics import CLAIMS

VERSION = 2
_WITHOUT_END = 1
_FENCED = "/killed"


def encode_key(key: ClaimKey) -> bytes:
    """The key of a claim: the lane's text, a slash and the producer id in decimal."""
    return f"{key.lane}/{key.producer_id}".encode()


def encode_fence_key(key: FenceKey) -> bytes:
    """The key of a note about a fence."""
    return f"{key.lane}/{key.producer_id}{_FENCED}".encode()


def decode_key(key: bytes) -> ClaimKey | FenceKey:
    """The lane and the producer id; raises ``MalformedRecordError``."""
    text = key.decode("utf-8", "replace")
    lane, _, producer_id = text.removesuffix(_FENCED).rpartition("/")
    if not lane or not (producer_id.isascii() and producer_id.isdecimal()):
        raise MalformedRecordError(CLAIMS, f"the key {key!r} is not lane/producer-id, nor that and /fenced")
    return (FenceKey if text.endswith(_FENCED) else ClaimKey)(lane, int(producer_id))


def encode_fence(marker: int) -> bytes:
    """The value of a note about a fence: the marker's target offset."""
    return dump(_WITHOUT_END, {"marker": marker})


def decode_fence(key: bytes, value: bytes) -> int:
    """The marker's target offset; raises ``MalformedRecordError``, ``NewerFormatError``."""
    with load(f"{CLAIMS} {key.decode('utf-8', 'replace')}", VERSION, value) as fields:
        return fields.integer("marker")


def encode(claim: Claim) -> bytes:
    """The value of a claim; lane and producer id stand in the key alone."""
    end = {} if claim.end is None else {"end": claim.end}
    return dump(
        VERSION if end else _WITHOUT_END,
        {
            "mode": claim.mode.value,
            "owner": claim.owner,
            "transactional_id": claim.transactional_id,
            "claimed_at_ms": claim.claimed_at_ms,
            "state": claim.state.value,
            "start": claim.start,
            "floor": claim.floor,
            **end,
        },
    )


def decode(key: bytes, value: bytes) -> Claim:
    """A claim; raises ``MalformedRecordError``, ``NewerFormatError``."""
    name = decode_key(key)
    if not isinstance(name, ClaimKey):
        raise MalformedRecordError(CLAIMS, f"the key {key!r} is not a claim's")
    with load(f"{CLAIMS} {name.lane}/{name.producer_id}", VERSION, value) as fields:
        return Claim(
            lane=name.lane,
            producer_id=name.producer_id,
            mode=fields.enum("mode", LaneMode),
            owner=fields.text("owner"),
            transactional_id=fields.optional_text("transactional_id"),
            claimed_at_ms=fields.integer("claimed_at_ms"),
            state=fields.enum("state", ClaimState),
            start=fields.integer("start"),
            floor=fields.integer("floor"),
            end=fields.integer("end") if fields.has("end") else None,
        )
