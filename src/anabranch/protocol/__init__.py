"""The lane protocol without input or output: claims, takeover, guard and the window of batches in flight.

A lane is one source partition copied to one target partition; a tenure is one ownership of it.  The code
here decides and never talks: takeovers yield effects that a worker carries out on a real cluster and a model
checker on a simulated one.
"""

from anabranch.protocol.claims import Claim, ClaimKey, ClaimLog, ClaimState, KillKey, Placed
from anabranch.protocol.effects import (
    Allocated,
    AllocateProducerId,
    AppendClaim,
    AppendKills,
    DescribeProducer,
    Effect,
    EndOfEpoch,
    ForgetClaims,
    Kill,
    Kills,
    LogEnd,
    Pause,
    ProducerEntry,
    ReadClaims,
    ReadEnd,
    ReadJumps,
    ReadMarkers,
    ReadRuns,
    ReadTail,
    Steps,
    TailBatch,
)
from anabranch.protocol.endings import Ending, LaneStopped, Stop, TenureEnded, refusal
from anabranch.protocol.guard import Guard, Strong, Weak, guard
from anabranch.protocol.holes import Jump, JumpKey, JumpLog, Stretch
from anabranch.protocol.pipeline import WINDOW, Pipeline
from anabranch.protocol.takeover import release, takeover
from anabranch.protocol.tenure import Bid, Filed, Held, Reported, Tenure

__all__ = [
    "WINDOW",
    "AllocateProducerId",
    "Allocated",
    "AppendClaim",
    "AppendKills",
    "Bid",
    "Claim",
    "ClaimKey",
    "ClaimLog",
    "ClaimState",
    "DescribeProducer",
    "Effect",
    "EndOfEpoch",
    "Ending",
    "Filed",
    "ForgetClaims",
    "Guard",
    "Held",
    "Jump",
    "JumpKey",
    "JumpLog",
    "Kill",
    "KillKey",
    "Kills",
    "LaneStopped",
    "LogEnd",
    "Pause",
    "Pipeline",
    "Placed",
    "ProducerEntry",
    "ReadClaims",
    "ReadEnd",
    "ReadJumps",
    "ReadMarkers",
    "ReadRuns",
    "ReadTail",
    "Reported",
    "Steps",
    "Stop",
    "Stretch",
    "Strong",
    "TailBatch",
    "Tenure",
    "TenureEnded",
    "Weak",
    "guard",
    "refusal",
    "release",
    "takeover",
]
