"""How an ownership ends and how a lane stops: two typed errors, and the broker codes that lead to each.

    OwnershipEnded   this ownership is over, the lane is not: take over again, from oneself if need be (retryable)
    LaneStopped   going on would lose, repeat or guess a record: a person must act; names the exact offset

Nothing is ever sent again inside an ownership, so every doubt about a write has the same way out: end the
ownership, claim again, fence the old producer id, read the target's log (ADR 0003).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from anabranch.errors import ClusterError, ProtocolError, RefusedError


class Ending(StrEnum):
    """Why an ownership is over."""

    TIMED_OUT = "a request timed out, its outcome is unknown"
    DISCONNECTED = "the connection broke"
    NOT_LEADER = "the broker does not lead the partition"
    LEADER_EPOCH = "the partition has another leader epoch"
    TOO_FEW_REPLICAS = "too few replicas are in sync"
    UNKNOWN_PARTITION = "the broker does not know the partition"
    TOPIC_MADE_AGAIN = "the topic was made again under another topic id"
    OUT_OF_ORDER = "the broker refused the sequence"
    FENCED = "the producer id was fenced by a later owner"
    SUPERSEDED = "a later owner has claimed the lane"
    BASE_OFFSET = "a batch was appended at an offset that is not the expected one: someone else writes"
    BROKER = "the broker answered with a passing error"
    JOURNAL = "the journal could not be written, or was read without the own claim"
    UNSETTLED = "the end of the target log did not settle"
    FENCE_MISSING = "a marker that was acknowledged is not in the log"
    LEASE = "the lease is over"
    CLAIM_OLD = "the claim is too old to be written under"
    RENEWED = "the claim is renewed"
    TOO_LARGE = "the target takes no batch as large as the joined one: they go one by one"
    MAP_IS_OLD = "another owner has persisted the lane's map meanwhile"
    NOT_IDENTITY = "target offsets cannot go on equal to source offsets: the lane turns mapped"


class Stop(StrEnum):
    """Why a lane cannot go on without a person."""

    TOO_LARGE = "a batch is larger than the target accepts"
    NOT_ALLOWED = "the target refuses the write for lack of permission"
    INVALID_RECORD = "the target refuses a record"
    INVALID_TIMESTAMP = "the target refuses a record's timestamp"
    REFUSED = "the target refuses the request"
    OLD_FORMAT = "the source log has messages of format v0 or v1"
    CORRUPT = "a batch of the source is corrupt"
    SOURCE_EXPIRED = "the source no longer has records that were not copied"
    SOURCE_TRUNCATED = "the source lost records that were copied"
    SOURCE_MADE_AGAIN = "the source topic was deleted and made again"
    TARGET_MADE_AGAIN = "the target topic was deleted and made again"
    SOURCE_GONE = "the source topic does not exist"
    SOURCE_NOT_ALLOWED = "the source refuses the read for lack of permission"
    POSITION_LOST = "the lane's position can no longer be told exactly"
    CLAIMS_LOST = "the lane was copied, and who wrote it is forgotten: its claims are gone from the target"
    OWNER_FORGOTTEN = "an earlier owner can no longer be fenced, and may still write"
    DIVERGED = "the lane's batches in the target log do not follow each other"


@dataclass(eq=False)
class OwnershipEnded(ClusterError):
    """One ownership of a lane is over; the lane goes on with a new takeover.

    ``code`` is the broker's error code where one was answered; ``detail`` adds what was seen.  ``mapped_because`` says
    why the lane was about to become mapped, or has become so, when its takeover ended: the next one is to tell.
    """

    lane: str
    reason: Ending
    code: int | None = None
    detail: str = ""
    mapped_because: str = ""

    retryable: ClassVar[bool] = True

    @property
    def why(self) -> str:
        """The reason with what was answered and seen; it names no lane, so lanes with one cause have one text."""
        return _why(self.reason, self.code, self.detail)

    @property
    def message(self) -> str:
        return f"lane {self.lane}: {self.why}"

    _hint = "nothing to do: the worker takes the lane over again"


@dataclass(eq=False)
class LaneStopped(RefusedError):
    """A lane that cannot go on; ``offset`` is the first source offset that was not copied."""

    lane: str
    reason: Stop
    offset: int
    code: int | None = None
    detail: str = ""
    fix: str = ""

    @property
    def why(self) -> str:
        """The reason with what was answered and seen: without the lane and its offset, which are stored beside it."""
        return _why(self.reason, self.code, self.detail)

    @property
    def message(self) -> str:
        return f"lane {self.lane} stopped at source offset {self.offset:,}: {self.why}"

    _hint = "{fix}"


def _why(reason: Ending | Stop, code: int | None, detail: str) -> str:
    return reason.value + (f" (error {code})" if code is not None else "") + (f": {detail}" if detail else "")


def cause_and_detail(why: str) -> tuple[str, str]:
    """The ``why`` of a stop in two: what other lanes have in common with this one, and this one's detail."""
    stop = next((stop.value for stop in Stop if why.startswith(stop.value)), "")
    cause, colon, detail = why.removeprefix(stop).partition(": ")
    return (stop + cause, detail) if stop and colon else (why, "")


