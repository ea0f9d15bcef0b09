"""The command line that creates a link: flags where they say all of it, else a link file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from anabranch.config import link_file
from anabranch.config.group_rules import NONE
from anabranch.config.link_file import ConfigsShape, FilterShape, GroupsShape, LinkShape, NamingShape, StartOffsetsShape
from anabranch.service.words import command

Options = list[tuple[str, object]]
_MOST_OFFSETS = 50
"""More given offsets than these are no command line that somebody reads."""


def words(link: LinkShape, adopt: str | None) -> str:
    """The command; it reads `files` where it names one."""
    flags = _flags(link)
    options = flags if flags is not None else [("--file", _name(link))]
    return command("link", "create", options=[*options, ("--adopt", adopt)])


def files(link: LinkShape) -> Mapping[str, str]:
    """The file that the command reads, by its name; none where flags say all."""
    return {} if _flags(link) is not None else {_name(link): link_file.text_of(link)}


def _name(link: LinkShape) -> str:
    return f"{link.id or f'{link.source}-{link.target}'}.yaml"


def _flags(link: LinkShape) -> Options | None:
    """None for what flags cannot say."""
    parts = (_filter(link.filter), _naming(link.naming), _start(link.start), _groups(link.groups))
    if link.configs != ConfigsShape() or any(part is None for part in parts):
        return None
    chosen, naming, start, groups = (part or [] for part in parts)
    usual = LinkShape.model_fields["lease_seconds"].default
    return [
        ("--source", link.source),
        ("--target", link.target),
        ("--id", link.id),
        *chosen,
        *naming,
        ("--replication-factor", link.replication_factor),
        *start,
        ("--mode", None if link.mode == "auto" else link.mode),
        ("--rate-limit", link.rate_limit),
        ("--lease-seconds", None if link.lease_seconds == usual else link.lease_seconds),
        *groups,
        ("--shared-topics", link.shared_topics),
        ("--back-of", link.back_of),
    ]


def _filter(shape: FilterShape) -> Options | None:
    # An empty list is not the same as none: it stands for no topic, or for none left out.
    if shape.kind != "regex" or shape.model_extra or shape.include == [] or shape.exclude == []:
        return None
    return [("--include", shape.include), ("--exclude", shape.exclude)]


def _naming(shape: NamingShape) -> Options | None:
    if shape.model_extra or shape.separator is not None:
        return None
    if shape.template is not None:
        return [("--naming", shape.template)] if shape.kind == "template" and "{" in shape.template else None
    return [("--naming", None if shape.kind == "identity" else shape.kind)]


def _start(value: datetime | str | int | StartOffsetsShape) -> Options | None:
    if isinstance(value, StartOffsetsShape):
        given = [f"{topic}-{at}:{offset}" for topic, found in value.offsets.items() for at, offset in found.items()]
        return [("--start", ",".join(given))] if 0 < len(given) <= _MOST_OFFSETS else None
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    return [("--start", None if text == "earliest" else text)]


def _groups(shape: GroupsShape | None) -> Options | None:
    if shape is None:
        return []
    if shape.exclude or shape.include == [NONE]:
        return None
    interval = None if shape.interval == GroupsShape.model_fields["interval"].default else shape.interval
    return [("--sync-groups", shape.include), ("--sync-interval", interval), ("--checkpoints", shape.checkpoints)]
