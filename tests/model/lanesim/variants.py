"""The variants that are explored: ours, which must hold, and broken ones, which must be found out."""

from __future__ import annotations

from anabranch.protocol import Stop

from . import gap_mutations as h
from . import mutations as m
from .explorer import FRESH, OLD, TURNING, Variant
from .world import HOUR_MS

HOLES = ("expire", "drop", "forget")
TRUNCATION = ("truncate", "truncate and back")
LEASES = ("expire", "end lease", "end lease")

DENSE = (
    Variant("M3", "identity, strong guard, 2 owners", identity=True, records=FRESH, faults=("expire", "move")),
    Variant("M6", "M3 + truncation", identity=True, records=FRESH, faults=("expire", "truncate", "truncate and back")),
    Variant("I1", "identity, strong guard, 3 owners", identity=True, records=FRESH, owners=3, faults=("expire",)),
    Variant("K1", "mapped, old records, 2 owners", faults=("expire", "move")),
    Variant("K2", "K1 with 3 owners", owners=3, faults=("expire",)),
    Variant("K3", "K1 + truncation", faults=("expire", "truncate", "truncate and back")),
    Variant("K3c", "K3 with 3 owners", owners=3, faults=("expire", "truncate", "truncate and back")),
    Variant("K1f", "K1, others write to the target", sole=False, faults=("expire", "truncate", "foreign")),
    Variant("K1s", "mapped, strong guard: window of five", records=FRESH, faults=("expire", "truncate")),
    Variant("K1d", "K1, days pass", faults=("expire", "age")),
    Variant(
        "K1r",
        "K1 + retention",
        faults=("expire", "retain", "truncate"),
        may_stop=(Stop.POSITION_LOST,),
    ),
    Variant("K1h", "K1, hours pass, short leases", faults=("expire", "hours"), lease_ms=HOUR_MS // 2, stuck=True),
    Variant(
        "K1w",
        "K1, a coordinator that forgets its ids",
        faults=("expire", *["hours"] * 4),
        expiration_ms=24 * 24 * HOUR_MS,
        forgets_ms=5 * 24 * HOUR_MS,
        stuck=True,
        # A takeover may stand still for days here, and goes by the time of its beginning.
        may_stop=(Stop.OWNER_FORGOTTEN,),
    ),
    Variant("R", "K1, many leases: claim again", faults=(*LEASES, "truncate and back")),
    Variant("C", "identity becomes mapped as records turn old", identity=True, records=TURNING, faults=("expire",)),
    Variant(
        "C3",
        "C with 3 owners, truncation, days",
        identity=True,
        records=TURNING,
        owners=3,
        faults=("expire", "truncate", "truncate and back", "age"),
    ),
)

HOLED = (
    Variant("H3", "gaps: gap records, compacting, 2 owners", h.GapMutation, faults=(*HOLES, "compact"), compacts=True),
    Variant(
        "H4", "H3 with 3 owners", h.GapMutation, owners=3, faults=(*HOLES, "compact"), compacts=True, transactions=True
    ),
    Variant("H5", "H3 + truncation", h.GapMutation, faults=(*HOLES, "compact", *TRUNCATION), compacts=True),
    Variant("H8", "transaction gaps", h.GapMutation, faults=(*HOLES, "move"), transactions=True),
    Variant(
        "H9",
        "truncation, gap records forgotten, runs persisted late",
        h.GapMutation,
        owners=3,
        faults=(*HOLES, "forget", "forget", "file", "compact", *TRUNCATION),
        compacts=True,
        long=True,
        transactions=True,
    ),
    Variant(
        "H10",
        "many leases: claim again",
        h.GapMutation,
        faults=(*HOLES, *LEASES, "compact", "truncate and back"),
        compacts=True,
        long=True,
        transactions=True,
    ),
    Variant(
        "H11",
        "H10 + retention",
        h.GapMutation,
        faults=(*HOLES, *LEASES, "compact", "retain", "truncate"),
        compacts=True,
        long=True,
        transactions=True,
        may_stop=(Stop.POSITION_LOST,),
    ),
    Variant(
        "H12",
        "strong guard: window of five, others write",
        h.GapMutation,
        records=FRESH,
        sole=False,
        faults=(*HOLES, "compact", "foreign", "truncate"),
        compacts=True,
        transactions=True,
    ),
)


_FORGETFUL = (*HOLES, "forget", "forget", "file", "compact", *TRUNCATION)
HOLED_BROKEN = (
    Variant(
        "H2", "fixed id, counts, gap records, no kill", h.FixedId, records=FRESH, faults=("compact",), compacts=True
    ),
    Variant(
        "H13", "sent before its gap record is acknowledged", h.PermitsUnacknowledged, faults=HOLES, transactions=True
    ),
    Variant("H14", "two gap records on their way at once", h.JumpsAtOnce, faults=HOLES, long=True, transactions=True),
    Variant("H15", "gap records read before the kills", h.JumpsBeforeKills, faults=HOLES, transactions=True),
    Variant(
        "H16", "the newest gap record forgotten too", h.ForgetsNewest, faults=_FORGETFUL, long=True, transactions=True
    ),
    Variant(
        "H17",
        "the gap record before a void one forgotten",
        h.ForgetsAhead,
        faults=_FORGETFUL,
        long=True,
        transactions=True,
    ),
    Variant(
        "H18",
        "sends before the cut is persisted",
        h.CutsLate,
        owners=3,
        faults=_FORGETFUL,
        long=True,
        transactions=True,
        compacts=True,
    ),
    Variant(
        "H19", "runs read before the leader epoch", h.RangesOfYesterday, faults=_FORGETFUL, long=True, transactions=True
    ),
    Variant("H20", "sequence is the source offset", h.SequenceIsOffset, faults=HOLES, transactions=True),
    Variant(
        "H21",
        "claims again with gap records ahead",
        h.ReclaimsAhead,
        faults=(*HOLES, *LEASES, "compact"),
        compacts=True,
        transactions=True,
    ),
    Variant(
        "H22",
        "files over a later claim's runs",
        h.FilesUnfenced,
        owners=3,
        faults=_FORGETFUL,
        long=True,
        transactions=True,
    ),
)

HARMLESS = (
    Variant(
        "H23",
        "forgets at once what was persisted",
        h.ForgetsAtOnce,
        owners=3,
        faults=_FORGETFUL,
        transactions=True,
        long=True,
    ),
    Variant(
        "M1", "fixed id, blind resend, strong guard", m.GuardedResend, identity=True, records=FRESH, faults=("expire",)
    ),
    Variant("M8", "raised epoch + marker, strong guard", m.RaisedEpochWithMarker, records=FRESH, faults=("expire",)),
    Variant(
        "K1n",
        "K1h, each claim killed again",
        m.KillsAllAnew,
        faults=("expire", "hours"),
        lease_ms=HOUR_MS // 2,
        stuck=True,
    ),
    Variant("KLn", "K1h, leases of a day, each claim killed again", m.KillsAllAnew, faults=("expire", "hours")),
    # An election ends the requests under way, and with them what a lost marker shut out.
    Variant("K10", "kills believed by their notes, truncation", m.TrustsNotes, faults=("expire", "truncate")),
    Variant("R1k", "claims again though others claimed, kills", m.ReclaimsUnchecked, faults=LEASES),
    Variant("K7b", "resend inside an ownership, strong guard", m.ResendsSameLeader, records=FRESH, faults=("expire",)),
)

DENSE_BROKEN = (
    Variant("M2", "fixed id, blind resend, old records", m.UnguardedResend, identity=True, faults=("expire",)),
    Variant("M4", "fixed id, reads the log on doubt, old records", m.Unguarded, identity=True, faults=("expire",)),
    Variant(
        "M5",
        "M4 with one owner, no crash",
        m.Unguarded,
        identity=True,
        owners=1,
        faults=("expire",),
        without=("crash",),
    ),
    Variant("M7", "raised epoch, no marker, strong guard", m.RaisedEpoch, records=FRESH, faults=("expire",)),
    Variant("M9", "raised epoch + marker, old records", m.RaisedEpochWithMarker, faults=("expire",)),
    Variant("K3b", "a break during the takeover ignored", m.IgnoresBreaks, faults=("expire", "truncate")),
    Variant("K4", "kills ids seen in the log, no claims", m.NoClaims, faults=("expire",)),
    Variant("K5", "kills only the latest earlier claim", m.KillsOnlyLatest, faults=("expire",)),
    Variant("K6", "tail read before the kills", m.TailBeforeKill, faults=("expire",)),
    Variant("K7", "resend inside an ownership, old records", m.ResendsSameLeader, faults=("expire",)),
    Variant("K8", "resend after a leader change, truncation", m.ResendsAnyLeader, faults=("expire", "truncate")),
    Variant("K9", "no epoch check after idling", m.NoEpochCheck, faults=("expire", "truncate and back")),
    Variant(
        "K11",
        "kills believed by markers of any age",
        m.TrustsOldMarkers,
        faults=("expire", "expire", "hours", "hours"),
        lease_ms=HOUR_MS // 2,
        stuck=True,
    ),
    Variant(
        "K12",
        "K1w, claims of a coordinator's ids as old as any",
        m.WritesForLong,
        faults=("expire", *["hours"] * 4),
        expiration_ms=24 * 24 * HOUR_MS,
        forgets_ms=5 * 24 * HOUR_MS,
        stuck=True,
        may_stop=(Stop.OWNER_FORGOTTEN,),
    ),
    Variant("P1", "five in flight under a weak guard", m.Wide, faults=("expire",)),
    Variant("R1", "claims again blindly though others claimed", m.ReclaimsBlindly, faults=LEASES),
    Variant(
        "R2",
        "journal client repeats appends by itself",
        m.JournalRepeats,
        faults=("expire", "end lease", "end lease", "late append"),
        without=("restart", "refuse", "cut"),
    ),
    Variant("R3", "releases with batches in doubt", m.ReleasesInDoubt, faults=("expire",)),
    Variant(
        "C1",
        "identity becomes mapped without a kill",
        m.ConvertsWithoutKill,
        identity=True,
        records=TURNING,
        faults=("expire",),
    ),
)


OURS = (*DENSE, *HOLED)
BROKEN = (*DENSE_BROKEN, *HOLED_BROKEN)

__all__ = ["BROKEN", "HARMLESS", "OLD", "OURS"]
