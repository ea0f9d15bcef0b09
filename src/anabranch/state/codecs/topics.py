"""The control topics: names, and the configs that they are made with.

Each has one partition: the order of its records is the only arbiter between owners of a lane, and 200 lanes
that persist once a second are a load of some ten kilobytes a second.
"""

from __future__ import annotations

from collections.abc import Mapping

LINKS = "__anabranch_links"
CLAIMS = "__anabranch_claims"
GAP_RECORDS = "__anabranch_jumps"
RUNS = "__anabranch_runs"
PROGRESS = "__anabranch_progress"
POSITIONS = "__anabranch_positions"

#: What every link needs; ``POSITIONS`` is made when it is first written, and also where no link ends.
VERIFIED = "__anabranch_verified"
"""Made when a link is first verified: nothing that copies needs it, so it is not among ``ALL``."""

ACCESS = "__anabranch_access"
"""Made when access rules are first carried over."""

ALL = (LINKS, CLAIMS, GAP_RECORDS, RUNS, PROGRESS)
PARTITIONS = 1


def replication_factor(brokers: int) -> int:
    """Three, or as many as there are brokers."""
    return min(3, brokers)


def configs(replicas: int) -> dict[str, str]:
    """What a control topic is created with; records must be written with acks=all.

    A truncated claim could let two owners write: leaders are elected cleanly only, and two of three replicas
    must have each record.  Small segments let compaction keep the logs short; tombstones stay for a week, so
    that a reader that was away for some days still sees them.
    """
    return {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "delete.retention.ms": "604800000",
        "max.message.bytes": "1048588",
        "message.timestamp.type": "CreateTime",
        "min.cleanable.dirty.ratio": "0.3",
        "min.insync.replicas": "2" if replicas >= 3 else "1",
        "segment.bytes": "16777216",
        "unclean.leader.election.enable": "false",
    }


def forgets(found: Mapping[str, str | None], replicas: int) -> dict[str, tuple[str, str]]:
    """Settings under which a control topic may lose records that are needed: what each is, and what it must be.

    A claim that is deleted by age is as good as a second owner; a leader that was elected uncleanly lacks some;
    records larger than the limit are refused.
    """
    wanted = configs(replicas)
    told = {name: value for name in wanted if (value := found.get(name)) is not None}
    wrong = {name: value for name, value in told.items() if name in _EXACT and value != wanted[name]}
    wrong |= {name: value for name, value in told.items() if name in _AT_LEAST and int(value) < int(wanted[name])}
    return {name: (value, wanted[name]) for name, value in sorted(wrong.items())}


def drifts(found: Mapping[str, str | None], replicas: int) -> dict[str, tuple[str, str]]:
    """Settings that are weaker than what a control topic is created with, and lose nothing by themselves."""
    wanted = configs(replicas)
    told = {name: value for name in _WEAKER if (value := found.get(name)) is not None}
    return {name: (value, wanted[name]) for name, value in told.items() if int(value) < int(wanted[name])}


_EXACT = ("cleanup.policy", "unclean.leader.election.enable")
_AT_LEAST = ("max.message.bytes",)
_WEAKER = ("delete.retention.ms", "min.insync.replicas")
