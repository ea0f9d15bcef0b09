"""The shape of a link file (``anabranch link create -f link.yaml``) and how it becomes a ``LinkSpec``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from anabranch.config.offsets_file import start_of
from anabranch.config.units import parse_interval, parse_rate
from anabranch.config.yaml_file import FileShape, check, read, yaml_text
from anabranch.errors import InvalidFieldError
from anabranch.model import filters, naming
from anabranch.model.configs import DEFAULT_DENY, ConfigRules
from anabranch.model.link import ClusterRef, GroupRules, LinkSpec, ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicPartition


class FilterShape(FileShape):
    """Which topics are copied; another kind than regex has options of its own."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, hide_input_in_errors=True)

    kind: str = Field(default="regex", description="regex, or a kind that an installed package registers.")
    include: list[str] | None = Field(
        default=None, description="Regular expressions that match whole names; default all."
    )
    exclude: list[str] | None = Field(
        default=None,
        description=f"Regular expressions that win over include; default {', '.join(filters.DEFAULT_EXCLUDE)}.",
    )


class NamingShape(FileShape):
    """What topics are called on the target; another kind than the built-in ones has options of its own."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, hide_input_in_errors=True)

    kind: str = Field(default="identity", description="identity, prefix, template, or a kind that a package registers.")
    separator: str | None = Field(
        default=None, description="prefix: what stands after the source's name; default a dot."
    )
    template: str | None = Field(default=None, description="template: text with {topic} once and {source}.")


class StartOffsetsShape(FileShape):
    """Given source offsets; a partition that is not named begins at its earliest record."""

    offsets: dict[str, dict[int, int]] = Field(min_length=1, description="topic: {partition: offset}")


class ConfigsShape(FileShape):
    """Which topic configs follow the source's; regular expressions that match whole names, deny wins."""

    allow: list[str] = Field(default_factory=lambda: [".*"])
    deny: list[str] = Field(default_factory=lambda: list(DEFAULT_DENY))


class GroupsShape(FileShape):
    """Which consumer groups are kept in sync on the target while the link runs."""

    include: list[str] = Field(min_length=1, description="Regular expressions that match whole names.")
    exclude: list[str] = Field(default_factory=list, description="Regular expressions that win over include.")
    interval: str = Field(default="10s", description="How often, from 1s to 1h.")
    checkpoints: bool = Field(default=False, description="Publish checkpoints as MirrorMaker 2 does.")


class LinkShape(FileShape):
    """A link from one cluster to another."""

    version: Literal[1] = Field(default=1, description="Version of this file's format.")
    id: str | None = Field(default=None, description="Names the link on its target; default SOURCE-TARGET.")
    source: str = Field(description="Context of the cluster that is copied.")
    target: str = Field(description="Context of the cluster that is copied to.")
    filter: FilterShape = Field(default_factory=lambda: FilterShape(kind="regex"))
    naming: NamingShape = Field(default_factory=lambda: NamingShape(kind="identity"))
    replication_factor: int | None = Field(
        default=None, ge=1, description="Of target topics; default the target brokers'."
    )
    start: datetime | str | int | StartOffsetsShape = Field(
        default="earliest",
        description="earliest, latest, a time with its zone, milliseconds since 1970, group:NAME (what a group of the "
        "source has committed when the link is created), given offsets, or @FILE with an offsets file.",
    )
    mode: Literal["auto", "mapped"] = Field(default="auto", description="auto keeps offsets where that is safe.")
    configs: ConfigsShape = Field(default_factory=ConfigsShape)
    rate_limit: int | str | None = Field(default=None, description="Bytes a second over all lanes, such as 50MB/s.")
    lease_seconds: int = Field(default=300, ge=1, le=3600, description="How long workers keep their lanes.")
    groups: GroupsShape | None = Field(default=None, description="Consumer groups to keep in sync; default none.")
    shared_topics: bool = Field(default=False, description="Copy also into target topics that another link fills.")
    back_of: str | None = Field(
        default=None,
        description="A paused link from the target into the source, whose way back this one is: it goes on where that "
        "one's copies end, and has its offset map the other way round. Topics and names are that link's.",
    )


def load(path: Path) -> LinkSpec:
    """The spec of a file, its cluster ids not yet known; raises ``ConfigError`` naming file and field."""
    value = read(path)
    return spec_of(check(LinkShape, value, str(path)), str(path))


def text_of(shape: LinkShape) -> str:
    """The text of a file that says the same: what was given, and no defaults."""
    return yaml_text(shape.model_dump(exclude_unset=True, exclude_none=True))


def spec_of(shape: LinkShape, place: str) -> LinkSpec:
    """The spec of a checked shape; policies and filters are built once, so that their faults show here."""
    try:
        spec = LinkSpec(
            id=shape.id or f"{shape.source}-{shape.target}",
            source=ClusterRef(shape.source, ""),
            target=ClusterRef(shape.target, ""),
            filter=plugin_of(shape.filter),
            naming=plugin_of(shape.naming),
            replication_factor=shape.replication_factor,
            start=start_position(shape.start),
            mode=ModePolicy(shape.mode),
            configs=ConfigRules(tuple(shape.configs.allow), tuple(shape.configs.deny)),
            rate_limit=parse_rate(str(shape.rate_limit)) if shape.rate_limit is not None else None,
            lease_seconds=shape.lease_seconds,
            groups=None if shape.groups is None else groups_of(shape.groups),
            shared_topics=shape.shared_topics,
            back_of=shape.back_of,
        )
        filters.load(spec.filter)
        naming.load(spec.naming, shape.source)
    except InvalidFieldError as error:
        raise InvalidFieldError(place, f"{error.where}.{error.field}", error.problem, error.fix) from error
    if shape.source == shape.target:
        raise InvalidFieldError(place, "target", "it is the source too", "name another context")
    return spec


def groups_of(shape: GroupsShape) -> GroupRules:
    """The rules of a checked shape; raises ``InvalidFieldError``."""
    return GroupRules(
        tuple(shape.include), tuple(shape.exclude), parse_interval(shape.interval), checkpoints=shape.checkpoints
    )


def plugin_of(shape: FilterShape | NamingShape) -> PluginSpec:
    """The plugin of a checked shape."""
    options: dict[str, Any] = shape.model_dump(exclude={"kind"}, exclude_none=True)
    return PluginSpec(shape.kind, options)


def start_position(value: datetime | str | int | StartOffsetsShape) -> StartPosition:
    """The start of a checked field; raises ``InvalidFieldError``."""
    if isinstance(value, StartOffsetsShape):
        offsets = {TopicPartition(t, p): o for t, parts in value.offsets.items() for p, o in parts.items()}
        return StartPosition(StartKind.OFFSETS, offsets=offsets)
    return start_of(value.isoformat() if isinstance(value, datetime) else str(value))
