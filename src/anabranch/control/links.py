"""``__anabranch_links``: a link under its id, and each topic that it fills under ``link/target-topic-id``."""

from __future__ import annotations

from anabranch.control.errors import MalformedRecordError
from anabranch.control.fields import dump, load, refusals
from anabranch.control.specs import read_spec, spec_fields
from anabranch.control.topics import LINKS
from anabranch.model.link import LinkRecord, MirroredTopic, WantedState
from anabranch.model.topics import TopicId

VERSION = 1


def link_key(link: str) -> bytes:
    """The key of a link's record."""
    return link.encode("utf-8")


def topic_key(link: str, target_id: TopicId) -> bytes:
    """The key of the record about one topic that a link fills."""
    return f"{link}/{target_id}".encode()


def parse_key(key: bytes) -> tuple[str, TopicId | None]:
    """The link, and the target topic's id where the record is about a topic."""
    link, slash, topic = _text(key).partition("/")
    with refusals(LINKS):
        return link, TopicId.parse(topic) if slash else None


def encode_link(record: LinkRecord) -> bytes:
    """The value of a link's record."""
    wanted = record.wanted
    return dump(
        VERSION,
        {
            "spec": spec_fields(wanted.spec),
            "paused": wanted.paused,
            "revision": wanted.revision,
            "origins": list(record.origins),
            "created_at_ms": record.created_at_ms,
        },
    )


def decode_link(key: bytes, value: bytes) -> LinkRecord:
    """A link's record; raises ``MalformedRecordError``, ``NewerFormatError``."""
    place = f"{LINKS} {_text(key)}"
    with load(place, VERSION, value) as fields:
        with fields.nested("spec") as inner:
            spec = read_spec(inner)
        if link_key(spec.id) != key:
            raise MalformedRecordError(place, f"holds link {spec.id!r}")
        wanted = WantedState(spec, fields.flag("paused"), fields.integer("revision"))
        return LinkRecord(wanted, fields.texts("origins"), fields.integer("created_at_ms"))


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
    if target_id is None:
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


def _text(key: bytes) -> str:
    try:
        return key.decode("utf-8")
    except UnicodeDecodeError:
        raise MalformedRecordError(LINKS, f"the key {key!r} is not UTF-8") from None
