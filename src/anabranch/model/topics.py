"""Topics, their ids, and what a name may be."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, Self
from uuid import UUID

from anabranch.errors import InvalidFieldError, RefusedError

MAX_NAME_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
_NAMED = 4
"""Topics that a sentence names; of more it tells how many there are."""


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """One partition of a topic, by the topic's name."""

    topic: str
    partition: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what ``str`` has written; raises ValueError for what has no number."""
        topic, _, partition = text.rpartition("-")
        return cls(topic, int(partition))

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True, order=True)
class TopicId:
    """A topic's id (KIP-516), written as Kafka's tools write it: base64url without padding, 22 characters.

    It outlives no deletion: a topic made again under its old name has another id.  The zero id stands for a
    cluster that gives none.
    """

    uuid: UUID

    ZERO: ClassVar[TopicId]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read Kafka's 22 characters; raises ``InvalidFieldError``."""
        try:
            raw = base64.urlsafe_b64decode(text + "==")
            if len(raw) == 16 and len(text) == 22:
                return cls(UUID(bytes=raw))
        except (binascii.Error, ValueError):
            pass
        raise InvalidFieldError("topic id", "value", f"{text!r} is not 22 characters of base64url")

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(self.uuid.bytes)[:22].decode("ascii")


TopicId.ZERO = TopicId(UUID(int=0))


@dataclass(eq=False)
class IllegalTopicNameError(RefusedError):
    """A name that no Kafka broker accepts for a topic."""

    name: str
    problem: str
    source: str = ""

    @property
    def message(self) -> str:
        made = f" (made from {self.source!r})" if self.source else ""
        return f"{self.name!r}{made} is not a legal topic name: {self.problem}"

    _hint = "choose another naming policy or template, or exclude the topic"


def check_name(name: str, source: str = "") -> str:
    """Return the name if a broker would accept it (Kafka's ``Topic.validate``); else raise
    ``IllegalTopicNameError``.
    """
    if name in ("", ".", ".."):
        raise IllegalTopicNameError(name, "empty, '.' and '..' are not allowed", source)
    if len(name) > MAX_NAME_LENGTH:
        raise IllegalTopicNameError(name, f"{len(name)} characters, at most {MAX_NAME_LENGTH} are allowed", source)
    if not _LEGAL.fullmatch(name):
        raise IllegalTopicNameError(name, "only letters, digits, '.', '_' and '-' are allowed", source)
    return name


def named_topics(names: Collection[str]) -> str:
    """Some topics in a sentence: the first by their names, and how many more there are."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{'topic' if len(names) == 1 else 'topics'} {', '.join(sorted(names)[:_NAMED])}{more}"
