"""Change a migration's file, but for what its waves under way consist of."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anabranch.config.migration_file import migration_fields
from anabranch.errors import RefusedError
from anabranch.migration.check import check_sound
from anabranch.migration.fences import asked_of
from anabranch.migration.kept import StoredMigration
from anabranch.migration.spec import Migration, Wave
from anabranch.migration.standing import WaveStanding, WaveState, WaveVerb
from anabranch.model.plans import REQUEST, plan_hash
from anabranch.operations.migrations.hold import ChangedMigration
from anabranch.operations.migrations.known import known, standings

if TYPE_CHECKING:  # a program without the service has no database
    from anabranch.store.waves import StoredMigrations


@dataclass(frozen=True, slots=True)
class SetPlan:
    """A migration's file: what it was, and what it would be; waves that are under way keep theirs.

    ``seen`` is how many runs there had been as it was made.
    """

    migration: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    hash: str
    kept: StoredMigration = field(metadata=REQUEST)
    seen: int = field(metadata=REQUEST)


@dataclass(eq=False)
class MovedWaveError(RefusedError):
    """A wave is to be another one while it is moved."""

    migration: str
    wave: str
    state: str

    _message = "wave {wave} of migration {migration} is {state}: what it consists of stays"
    _hint = "change its limits, fences, groups and jobs; its topics and the clusters are those of its links"


@dataclass(eq=False)
class FenceStaysError(RefusedError):
    """The fence of access rules is to go from a wave that was switched by it."""

    migration: str
    wave: str
    fence: str

    _message = (
        "wave {wave} of migration {migration} was switched, or was to be, with {fence}: what that denies where its "
        "applications were is lifted by a verb of a wave with that alone"
    )
    _hint = "leave {fence} in its file until the wave is completed, or cancelled with both clusters"


@dataclass(eq=False)
class GoesByError(RefusedError):
    """What is under way for a wave was planned by what is to be changed of it."""

    migration: str
    wave: str
    verb: str
    what: str

    _message = "wave {wave} of migration {migration}: {verb} is under way, and goes by its {what}"
    _hint = "change them once it has ended: `anabranch migrate status {migration}`"


async def plan(stored: StoredMigrations, wanted: Migration) -> SetPlan:
    """Keep a migration as ``wanted`` is, under its name.

    Raises FenceStaysError, MovedWaveError, GoesByError, InvalidMigrationError, NoMigrationError, StoreError.
    """
    found = await known(stored, wanted.name)
    before_all = found.migration
    for name, stands in standings(before_all, found.runs).items():
        before, after = stands.wave, wanted.wave(name)
        gone = [fence for fence in asked_of(before) if after is not None and not fence.is_asked(after)]
        if gone and _is_fenced(stands):
            raise FenceStaysError(wanted.name, name, gone[0].called)
        if stands.state is WaveState.PLANNED and stands.open is None:
            continue
        same_clusters = (before_all.source, before_all.target, before_all.copy) == (
            wanted.source,
            wanted.target,
            wanted.copy,
        )
        if after is None or before.topics != after.topics or before.order is not after.order or not same_clusters:
            raise MovedWaveError(wanted.name, name, stands.state.value)
        _check_under_way(wanted, stands, after)
    check_sound(wanted)
    fields = migration_fields(wanted)
    hash_ = plan_hash(found.kept.revision, fields)
    return SetPlan(wanted.name, found.kept.document, fields, hash_, found.kept, len(found.runs))


async def apply(stored: StoredMigrations, planned: SetPlan) -> ChangedMigration:
    """Keep it over the revision that the plan has seen, and only where no run has begun since: no more it rests on.

    The race: what begins meanwhile was planned by the file of before.  Raises MigrationChangedError, StoreError.
    """
    changed = replace(planned.kept, document=planned.after)
    await asyncio.to_thread(stored.change, changed, planned.seen)
    return ChangedMigration(planned.migration)


def _is_fenced(stands: WaveStanding) -> bool:
    """Whether something may be denied where applications of a wave were, or are: it was switched, or was to be."""
    was_led = bool(stands.leg.number or stands.switched)
    return was_led or stands.left is not None or stands.remains is not None


def _check_under_way(wanted: Migration, stands: WaveStanding, after: Wave) -> None:
    """Raise GoesByError where a run has steps for what would be there no more; a start hears of none of it."""
    run, before = stands.open, stands.wave
    if run is None or run.what in (WaveVerb.START.value, WaveVerb.VERIFY.value):
        return
    for what in ("fences", "readers", "principals", "groups", "jobs"):
        if getattr(before, what) != getattr(after, what):
            raise GoesByError(wanted.name, before.name, run.what, what)