def accepting(lane: str) -> str:
    """The command that shows what accepting means for the link of a lane's key."""
    return f"anabranch link accept {lane.partition('/')[0]}"


def copied(lane: str) -> str:
    """The way out of a lane whose copy is there while its position, or who wrote it, is in doubt."""
    return f"see where the lane would go on, and what the target then holds twice: {accepting(lane)}"


@dataclass(eq=False)
class LaneMisuseError(ProtocolError):
    """The caller broke the lane protocol's order of calls: a bug here, nothing was sent."""

    lane: str
    problem: str

    _message = "lane {lane}: {problem}"


_ENDINGS: dict[int, Ending] = {
    -1: Ending.BROKER,
    2: Ending.BROKER,
    3: Ending.UNKNOWN_PARTITION,
    5: Ending.NOT_LEADER,
    6: Ending.NOT_LEADER,
    7: Ending.TIMED_OUT,
    8: Ending.BROKER,
    9: Ending.BROKER,
    13: Ending.DISCONNECTED,
    14: Ending.BROKER,
    15: Ending.BROKER,
    16: Ending.BROKER,
    19: Ending.TOO_FEW_REPLICAS,
    20: Ending.TOO_FEW_REPLICAS,
    45: Ending.OUT_OF_ORDER,
    46: Ending.OUT_OF_ORDER,
    47: Ending.FENCED,
    51: Ending.BROKER,
    52: Ending.FENCED,
    56: Ending.BROKER,
    59: Ending.OUT_OF_ORDER,
    74: Ending.LEADER_EPOCH,
    75: Ending.LEADER_EPOCH,
    78: Ending.LEADER_EPOCH,
    89: Ending.BROKER,
    90: Ending.FENCED,
    100: Ending.TOPIC_MADE_AGAIN,
    103: Ending.TOPIC_MADE_AGAIN,
}

_STOPS: dict[int, tuple[Stop, str]] = {
    10: (Stop.TOO_LARGE, "raise the target topic's max.message.bytes to the source's, then resume the link"),
    18: (Stop.TOO_LARGE, "raise the target topic's segment.bytes above the batch's size, then resume the link"),
    29: (Stop.NOT_ALLOWED, "grant WRITE and READ on the target topic to the link's principal"),
    31: (Stop.NOT_ALLOWED, "grant ALTER on the target cluster, or WRITE on the lane's transactional ids"),
    53: (Stop.NOT_ALLOWED, "grant WRITE on the lane's transactional ids to the link's principal"),
    32: (
        Stop.INVALID_TIMESTAMP,
        "widen message.timestamp.before.max.ms and message.timestamp.after.max.ms on the target topic",
    ),
    87: (Stop.INVALID_RECORD, "a compact-only target topic takes no record without a key: see its cleanup.policy"),
}


def refusal(lane: str, code: int, offset: int, detail: str = "") -> OwnershipEnded | LaneStopped:
    """The error that a broker's non-zero answer means for a lane.

    ``offset`` is the first source offset that the refused request carried, or the position where it carried
    none.  A code that is neither known to pass nor known to be the record's or the permission's fault stops
    the lane: an unknown refusal tried again for ever would hide it.
    """
    if (ending := _ENDINGS.get(code)) is not None:
        return OwnershipEnded(lane, ending, code, detail)
    stop, fix = _STOPS.get(code, (Stop.REFUSED, f"look up error {code} of the Kafka protocol, then resume the link"))
    return LaneStopped(lane, stop, offset, code, detail, fix)
