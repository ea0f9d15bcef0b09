"""Plans of what is changed of a migration, by the operations themselves: they hold for what they have seen alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.config.migration_file import migration_fields
from anabranch.migration.kept import MigrationChangedError
from anabranch.migration.spec import Limits, Migration, Wave
from anabranch.operations.migrations import change, hold, release
from anabranch.operations.migrations.known import NoWaveError
from anabranch.service.stored import Stored

pytestmark = pytest.mark.unit

MOVE = Migration("move", "old", "new", (Wave("orders", ("orders",)), Wave("shops", ("shops",))))


async def test_a_hold_is_of_all_or_of_a_wave_until_that_is_released(stored: Stored) -> None:
    """Each by itself; a wave that is not there is refused."""
    kept = stored.migrations
    kept.add("move", migration_fields(MOVE), "mei", 0)
    await hold.apply(kept, await hold.plan(kept, "move", "freeze"))
    await hold.apply(kept, await hold.plan(kept, "move", "audit", wave="shops"))
    assert kept.get("move").holds == {"": "freeze", "shops": "audit"}
    freed = await release.plan(kept, "move")
    assert (freed.before, freed.after) == ({"": "freeze", "shops": "audit"}, {"shops": "audit"})
    await release.apply(kept, freed)
    assert kept.get("move").holds == {"shops": "audit"}
    with pytest.raises(NoWaveError, match="migration 'move' has no wave 'none'"):
        await release.plan(kept, "move", wave="none")


async def test_a_hold_and_a_file_of_before_another_change_are_refused(stored: Stored) -> None:
    """They are kept over the revision that their plans have seen, or not at all."""
    kept = stored.migrations
    kept.add("move", migration_fields(MOVE), "mei", 0)
    held, freed = await hold.plan(kept, "move", "freeze"), await release.plan(kept, "move")
    filed = await change.plan(kept, replace(MOVE, limits=Limits(2_000)))
    await change.apply(kept, await change.plan(kept, replace(MOVE, limits=Limits(1_000))))
    for late in (hold.apply(kept, held), release.apply(kept, freed), change.apply(kept, filed)):
        with pytest.raises(MigrationChangedError):
            await late
    now = kept.get("move")
    assert (now.document, now.holds) == (migration_fields(replace(MOVE, limits=Limits(1_000))), {})
