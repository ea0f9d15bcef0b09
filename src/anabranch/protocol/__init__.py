"""The lane protocol without input or output: claims, takeover, guard and the window of batches in flight.

A lane is one source partition copied to one target partition; an ownership is one ownership of it.  The code
here decides and never talks: takeovers yield effects that a worker carries out on a real cluster and a model
checker on a simulated one.
"""

from anabranch.protocol.claims import Claim, ClaimKey, ClaimLog, ClaimState, FenceKey, PlacedClaim
from anabranch.protocol.effects import (
    Allocated,
    AllocateProducerId,
    AppendClaim,
    AppendFences,
    DescribeProducer,
    Effect,
    EndOfEpoch,
    Fence,
    Fences,
    ForgetClaims,
    LogEnd,
    Pause,
    ProducerState,
    ReadClaims,
    ReadEnd,
    ReadGapRecords,
    ReadMappedRanges,
    ReadMarkers,
    ReadTail,
    Steps,
    TailBatch,
)
from anabranch.protocol.endings import Ending, LaneStopped, OwnershipEnded, Stop, refusal
from anabranch.protocol.gap_records import GapRecord, GapRecordKey, GapRecordLog, OffsetSpan
from anabranch.protocol.guard import ProducerStateGuard, Strong, Weak, guard
from anabranch.protocol.ownership import Ownership, Persisted, ReportedPosition, ReusableProducer, TakeoverRequest
from anabranch.protocol.pipeline import WINDOW, Pipeline
from anabranch.protocol.takeover import release, takeover

__all__ = [
    "WINDOW",
    "AllocateProducerId",
    "Allocated",
    "AppendClaim",
    "AppendFences",
    "Claim",
    "ClaimKey",
    "ClaimLog",
    "ClaimState",
    "DescribeProducer",
    "Effect",
    "EndOfEpoch",
    "Ending",
    "Fence",
    "FenceKey",
    "Fences",
    "ForgetClaims",
    "GapRecord",
    "GapRecordKey",
    "GapRecordLog",
    "LaneStopped",
    "LogEnd",
    "OffsetSpan",
    "Ownership",
    "OwnershipEnded",
    "Pause",
    "Persisted",
    "Pipeline",
    "PlacedClaim",
    "ProducerState",
    "ProducerStateGuard",
    "ReadClaims",
    "ReadEnd",
    "ReadGapRecords",
    "ReadMappedRanges",
    "ReadMarkers",
    "ReadTail",
    "ReportedPosition",
    "ReusableProducer",
    "Steps",
    "Stop",
    "Strong",
    "TailBatch",
    "TakeoverRequest",
    "Weak",
    "guard",
    "refusal",
    "release",
    "takeover",
]
