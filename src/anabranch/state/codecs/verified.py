"""``__anabranch_verified``: how far each lane was verified under its key, and of each link under ``link/...``:
``run`` (what is compared now, or was last), ``stop`` (which run is to stop), ``report`` (the last report, as it is).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from anabranch.errors import RefusedError
from anabranch.model.lane import LaneKey
from anabranch.state.codecs.errors import MalformedRecordError
from anabranch.state.codecs.fields import dump, load, refusals
from anabranch.state.codecs.topics import VERIFIED

VERSION = 1
SILENT_MS = 180_000
"""A run that persisted nothing for so long is taken for dead; a round takes less than half a minute, naming may be
long.
"""
MOST_REPORT_BYTES = 800_000
"""A report that is larger is kept with fewer samples: a record of a control topic must stay below 1 MiB."""


class VerifyRecordKind(StrEnum):
    """What a record about a link tells."""

    RUN = "run"
    STOP = "stop"
    REPORT = "report"


class RunState(StrEnum):
    """``failed``: it ended without a verdict, for a reason that is told."""

    RUNNING = "running"
    STOPPED = "stopped"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class LaneVerified:
    """A lane was compared from its first to its second source and target offset, all but ``differs`` being equal.

    ``differs`` are ranges (first, last) of chunks of 65,536 source offsets in which records differed; the next
    comparison looks at them again.
    """

    lane: str
    run: str
    source: tuple[int, int]
    target: tuple[int, int]
    differs: tuple[tuple[int, int], ...]
    verified_at_ms: int


@dataclass(frozen=True, slots=True)
class VerifyRun:
    """A comparison: its state, progress in source offsets, and all that is needed to resume it.

    ``pins`` are the source and target offsets that each lane is compared up to, by lane key.
    """

    link: str
    run: str
    state: RunState
    started_at_ms: int
    updated_at_ms: int
    offsets: int
    done: int
    records: int
    bytes: int
    differing: int
    options: Mapping[str, Any] = field(hash=False)
    pins: Mapping[str, tuple[int, int]] = field(hash=False)
    why: str = ""


@dataclass(frozen=True, slots=True)
class VerifyStatus:
    """The link's last run and report (of that run, or of an earlier one), and how far its lanes are verified."""

    run: VerifyRun
    lanes: tuple[LaneVerified, ...]
    report: Mapping[str, Any] | None = field(hash=False)
    read_at_ms: int = 0

    @property
    def running(self) -> bool:
        """Whether it runs, as far as one can tell."""
        return self.run.state is RunState.RUNNING and self.read_at_ms - self.run.updated_at_ms < SILENT_MS

    @property
    def own_report(self) -> Mapping[str, Any] | None:
        """The report, if it is that of the run."""
        return self.report if self.report is not None and self.report.get("run") == self.run.run else None


@dataclass(eq=False)
class NeverVerifiedError(RefusedError):
    """Nothing is known of a comparison of this link."""

    link: str

    _message = "link {link!r} was never compared"
    _hint = "anabranch verify start {link}"


def lane_key(lane: str) -> bytes:
    """The key of a lane's record."""
    return lane.encode()


def link_key(link: str, about: VerifyRecordKind) -> bytes:
    """The key of a record about a link."""
    return f"{link}/{about.value}".encode()


def parse_key(key: bytes) -> tuple[str, VerifyRecordKind | None]:
    """(lane key, None), or (link, what the record tells); raises ``MalformedRecordError``."""
    text = key.decode("utf-8", "replace")
    if text.count("/") == 1:
        link, _, about = text.partition("/")
        try:
            return link, VerifyRecordKind(about)
        except ValueError:
            raise MalformedRecordError(VERIFIED, f"the key {text!r} tells nothing that is known here") from None
    with refusals(VERIFIED):
        return str(LaneKey.parse(text)), None


def encode_lane(lane: LaneVerified) -> bytes:
    """The value of a lane's record."""
    return dump(
        VERSION,
        {
            "run": lane.run,
            "source_from": lane.source[0],
            "source_to": lane.source[1],
            "target_from": lane.target[0],
            "target_to": lane.target[1],
            "differs": [number for chunks in lane.differs for number in chunks],
            "verified_at_ms": lane.verified_at_ms,
        },
    )


