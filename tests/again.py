"""What is tried a second time: only what waits for real processes, which a busy machine may hold up.

Elsewhere a failure is the product's or the test's, and nothing is tried again: where all is of this process, and where
the clusters are simulated.  A file that is new is taken for one with processes, unless it is named here.
"""

from __future__ import annotations

ALONE = (
    "tests/model/",
    "tests/simulation/",
    "tests/unit/",
    "tests/fault/test_schedule.py",
    "tests/integration/service/test_fuzz_accounts.py",
    "tests/integration/service/test_store_full.py",
    "tests/packaging/test_demo_proof.py",
)
"""Nothing here waits for another process."""

SIMULATED = (
    "tests/integration/links/test_changes.py",
    "tests/integration/links/test_checkpoint_advice.py",
    "tests/integration/links/test_copying.py",
    "tests/integration/links/test_decisions.py",
    "tests/integration/links/test_gaps.py",
    "tests/integration/links/test_groups.py",
    "tests/integration/links/test_groups_followed.py",
    "tests/integration/links/test_groups_guarded.py",
    "tests/integration/links/test_identity_lanes.py",
    "tests/integration/links/test_many.py",
    "tests/integration/links/test_maps.py",
    "tests/integration/links/test_permissions.py",
    "tests/integration/links/test_quotas.py",
    "tests/integration/links/test_recovery.py",
    "tests/integration/links/test_starts.py",
    "tests/integration/links/test_stops.py",
    "tests/integration/links/test_strangers.py",
    "tests/integration/links/test_way_back.py",
    "tests/integration/migrations/test_access.py",
    "tests/integration/migrations/test_cancelled.py",
    "tests/integration/migrations/test_denied_readers.py",
    "tests/integration/migrations/test_jobs_led_back.py",
    "tests/integration/migrations/test_lost_way_back_points.py",
    "tests/integration/migrations/test_migrate_cli.py",
    "tests/integration/migrations/test_migration_jobs.py",
    "tests/integration/migrations/test_never_empty.py",
    "tests/integration/migrations/test_rehearsed_checkpoints.py",
    "tests/integration/migrations/test_source_lost.py",
    "tests/integration/migrations/test_target_lost.py",
)
"""Links and engines of this process on clusters that are simulated, unless everything is asked for."""

STORE = "tests/integration/store/"
"""On a file of this process, and on a server."""


def parameters_of(nodeid: str) -> set[str]:
    """The parts of a test's parameters as its name has them."""
    _, _, found = nodeid.partition("[")
    return set(found.rstrip("]").split("-")) if found else set()


def may_be_tried_again(nodeid: str, *, is_real: bool) -> bool:
    """Whether a test waits for real processes.

    ``is_real``: everything is asked for, or the test is marked so; then clusters are brokers' processes, but where a
    test's parameters say that it is about simulated ones.
    """
    parameters = parameters_of(nodeid)
    if nodeid.startswith(ALONE) or "simulated" in parameters:
        return False
    if nodeid.startswith(STORE):
        return "sqlite" not in parameters
    return is_real or not nodeid.startswith(SIMULATED)
