"""``__anabranch_progress``: where each lane stands, under its key; of a link its last plan, under ``link/plan``, and
which of its runs are to stop, under ``link/stop``.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from anabranch.errors import InvalidFieldError
from anabranch.model.lane import LaneKey, LaneMode, LaneProgress, LaneState
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import LinkPlan, StopRequest
from anabranch.model.topics import TopicPartition
from anabranch.state.codecs.errors import MalformedRecordError
from anabranch.state.codecs.fields import Fields, dump, dump_plain, load, refusals
from anabranch.state.codecs.topics import PROGRESS

VERSION = 1
PLAN_VERSION = 3
_WITHOUT_OUTLIVED = 2  # a plan without ``outlived``; one of version 1 has neither ``looked_at_ms`` nor ``left_out``
LANE_VERSION = 5
_WITHOUT_LATENCY = 4  # a lane's progress without ``latency_ms``
_WITHOUT_TARGET = 3  # and without ``target_epoch``
_WITHOUT_SOURCE = 2  # and without ``source_seen_ms``
_FIRST = 1  # and without ``source_epoch``
_LANE_AND_OFFSET = re.compile(r"^lane \S+(?: stopped at source offset [\d,]+)?: ")
_OWNER = re.compile(rb'"owner":"([ !#-\[\]-~]*)"')
_UPDATED = re.compile(rb'"updated_at_ms":([0-9]{1,18})[,}]')


class ProgressRecordKind(Enum):
    """What a record about a link tells, as its key ends."""

    PLAN = "plan"
    STOP = "stop"


def lane_key(lane: LaneKey) -> bytes:
    """The key of a lane's progress."""
    return str(lane).encode()


def plan_key(link: str) -> bytes:
    """The key of a link's last plan."""
    return f"{link}/{ProgressRecordKind.PLAN.value}".encode()


def stop_key(link: str) -> bytes:
    """The key of the record that tells which runs of a link are to stop."""
    return f"{link}/{ProgressRecordKind.STOP.value}".encode()


def parse_key(key: bytes) -> LaneKey | tuple[str, ProgressRecordKind]:
    """The lane, or a link's id and what the record tells of it; raises ``MalformedRecordError``."""
    text = key.decode("utf-8", "replace")
    link, _, about = text.partition("/")
    if about in (ProgressRecordKind.PLAN.value, ProgressRecordKind.STOP.value):
        return link, ProgressRecordKind(about)
    with refusals(PROGRESS):
        return LaneKey.parse(text)


def encode_lane(progress: LaneProgress) -> bytes:
    """The value of a lane's progress: of the oldest version that can say it, for older readers."""
    fields = lane_fields(progress)
    if progress.latency_ms is not None:
        return dump(LANE_VERSION, fields)
    del fields["latency_ms"]
    if progress.target_epoch is not None:
        return dump(_WITHOUT_LATENCY, fields)
    del fields["target_epoch"]
    if progress.source_seen_ms is not None or progress.lag_bytes is None:
        return dump(_WITHOUT_TARGET, fields)
    del fields["source_seen_ms"]
    if progress.source_epoch is not None:
        return dump(_WITHOUT_SOURCE, fields)
    del fields["source_epoch"]
    return dump(_FIRST, fields)


def lane_fields(progress: LaneProgress) -> dict[str, Any]:
    """The JSON object of a lane's progress, without its key."""
    return {
        "source": _partition_fields(progress.source),
        "target": _partition_fields(progress.target),
        "state": progress.state.value,
        "mode": progress.mode.value,
        "mode_reason": progress.mode_reason,
        "position": progress.position,
        "log_start": progress.log_start,
        "stable": progress.stable,
        "high_watermark": progress.high_watermark,
        "target_end": progress.target_end,
        "records": progress.records,
        "bytes": progress.bytes,
        "records_per_s": progress.records_per_s,
        "bytes_per_s": progress.bytes_per_s,
        "lag_bytes": progress.lag_bytes,
        "lag_seconds": progress.lag_seconds,
        "owner": progress.owner,
        "updated_at_ms": progress.updated_at_ms,
        "stop_reason": progress.stop_reason,
        "stop_offset": progress.stop_offset,
        "source_epoch": None
        if progress.source_epoch is None
        else {"position": progress.source_epoch[0], "epoch": progress.source_epoch[1]},
        "source_seen_ms": progress.source_seen_ms,
        "target_epoch": None
        if progress.target_epoch is None
        else {"end": progress.target_epoch[0], "epoch": progress.target_epoch[1]},
        "latency_ms": progress.latency_ms,
    }


def persisted_by(key: bytes, value: bytes) -> tuple[str, int]:
    """Who persisted a lane's progress, and when; raises ``MalformedRecordError``, ``NewerFormatError``.

    Of thousands of lanes a worker needs no more.  These two are found without reading the rest: a text's quotes have a
    backslash before them, so no text can be taken for a field's name.
    """
    owner, updated = _OWNER.search(value), _UPDATED.search(value)
    if owner is None or updated is None:
        found = decode_lane(key, value)
        return found.owner, found.updated_at_ms
    return owner[1].decode(), int(updated[1])


def target_text(target: TopicPartition) -> bytes:
    """What stands in the progress of each lane that writes a target partition, and in no other."""
    return b'"target":' + dump_plain(_partition_fields(target)) + b',"target_end":'


