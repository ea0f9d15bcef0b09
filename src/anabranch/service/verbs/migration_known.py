"""What the verbs of migrations look at: a migration of the store with its runs, and how a run ends."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.config.migration_file import migration_fields
from anabranch.config.yaml_file import yaml_text
from anabranch.kafka.cluster import Cluster
from anabranch.migration.kept import StoredRun
from anabranch.migration.lost import doubts_of
from anabranch.migration.pause import pause_of, topic_pauses
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import Migration
from anabranch.migration.standing import WaveVerb
from anabranch.model.clock import now_ms
from anabranch.operations.migrations.known import KnownMigration, known
from anabranch.service.migrating import clusters_of
from anabranch.service.reach import Reach
from anabranch.service.verbs.migration_shapes import (
    FileRequest,
    TakenBackError,
    WaveRunReport,
)

FILE = "migration.yaml"


async def read_migration(reach: Reach, name: str) -> KnownMigration:
    """Raises NoMigrationError, StoreError."""
    return await known(reach.migrating.stored.migrations, name)


def both_clusters(reach: Reach, migration: Migration) -> tuple[Cluster, Cluster]:
    """Its source and its target."""
    return clusters_of(reach.clusters, migration)


async def until_ended(reach: Reach, run: WaveRun) -> WaveRunReport:
    """Wait for a run's end, which does not depend on it; raises TakenBackError."""

    async def tell(kept: StoredRun) -> None:
        at = kept.journal["at"]
        steps = kept.journal["steps"]
        told = {"stage": steps[at][2] if at < len(steps) else kept.state, "wave": run.wave, "run": run.id}
        await reach.tell({**told, **({"waits": kept.waits} if kept.waits else {})})

    found = await reach.until_ending(reach.migrating.ended(run.id, tell))
    if found is not None and found.state is WaveRunState.CANCELLED:
        raise TakenBackError(run.migration, run.wave, run.what, found.why)
    pause = None if found is None else pause_of(found)
    length = None if pause is None else pause.length_ms(now_ms())
    state = WaveRunState.GOING if found is None else found.state
    doubts = () if found is None else doubts_of(found.results)
    pauses = {} if found is None else topic_pauses(found)
    return WaveRunReport(run.migration, run.wave, WaveVerb(run.what), run.id, state.value, length, doubts, pauses)


def opened(reach: Reach, request: FileRequest) -> Migration:
    """The migration of a request, whose checkpoints are where the service may read and write.

    Raises InvalidFieldError, PathNotOpenError.
    """
    wanted = request.wanted()
    for wave in wanted.waves:
        for job in wave.jobs:
            for place in (job.checkpoint, job.moved):
                if place:
                    reach.place(place)
    return wanted


def files(request: FileRequest) -> Mapping[str, str]:
    """The file that a command for the same would read."""
    return {FILE: yaml_text(migration_fields(request.wanted()))}


def file_subject(request: FileRequest) -> str:
    """What a request with a file is about."""
    return f"migration {request.migration.name}"
