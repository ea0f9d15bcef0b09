"""What the verbs of migrations are asked, what they plan and report, and what they refuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from anabranch.config.migration_file import MigrationShape, of_shape
from anabranch.errors import RefusedError
from anabranch.migration.ends import End
from anabranch.migration.options import TailChoice, UnknownGroups, WaveOptions
from anabranch.migration.spec import Migration
from anabranch.migration.standing import WaveVerb
from anabranch.service.errors import PlanStandsError
from anabranch.service.verb import Name, Rate, Request

Why = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]+$")]


class FileRequest(Request):
    """A migration, with the fields of a migration file, which names no other file."""

    migration: MigrationShape

    @field_validator("migration")
    @classmethod
    def _names_no_file(cls, migration: MigrationShape) -> MigrationShape:
        if isinstance(migration.copy_.start, str) and migration.copy_.start.startswith("@"):
            raise ValueError("copy.start: a file cannot be named here; give the offsets themselves")
        return migration

    def wanted(self) -> Migration:
        """As it is meant; raises InvalidFieldError."""
        return of_shape(self.migration, "migration")


class StartWavesRequest(FileRequest):
    """A migration whose waves are started: these, or all that are not."""

    waves: Annotated[tuple[Name, ...], Field(max_length=200)] = ()


class RehearseRequest(FileRequest):
    """A migration, of which one wave is rehearsed on topics and groups that are made for it."""

    wave: Name


class WaveRequest(Request):
    """A wave of a migration."""

    migration: Name
    wave: Name


class LeadRequest(WaveRequest):
    """A wave that is led away from one of its clusters, ``leaves``.

    ``unknown_groups`` is what becomes of groups of which nothing is known where that does not answer.
    """

    leaves: ClassVar[End]

    unknown_groups: Literal["refuse", "earliest", "latest"] = "refuse"

    @property
    def is_without(self) -> bool:
        """Whether the cluster that is left does not answer."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _is_for_a_lost_cluster(self) -> Self:
        if self.unknown_groups != "refuse" and not self.is_without:
            end = self.leaves.value
            raise ValueError(f"unknown_groups is for {end}_lost: with its {end} each group is known")
        return self

    @property
    def options(self) -> WaveOptions:
        """As it is meant."""
        return WaveOptions(lost=UnknownGroups(self.unknown_groups) if self.is_without else None)


class SwitchRequest(LeadRequest):
    """A wave that is switched; ``source_lost``: its source does not answer, and it goes on from what was copied.

    ``unknown_groups`` is what becomes then of groups of which nothing is known.
    """

    leaves = End.SOURCE

    source_lost: bool = False

    @property
    def is_without(self) -> bool:
        """Whether its source does not answer."""
        return self.source_lost


class ReverseRequest(LeadRequest):
    """A wave that is led back; ``target_lost``: its target does not answer, and it goes on from what came back.

    ``unknown_groups`` is what becomes then of groups of which nothing is known.
    """

    leaves = End.TARGET

    target_lost: bool = False

    @property
    def is_without(self) -> bool:
        """Whether its target does not answer."""
        return self.target_lost


class ReconcileRequest(WaveRequest):
    """A wave whose lost cluster is back; ``tail`` is what becomes of records there that were not copied."""

    tail: Literal["refuse", "keep", "append"] = "refuse"

    @property
    def options(self) -> WaveOptions:
        """As it is meant."""
        return WaveOptions(tail=TailChoice(self.tail))


class CancelRequest(WaveRequest):
    """A wave that stays on the source; ``purge`` deletes the target's topics made for it, and other copies."""

    purge: bool = False


class GiveUpRequest(WaveRequest):
    """What is under way for a wave, and why it is given up.

    ``source_lost``, ``target_lost``: that cluster of the migration does not answer, and what only it would hear of is
    left out.
    """

    reason: Why
    source_lost: bool = False
    target_lost: bool = False

    @model_validator(mode="after")
    def _loses_one(self) -> Self:
        if self.source_lost and self.target_lost:
            raise ValueError("source_lost and target_lost: with both gone nothing can be ended")
        return self

    @property
    def lost(self) -> End | None:
        """The cluster that is gone."""
        if self.source_lost:
            return End.SOURCE
        return End.TARGET if self.target_lost else None


