"""The order of the suite: what is quick and pure first, what kills processes last; but see ``_LONGEST``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

_ORDER = ("unit", "contract", "integration", "fault")
_LONGEST = (
    "tests/fault/test_faults.py",
    "tests/integration/verify/test_verbs.py",
    "tests/integration/checkpoints/test_spark_moves.py",
    "tests/fault/test_moves.py",
    "tests/integration/rebuild/test_killed_mirror.py",
)
"""Files of minutes, begun before the other slow ones: at the end one worker would be alone with them."""

# That of the cluster, among a test's parameters.
_VERSION = re.compile(r"\[(?:.*-)?(\d+\.\d+\.\d+)[-\]]")

# How long an example takes is this machine's business, and no test's.
settings.register_profile("anabranch", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("anabranch")


@pytest.fixture(scope="module")
def patient_connections() -> Iterator[None]:
    """Connections of this process may take a minute to open: on a machine that stands still a broker is no dead one."""
    from anabranch.kafka import connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "OPEN_S", 60.0)
        yield


def _rank(item: pytest.Item) -> int:
    return max((_ORDER.index(mark.name) for mark in item.iter_markers() if mark.name in _ORDER), default=-1)


def _place(item: pytest.Item) -> tuple[int, int]:
    """The long files between the pure tests and all others, in their own order."""
    file, rank = item.nodeid.partition("::")[0], _rank(item)
    return (_ORDER.index("contract"), _LONGEST.index(file) - len(_LONGEST)) if file in _LONGEST else (rank, 0)


def _group(nodeid: str) -> str:
    """What one worker runs in a row: the facts about one Kafka version, whose cluster they share, or a file."""
    file, _, name = nodeid.partition("::")
    version = _VERSION.search(name) if file.startswith("tests/contract/") else None
    return f"contract-{version[1]}" if version else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Workers of ``-n`` get groups: see ``_group``.  With pytest 9.2 its marks for groups do nothing (xdist 3.8)."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid)

    return Groups(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by marker; a test without one is a mistake, since nobody could choose it."""
    unmarked = sorted({item.nodeid.partition("::")[0] for item in items if _rank(item) < 0})
    if unmarked:
        raise pytest.UsageError(f"no marker of {', '.join(_ORDER)} in: {', '.join(unmarked)}")
    items.sort(key=_place)
