"""The shape of a report of ``verify``, from which its published schema is made."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from anabranch.config.yaml_file import FileShape

Verdict = Literal["equal", "different", "unknown"]


class CountsShape(FileShape):
    """Records by what is the matter with them; those that are gone are no differences."""

    missing: int
    duplicate: int
    reordered: int
    modified: int
    unexpected: int
    hidden: int
    displaced: int
    unnamed: int
    gone_source_retention: int
    gone_target_retention: int
    gone_source_compaction: int
    gone_target_compaction: int


class ClusterShape(FileShape):
    """A cluster, as it was reached."""

    context: str
    cluster_id: str


class SourceSideShape(FileShape):
    """The source's log of a lane: pinned from ``from`` to before ``to``, read from ``since`` to ``verified_to``."""

    topic: str
    partition: int
    from_: int = Field(alias="from")
    since: int
    verified_to: int
    to: int
    compacts: bool
    records: int
    digest: str = Field(pattern="^[0-9a-f]{48}$")


class TargetSideShape(SourceSideShape):
    """The target's, with the digest of what a read-uncommitted consumer sees, null where it was not read."""

    uncommitted_digest: str | None


class ComparedLaneShape(FileShape):
    """One lane, named by its source partition: ``orders-3``."""

    lane: str
    verdict: Verdict
    source: SourceSideShape
    target: TargetSideShape
    bytes: int
    chunks_not_named: int
    counts: CountsShape


class NotComparedShape(FileShape):
    """A lane of which nothing can be said."""

    lane: str
    reason: str


class SampleShape(FileShape):
    """One record; ``contents`` has a text for each side where it was read, masked unless asked for."""

    lane: str
    kind: str
    source_offset: int | None
    target_offset: int | None
    fields: list[Literal["key", "value", "headers", "timestamp"]]
    contents: dict[str, str] | None


class ReportShape(FileShape):
    """The report of one comparison."""

    v: Literal[1]
    verdict: Verdict
    link: str
    run: str
    started_at_ms: int
    finished_at_ms: int
    source: ClusterShape
    target: ClusterShape
    reader: Literal["records", "batches"]
    levels: Literal["both", "committed"]
    records_read: int
    bytes_read: int
    records_per_s: float
    versions: dict[str, str]
    counts: CountsShape
    lanes: list[ComparedLaneShape]
    not_compared: list[NotComparedShape]
    samples: list[SampleShape]
