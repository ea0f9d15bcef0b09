"""What a migration is asked to do: two clusters, and waves of applications that are moved one after the other.

Each wave has topics of its own, which a forward link copies; its groups, stream jobs and producers are switched
together, or its consumers before its producers, or the other way round.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.migration.ends import End
from anabranch.model.configs import ConfigRules
from anabranch.model.link import ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.model.routing import Stragglers
from anabranch.model.start import StartPosition


class WaveOrder(StrEnum):
    """In which order a wave's applications are switched."""

    TOGETHER = "together"
    CONSUMERS_FIRST = "consumers first"
    PRODUCERS_FIRST = "producers first"


class FenceKind(StrEnum):
    """How applications are kept from writing to the source while they are switched.

    ``ROUTES``: those that use the SDK pause, and are led to the target.  ``ACL``: the source denies writing.  ``HOOK``:
    a command of the operator's stops them.  ``OBSERVE``: it is waited until nobody writes.  Several hold one after the
    other; that nobody writes is proved in each case.
    """

    ROUTES = "routes"
    ACL = "acl"
    HOOK = "hook"
    OBSERVE = "observe"


class Readers(StrEnum):
    """What becomes of members of a wave's groups that read on as they are switched.

    ``WAIT``: they are waited for.  ``DENY``: the cluster that is left denies them reading in the groups, and then they
    are waited for until their sessions are over.  That nobody reads is proved in each case.
    """

    WAIT = "wait"
    DENY = "deny"


class JobKind(StrEnum):
    """Whose stored positions a stream job has."""

    SPARK = "spark"
    FLINK = "flink"


@dataclass(frozen=True, slots=True)
class StreamJob:
    """A stream job whose positions are rewritten: ``checkpoint`` is where they are, ``moved`` where they are put.

    ``moved`` is empty for a Spark checkpoint that is rewritten in its place.
    """

    name: str
    kind: JobKind
    checkpoint: str
    moved: str = ""


@dataclass(frozen=True, slots=True)
class Hooks:
    """Commands of the operator's, by name: ``fence`` stops the producers, ``release`` lets applications go on."""

    fence: str = ""
    release: str = ""


@dataclass(frozen=True, slots=True)
class Wave:
    """Applications that are switched in one go.

    ``topics`` and ``groups`` are whole names.  ``clients`` are client ids that are known to belong to it,
    ``principals`` whom fences of access rules deny something: none stands for everybody.  ``codes`` are the cluster
    codes by which its applications are led.
    """

    name: str
    topics: tuple[str, ...]
    groups: tuple[str, ...] = ()
    jobs: tuple[StreamJob, ...] = ()
    clients: tuple[str, ...] = ()
    principals: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    order: WaveOrder = WaveOrder.TOGETHER
    fences: tuple[FenceKind, ...] = (FenceKind.OBSERVE,)
    hooks: Hooks = Hooks()
    readers: Readers = Readers.WAIT

    @property
    def denies_readers(self) -> bool:
        """Whether a switch denies reading in groups of it."""
        return bool(self.groups) and self.readers is Readers.DENY


@dataclass(frozen=True, slots=True)
class CopyRules:
    """How the forward links of a migration copy, as in a link file."""

    naming: PluginSpec = field(default_factory=lambda: PluginSpec("identity"))
    replication_factor: int | None = None
    start: StartPosition = field(default_factory=StartPosition)
    mode: ModePolicy = ModePolicy.AUTO
    configs: ConfigRules = field(default_factory=ConfigRules)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a migration may cost.

    ``source_rate``: bytes a second that all its links together read, None for as fast as it goes.
    ``longest_pause_ms``: a switch that would hold an application up for longer is given up, before the point of no
    return.  ``most_lag``: a switch begins only with at most so many records still to copy in each lane.  ``quiet_ms``:
    for so long nobody may have written before that is taken for proved.  ``job_quiet_ms``: a stream job that has not
    written its checkpoint for so long is taken for stopped; None for a minute, or three of the job's own intervals.
    """

    source_rate: int | None = None
    longest_pause_ms: int = 30_000
    most_lag: int = 10_000
    quiet_ms: int = 2_000
    job_quiet_ms: int | None = None


@dataclass(frozen=True, slots=True)
class AccessCarryOver:
    """Whether access rules are carried over to the target, and quotas with them.

    ``principals`` are what some of the source's principals are called there; all others keep their names.
    """

    sync: bool = False
    principals: Mapping[str, str] = field(default_factory=dict, hash=False)
    quotas: bool = False


@dataclass(frozen=True, slots=True)
class Migration:
    """A migration as it is asked for; ``source`` and ``target`` are names of contexts.

    ``source_id`` and ``target_id`` are the cluster ids that these must lead to, empty where it was not told.
    ``approvers`` are accounts of which one, and not who asks for it, approves what leads applications, or cannot be
    taken back; none: nobody needs to.
    """

    name: str
    source: str
    target: str
    waves: tuple[Wave, ...]
    source_id: str = ""
    target_id: str = ""
    copy: CopyRules = field(default_factory=CopyRules)
    limits: Limits = Limits()
    approvers: tuple[str, ...] = ()
    stragglers: Stragglers = Stragglers.CANCEL
    access: AccessCarryOver = AccessCarryOver()

    def at(self, end: End) -> str:
        """The context of one of its clusters."""
        return self.source if end is End.SOURCE else self.target

    def chosen(self, only: Collection[str]) -> tuple[Wave, ...]:
        """The waves of these names; all of them where none is named."""
        return tuple(wave for wave in self.waves if not only or wave.name in only)

    def wave(self, name: str) -> Wave | None:
        """The wave of a name."""
        return next((wave for wave in self.waves if wave.name == name), None)