def decode_lane(key: bytes, value: bytes) -> LaneProgress:
    """A lane's progress; raises ``MalformedRecordError``, ``NewerFormatError``."""
    lane = parse_key(key)
    if not isinstance(lane, LaneKey):
        raise MalformedRecordError(f"{PROGRESS} {lane[0]}/{lane[1].value}", "the key is not a lane's")
    with load(f"{PROGRESS} {lane}", LANE_VERSION, value) as fields:
        return LaneProgress(
            lane=lane,
            source=_partition(fields, "source"),
            target=_partition(fields, "target"),
            state=fields.enum("state", LaneState),
            mode=fields.enum("mode", LaneMode),
            mode_reason=fields.text("mode_reason"),
            position=fields.integer("position"),
            log_start=fields.integer("log_start"),
            stable=fields.integer("stable"),
            high_watermark=fields.integer("high_watermark"),
            target_end=fields.integer("target_end"),
            records=fields.integer("records"),
            bytes=fields.integer("bytes"),
            records_per_s=fields.number("records_per_s"),
            bytes_per_s=fields.number("bytes_per_s"),
            lag_bytes=fields.optional_integer("lag_bytes"),
            lag_seconds=fields.optional_number("lag_seconds"),
            owner=fields.text("owner"),
            updated_at_ms=fields.integer("updated_at_ms"),
            stop_reason=_reason(fields.optional_text("stop_reason")),
            stop_offset=fields.optional_integer("stop_offset"),
            source_epoch=_epoch(fields, "source_epoch", "position"),
            source_seen_ms=fields.optional_integer("source_seen_ms") if fields.has("source_seen_ms") else None,
            target_epoch=_epoch(fields, "target_epoch", "end"),
            latency_ms=fields.optional_integer("latency_ms") if fields.has("latency_ms") else None,
        )


def _reason(text: str | None) -> str | None:
    """Why a lane stands; older workers began the text with the lane's key and its offset, which have their fields."""
    return None if text is None else _LANE_AND_OFFSET.sub("", text)


def encode_plan(plan: LinkPlan) -> bytes:
    """The value of a link's last plan: of the oldest version that can say it."""
    looked = {} if plan.looked_at_ms is None else {"looked_at_ms": plan.looked_at_ms, "left_out": list(plan.left_out)}
    version = _WITHOUT_OUTLIVED if looked else VERSION
    return dump(
        PLAN_VERSION if plan.outlived else version,
        {
            "owner": plan.owner,
            "batch": plan.batch,
            "planned_at_ms": plan.planned_at_ms,
            "lanes": plan.lanes,
            "findings": [{"severity": f.severity.value, "what": f.what, "fix": f.fix} for f in plan.findings],
            **({"ends": True} if plan.ends else {}),
            **({"digest": plan.digest} if plan.digest else {}),
            **looked,
            **({"outlived": dict(plan.outlived)} if plan.outlived else {}),
        },
    )


def decode_plan(key: bytes, value: bytes) -> LinkPlan:
    """A link's last plan; raises ``MalformedRecordError``, ``NewerFormatError``."""
    link = _link_of(key, ProgressRecordKind.PLAN)
    with load(f"{PROGRESS} {link}/{ProgressRecordKind.PLAN.value}", PLAN_VERSION, value) as fields:
        has_looked = fields.has("looked_at_ms")
        return LinkPlan(
            link=link,
            owner=fields.text("owner"),
            batch=fields.integer("batch"),
            planned_at_ms=fields.integer("planned_at_ms"),
            lanes=fields.integer("lanes"),
            findings=tuple(
                Reason.found(f.enum("severity", Severity), f.text("what"), f.text("fix"))
                for f in fields.each("findings")
            ),
            ends=fields.flag("ends") if fields.has("ends") else False,
            digest=fields.parsed("digest", _digest) if fields.has("digest") else "",
            looked_at_ms=fields.integer("looked_at_ms") if has_looked else None,
            left_out=fields.texts("left_out") if has_looked else (),
            outlived=_outlived(fields) if fields.has("outlived") else {},
        )


def encode_stop(stop: StopRequest) -> bytes:
    """The value of the record that tells which runs of a link are to stop."""
    return dump(VERSION, {"runs": list(stop.runs), "asked_at_ms": stop.asked_at_ms})


def decode_stop(key: bytes, value: bytes) -> StopRequest:
    """Which runs of a link are to stop; raises ``MalformedRecordError``, ``NewerFormatError``."""
    link = _link_of(key, ProgressRecordKind.STOP)
    with load(f"{PROGRESS} {link}/{ProgressRecordKind.STOP.value}", VERSION, value) as fields:
        return StopRequest(link, fields.texts("runs"), fields.integer("asked_at_ms"))


def _link_of(key: bytes, about: ProgressRecordKind) -> str:
    found = parse_key(key)
    if isinstance(found, LaneKey) or found[1] is not about:
        raise MalformedRecordError(f"{PROGRESS} {key.decode('utf-8', 'replace')}", f"the key is not a {about.value}'s")
    return found[0]


def _partition_fields(partition: TopicPartition) -> dict[str, Any]:
    return {"topic": partition.topic, "partition": partition.partition}


def _epoch(fields: Fields, name: str, at: str) -> tuple[int, int] | None:
    if not fields.has(name) or fields.is_null(name):
        return None
    with fields.nested(name) as inner:
        return inner.integer(at), inner.integer("epoch")


def _partition(fields: Fields, name: str) -> TopicPartition:
    with fields.nested(name) as inner:
        return TopicPartition(inner.text("topic"), inner.integer("partition"))


def _outlived(fields: Fields) -> dict[str, int | None]:
    """Lanes and offsets; one without a lane is written as none."""
    found: dict[str, int | None] = {}
    with fields.nested("outlived") as inner:
        for lane in inner.names:
            LaneKey.parse(lane)
            found[lane] = inner.optional_integer(lane)
    if not found:
        raise InvalidFieldError(PROGRESS, "outlived", "empty")
    return found


def _digest(text: str) -> str:
    """A digest that is there; one without a character is written as none."""
    if not text:
        raise InvalidFieldError(PROGRESS, "digest", "empty")
    return text