class HoldRequest(Request):
    """A migration, or a wave of it, whose switches wait, and why."""

    migration: Name
    wave: Name | None = None
    reason: Why


class ThrottleRequest(Request):
    """A migration whose links may read at most so much together, or stand still; or those of a wave."""

    migration: Name
    wave: Name | None = None
    rate: Rate | None = None
    pause: bool = False

    @model_validator(mode="after")
    def _says_one(self) -> Self:
        if (self.rate is None) is not self.pause:
            raise ValueError("give a rate, or pause")
        return self


class ResumeRequest(Request):
    """A migration, or a wave of it, whose links may read again as much as its file allows."""

    migration: Name
    wave: Name | None = None


class ReleaseRequest(Request):
    """A migration, or a wave of it, whose switches need not wait any more."""

    migration: Name
    wave: Name | None = None


@dataclass(frozen=True, slots=True)
class WaveRunReport:
    """How a run of a wave ended, and for how long it held applications up; it may go on where the service ends.

    ``doubts`` are what may be lost, or is not known, where it went on without a cluster.  ``pauses`` say for how many
    ms at least each topic was not written to.
    """

    migration: str
    wave: str
    verb: WaveVerb
    run: str
    state: str
    pause_ms: int | None
    doubts: tuple[str, ...] = ()
    pauses: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StartReport:
    """The runs that were started, and how they ended."""

    migration: str
    runs: tuple[WaveRunReport, ...]


@dataclass(frozen=True, slots=True)
class GiveUpPlan:
    """A run that would be taken back, and the steps that would be put back, the last first.

    Without a cluster one that is past the point of no return may have to go on: then ``goes_on``, and ``steps`` are
    those that are still done.  ``left_out`` are those that only the lost cluster would hear of.
    """

    migration: str
    wave: str
    verb: WaveVerb
    run: str
    steps: tuple[str, ...]
    hash: str
    goes_on: bool = False
    left_out: tuple[str, ...] = ()


@dataclass(eq=False)
class OtherMigrationError(RefusedError):
    """The file is another one than that of the migration."""

    name: str

    _message = "migration {name!r} is kept with another file"
    _hint = "change it: `anabranch migrate set -f FILE`, or give this one another name"


@dataclass(eq=False)
class BothLostError(RefusedError):
    """What goes on without one cluster is to end without the other one, too, to which applications are led by now."""

    migration: str
    wave: str
    cluster: str

    _message = (
        "wave {wave} goes on without a cluster already, and has passed the point of no return: its applications belong "
        "on {cluster}, and nowhere else"
    )
    _hint = "it goes on by itself once {cluster} answers: `anabranch migrate status {migration}`"


@dataclass(eq=False)
class TakenBackError(RefusedError):
    """A run was taken back: all is as before it."""

    migration: str
    wave: str
    verb: str
    why: str

    _message = "{verb} of wave {wave} of migration {migration} was taken back, and all is as before: {why}"
    _hint = "see each step: `anabranch migrate show {migration} --wave {wave}`"


@dataclass(eq=False)
class NothingUnderWayError(RefusedError):
    """There is nothing to give up."""

    migration: str
    wave: str

    _message = "nothing is under way for wave {wave} of migration {migration}"
    _hint = "look at it: `anabranch migrate status`"


@dataclass(eq=False)
class SourceThereError(RefusedError):
    """What is under way was to be ended without a cluster, which answers."""

    migration: str
    wave: str
    source: str
    server: str

    _message = "wave {wave}: {source} answers at {server}: it is not lost"
    _hint = (
        "what is under way goes on by itself; before its point of no return take it back: "
        "`anabranch migrate cancel {migration} --wave {wave} --reason WHY`"
    )


@dataclass(eq=False)
class NotApprovedError(PlanStandsError):
    """A switch has to be approved by somebody else than who asked for it."""

    migration: str
    account: str
    approvers: tuple[str, ...]
    is_author: bool

    @property
    def message(self) -> str:
        if self.is_author:
            return f"{self.account} asked for this, and somebody else of {', '.join(self.approvers)} has to approve it"
        return f"{self.account} is no approver of migration {self.migration}: {', '.join(self.approvers)} are"

    _hint = "hand the plan on: `anabranch migrate approve PLAN`"
