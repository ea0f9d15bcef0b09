"""``__anabranch_links``: a link under its id, each topic that it fills under ``link/target-topic-id``, and what was
decided about its lanes under ``link/decision/source-topic-id/partition``.
"""

from __future__ import annotations

from anabranch.model.decisions import LaneDecision, SourcePartition
from anabranch.model.link import LinkRecord, MirroredTopic, WantedState
from anabranch.model.topics import TopicId
from anabranch.state.codecs.errors import MalformedRecordError
from anabranch.state.codecs.fields import dump, load, range_fields, read_range, refusals
from anabranch.state.codecs.specs import read_spec, spec_fields
from anabranch.state.codecs.topics import LINKS

VERSION = 1
LINK_VERSION = 4
_WITH_SHARED = 3  # a link whose control topics' ids nobody told
_WITH_GROUPS = 2  # whose spec has no ``shared_topics`` either
_FIRST = 1  # and no ``groups``
_DECISION = "decision"  # no topic id: those have 22 characters


def link_key(link: str) -> bytes:
    """The key of a link's record."""
    return link.encode("utf-8")


def topic_key(link: str, target_id: TopicId) -> bytes:
    """The key of the record about one topic that a link fills."""
    return f"{link}/{target_id}".encode()


def decision_key(link: str, place: SourcePartition) -> bytes:
    """The key of the record about what was decided of one lane, whatever its generation."""
    return f"{link}/{_DECISION}/{place.topic_id}/{place.partition}".encode()


def parse_key(key: bytes) -> tuple[str, TopicId | SourcePartition | None]:
    """The link, and the target topic's id where the record is about a topic, or the lane where it is a decision."""
    link, slash, rest = _text(key).partition("/")
    with refusals(LINKS):
        if not slash:
            return link, None
        first, *more = rest.split("/")
        if first != _DECISION:
            return link, TopicId.parse(rest)
        if len(more) != 2 or not (more[1].isascii() and more[1].isdecimal()):
            raise MalformedRecordError(LINKS, f"{_text(key)!r} is not link/decision/topic-id/partition")
        return link, SourcePartition(TopicId.parse(more[0]), int(more[1]))


def encode_link(record: LinkRecord) -> bytes:
    """The value of a link's record: of the oldest version that can say it, for older readers."""
    wanted = record.wanted
    value = {
        "spec": spec_fields(wanted.spec),
        "paused": wanted.paused,
        "revision": wanted.revision,
        "origins": list(record.origins),
        "created_at_ms": record.created_at_ms,
    }
    if record.control_topics:
        ids = {name: str(topic_id) for name, topic_id in record.control_topics.items()}
        return dump(LINK_VERSION, {**value, "control_topics": ids})
    version = _FIRST if wanted.spec.groups is None else _WITH_GROUPS
    return dump(_WITH_SHARED if wanted.spec.shared_topics else version, value)


def decode_link(key: bytes, value: bytes) -> LinkRecord:
    """A link's record; raises ``MalformedRecordError``, ``NewerFormatError``."""
    place = f"{LINKS} {_text(key)}"
    with load(place, LINK_VERSION, value) as fields:
        with fields.nested("spec") as inner:
            spec = read_spec(inner)
        if link_key(spec.id) != key:
            raise MalformedRecordError(place, f"holds link {spec.id!r}")
        wanted = WantedState(spec, fields.flag("paused"), fields.integer("revision"))
        ids: dict[str, str] = {}
        if fields.has("control_topics"):
            ids = fields.text_mapping("control_topics")
            if not ids:
                raise fields.malformed("control_topics", "empty")
        return LinkRecord(
            wanted,
            fields.texts("origins"),
            fields.integer("created_at_ms"),
            {name: TopicId.parse(topic_id) for name, topic_id in ids.items()},
        )


def encode_topic(topic: MirroredTopic) -> bytes:
    """The value of the record about a mirrored topic; the key holds the rest."""
    return dump(
        VERSION,
        {
            "source": topic.source,
            "source_id": str(topic.source_id),
            "target": topic.target,
            "configs": dict(topic.configs),
        },
    )


def decode_topic(key: bytes, value: bytes) -> MirroredTopic:
    """The record about a mirrored topic; raises ``MalformedRecordError``, ``NewerFormatError``."""
    link, target_id = parse_key(key)
    place = f"{LINKS} {_text(key)}"
    if not isinstance(target_id, TopicId):
        raise MalformedRecordError(place, "the key names no topic")
    with load(place, VERSION, value) as fields:
        return MirroredTopic(
            link=link,
            source=fields.text("source"),
            source_id=fields.parsed("source_id", TopicId.parse),
            target=fields.text("target"),
            target_id=target_id,
            configs=fields.text_mapping("configs"),
        )


def encode_decision(decision: LaneDecision) -> bytes:
    """The value of a decision; the key holds the rest."""
    return dump(
        VERSION,
        {
            "generation": decision.generation,
            "start": decision.start,
            "skip": range_fields(decision.skip),
            "decided_at_ms": decision.decided_at_ms,
            "why": decision.why,
        },
    )


def decode_decision(key: bytes, value: bytes) -> LaneDecision:
    """What was decided about a lane; raises ``MalformedRecordError``, ``NewerFormatError``."""
    link, lane = parse_key(key)
    place = f"{LINKS} {_text(key)}"
    if not isinstance(lane, SourcePartition):
        raise MalformedRecordError(place, "the key is not a decision's")
    with load(place, VERSION, value) as fields:
        return LaneDecision(
            link=link,
            place=lane,
            generation=fields.integer("generation"),
            start=fields.optional_integer("start"),
            skip=read_range(fields, "skip"),
            decided_at_ms=fields.integer("decided_at_ms"),
            why=fields.text("why"),
        )


def _text(key: bytes) -> str:
    try:
        return key.decode("utf-8")
    except UnicodeDecodeError:
        raise MalformedRecordError(LINKS, f"the key {key!r} is not UTF-8") from None
