"""A link: what the user wants copied from one cluster to another, and what is stored about it on the target."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.errors import InvalidFieldError, RefusedError
from anabranch.model.configs import ConfigRules
from anabranch.model.patterns import patterns
from anabranch.model.plugins import PluginSpec
from anabranch.model.start import StartPosition
from anabranch.model.topics import TopicId

_LINK_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class ModePolicy(StrEnum):
    """``auto``: identity where the lane's guard is strong, else mapped, with the reason; ``mapped``: never
    identity.
    """

    AUTO = "auto"
    MAPPED = "mapped"


@dataclass(frozen=True, slots=True)
class ClusterRef:
    """A cluster of a link: the context it is reached by, and the cluster id that the context must lead to."""

    context: str
    cluster_id: str


@dataclass(frozen=True, slots=True)
class GroupRules:
    """Which consumer groups a running link keeps in sync on the target: regular expressions that match whole names.

    A round begins every ``interval_ms``, from 1 s up.  ``checkpoints`` has what was translated published as
    MirrorMaker 2 does, for tools that read its topics.
    """

    include: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    interval_ms: int = 10_000
    checkpoints: bool = False

    def __post_init__(self) -> None:
        if not self.include:
            raise InvalidFieldError("groups", "include", "empty", "name groups, or .* for all")
        for field_name, of in (("include", self.include), ("exclude", self.exclude)):
            patterns("groups", field_name, of)
        if not 1_000 <= self.interval_ms <= 3_600_000:
            raise InvalidFieldError("groups", "interval", "not from 1 s to 1 h", "for example 10s")

    def selects(self, group: str) -> bool:
        """Whether some include matches the whole name and no exclude does; raises SlowPatternError."""
        included = patterns("groups", "include", self.include).match(group)
        return included and not patterns("groups", "exclude", self.exclude).match(group)


@dataclass(frozen=True, slots=True)
class LinkSpec:
    """What a link is to do.

    ``id`` names it on its target and in every lane's key.  ``filter``, ``rate_limit`` (bytes a second over all
    lanes, None for no limit) and ``groups`` (None: none is kept in sync) may change while it runs; the rest is fixed
    when it is created.
    ``replication_factor`` None takes the target brokers' default.  ``lease_seconds`` is the length of a
    micro-batch, after which lanes are planned again.  ``shared_topics`` allows target topics that another link fills.
    ``back_of`` is the id of a link in the other direction whose way back this is: topics that one fills are copied, and
    its offset map, the other way round, is the beginning of this one's.
    """

    id: str
    source: ClusterRef
    target: ClusterRef
    filter: PluginSpec = field(default_factory=lambda: PluginSpec("regex"))
    naming: PluginSpec = field(default_factory=lambda: PluginSpec("identity"))
    replication_factor: int | None = None
    start: StartPosition = field(default_factory=StartPosition)
    mode: ModePolicy = ModePolicy.AUTO
    configs: ConfigRules = field(default_factory=ConfigRules)
    rate_limit: int | None = None
    lease_seconds: int = 300
    groups: GroupRules | None = None
    shared_topics: bool = False
    back_of: str | None = None

    def __post_init__(self) -> None:
        where = f"link {self.id!r}"
        if not _LINK_ID.fullmatch(self.id):
            raise InvalidFieldError(
                where, "id", "not a legal link id", "use lower case letters, digits, - and _, at most 63"
            )
        if self.back_of is not None and not _LINK_ID.fullmatch(self.back_of):
            raise InvalidFieldError(where, "back_of", f"{self.back_of!r} is no link's id", "anabranch link list")
        if self.replication_factor is not None and not 1 <= self.replication_factor <= 32767:
            raise InvalidFieldError(
                where,
                "replication_factor",
                f"{self.replication_factor} is not from 1 to 32767",
                "for example 3; leave it out for the target brokers' default",
            )
        if self.rate_limit is not None and self.rate_limit < 1:
            raise InvalidFieldError(where, "rate_limit", "not a positive number", f"anabranch link pause {self.id}")
        if not 1 <= self.lease_seconds <= 3600:
            raise InvalidFieldError(
                where, "lease_seconds", f"{self.lease_seconds} is not from 1 to 3600", "for example 300"
            )


@dataclass(frozen=True, slots=True)
class WantedState:
    """What the workers of a running link obey; each change has the next ``revision``."""

    spec: LinkSpec
    paused: bool = False
    revision: int = 1


@dataclass(frozen=True, slots=True)
class LinkRecord:
    """What the target stores about a link.

    ``origins`` are ids of all clusters whose records may arrive through it: the source's own first, then
    those that links into the source bring there.  ``control_topics`` are the ids of the control topics that the link
    was begun with, as far as they were told: topics of the same names with other ids tell nothing of its lanes.
    """

    wanted: WantedState
    origins: tuple[str, ...]
    created_at_ms: int
    control_topics: Mapping[str, TopicId] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class MirroredTopic:
    """What the target stores about a topic that a link fills: its provenance, and the configs that are held
    back.

    ``configs`` are the wanted values; ``anabranch.model.configs.held_configs`` says what stands there
    meanwhile.
    """

    link: str
    source: str
    source_id: TopicId
    target: str
    target_id: TopicId
    configs: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(eq=False)
class UnknownLinkError(RefusedError):
    """No link of that id is stored on the target."""

    link: str
    target: str

    _message = "cluster {target} knows no link {link!r}"

    @property
    def hint(self) -> str:
        return f"`anabranch link list --target {shlex.quote(self.target)}` shows the links of the target"
