"""Where groups go on without the cluster that they have read on, by what the other one has of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from anabranch.groups.undo import UndoRecord
from anabranch.kafka.cluster import Cluster
from anabranch.migration.options import UnknownGroups
from anabranch.model.groups import Commit
from anabranch.operations.groups import sync
from anabranch.operations.migrations import lost_groups
from anabranch.operations.migrations.desk import Scene
from anabranch.operations.migrations.engine import NotYetError
from anabranch.operations.migrations.lost_groups import UnknownGroupError
from anabranch.state.topics.positions import Positions
from tests.unit.link_lab import LINK, TO_A, Lab, lab
from tests.unit.migration_lab import scene_done

pytestmark = pytest.mark.unit
MOVED = UndoRecord("u", "shop", True, {TO_A: None}, {TO_A: Commit(4)}, 1_000, sync.what(LINK))


@pytest.fixture
def both() -> Iterator[Lab]:
    """The clusters; the group has committed on the target, of one of two partitions."""
    with lab() as made:
        made.commit(made.target, "shop", {TO_A: Commit(4)})
        yield made


async def staged(scene: Scene) -> Any:
    """Where the wave's groups go on, of which no member hands anything over."""

    async def handed(*_: object) -> dict[str, Any]:
        return {}

    desk: Any = SimpleNamespace(handed=handed)
    return await lost_groups.stage_lost_groups(replace(scene, desk=desk))


def test_a_group_is_known_in_all_partitions_where_it_was_moved_and_that_still_holds(both: Lab) -> None:
    """What it had committed came with it; of a move that was taken back nothing is known."""
    refuse = UnknownGroups.REFUSE.value

    async def record(cluster: Cluster, undone: int | None) -> None:
        await Positions(cluster).put_undo([replace(MOVED, undone_at_ms=undone)])

    with pytest.raises(UnknownGroupError, match="how far group shop had read is not known without old"):
        scene_done(both, staged, subject=refuse)
    both.on(both.target, lambda cluster: record(cluster, None))
    found = scene_done(both, staged, subject=refuse)
    (doubt,) = found["doubts"]
    assert "goes on at what new has of it in 1 partition, as of 1970-01-01" in doubt
    both.on(both.target, lambda cluster: record(cluster, 2_000))
    with pytest.raises(UnknownGroupError):
        scene_done(both, staged, subject=refuse)


def test_a_group_that_reads_on_the_other_cluster_is_waited_for(both: Lab) -> None:
    """What was chosen for it would be committed over what it reads there."""
    latest = UnknownGroups.LATEST.value
    with both.reader(both.there, "shop"), pytest.raises(NotYetError, match="group shop has members on new"):
        scene_done(both, staged, subject=latest)
    found = scene_done(both, staged, subject=latest)
    assert found["groups"] == {"shop": {"old.orders-1": [15, ""]}}