def decode_lane(key: bytes, value: bytes) -> LaneVerified:
    """A lane's record; raises ``MalformedRecordError``, ``NewerFormatError``."""
    lane, _ = parse_key(key)
    with load(f"{VERIFIED} {lane}", VERSION, value) as fields:
        numbers = fields.integers("differs")
        if len(numbers) % 2:
            raise fields.malformed("differs", "not a list of pairs")
        return LaneVerified(
            lane=lane,
            run=fields.text("run"),
            source=(fields.integer("source_from"), fields.integer("source_to")),
            target=(fields.integer("target_from"), fields.integer("target_to")),
            differs=tuple(zip(numbers[::2], numbers[1::2], strict=True)),
            verified_at_ms=fields.integer("verified_at_ms"),
        )


def encode_run(run: VerifyRun) -> bytes:
    """The value of a link's run."""
    return dump(
        VERSION,
        {
            "run": run.run,
            "state": run.state.value,
            "started_at_ms": run.started_at_ms,
            "updated_at_ms": run.updated_at_ms,
            "offsets": run.offsets,
            "done": run.done,
            "records": run.records,
            "bytes": run.bytes,
            "differing": run.differing,
            "options": dict(run.options),
            "pins": {lane: list(ends) for lane, ends in run.pins.items()},
            "why": run.why,
        },
    )


def decode_run(key: bytes, value: bytes) -> VerifyRun:
    """A link's run; raises ``MalformedRecordError``, ``NewerFormatError``."""
    link, _ = parse_key(key)
    with load(f"{VERIFIED} {link}/run", VERSION, value) as fields:
        pins = fields.mapping("pins")
        if not all(isinstance(ends, list) and [type(end) for end in ends] == [int, int] for ends in pins.values()):
            raise fields.malformed("pins", "not an object of two offsets each")
        return VerifyRun(
            link=link,
            run=fields.text("run"),
            state=fields.enum("state", RunState),
            started_at_ms=fields.integer("started_at_ms"),
            updated_at_ms=fields.integer("updated_at_ms"),
            offsets=fields.integer("offsets"),
            done=fields.integer("done"),
            records=fields.integer("records"),
            bytes=fields.integer("bytes"),
            differing=fields.integer("differing"),
            options=fields.mapping("options"),
            pins={lane: (source, target) for lane, (source, target) in pins.items()},
            why=fields.text("why"),
        )


def encode_stop(run: str) -> bytes:
    """The wish that a run stops."""
    return dump(VERSION, {"run": run})


def decode_stop(value: bytes) -> str:
    """Which run is to stop; raises ``MalformedRecordError``."""
    with load(f"{VERIFIED} stop", VERSION, value) as fields:
        return fields.text("run")


#: Kinds of findings that the stored format has other words for, which are older than those of reports.
_STORED_KINDS = {"duplicate": "repeated", "modified": "altered", "unexpected": "extra"}
_REPORTED_KINDS = {stored: kind for kind, stored in _STORED_KINDS.items()}


def _with_kinds(report: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """A report with other words for the kinds of its findings, in counts and samples."""

    def counts(of: Mapping[str, Any]) -> dict[str, Any]:
        return {**of, "counts": {words.get(kind, kind): number for kind, number in of["counts"].items()}}

    found = dict(report)
    if "counts" in found:
        found = counts(found)
    if "lanes" in found:
        found["lanes"] = [counts(lane) if "counts" in lane else lane for lane in found["lanes"]]
    if "samples" in found:
        found["samples"] = [
            {**sample, "kind": words.get(sample["kind"], sample["kind"])} if "kind" in sample else sample
            for sample in found["samples"]
        ]
    return found


def encode_report(report: Mapping[str, Any]) -> bytes:
    """The report, with as many samples as fit."""
    kept = _with_kinds(report, _STORED_KINDS)
    while True:
        data = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        if len(data) <= MOST_REPORT_BYTES or not kept["samples"]:
            return data
        kept["samples"] = kept["samples"][: len(kept["samples"]) // 2]


def decode_report(value: bytes) -> dict[str, Any]:
    """The report; raises ``MalformedRecordError``."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise MalformedRecordError(f"{VERIFIED} report", f"not JSON: {error}") from error
    if not isinstance(found, dict):
        raise MalformedRecordError(f"{VERIFIED} report", "not a JSON object")
    try:
        return _with_kinds(found, _REPORTED_KINDS)
    except (TypeError, KeyError, AttributeError) as error:
        raise MalformedRecordError(f"{VERIFIED} report", "not a report of a comparison") from error
