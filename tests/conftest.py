"""The tiers of the suite, their order, what is tried a second time, and which seeds are new.

``unit`` needs no process and no network; ``test`` has real clusters of the newest and the oldest version, fixed seeds
and short faults; ``full`` has the rest: every version, long faults, planted bugs, soaks, new seeds.  The marker nearest
to a test tells its tier.  ``--tier test`` runs what CI runs, ``--tier full`` everything, ``--only-tier`` one alone.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from qa.timeouts import SCALE
from tests.again import may_be_tried_again
from tests.alone import alone
from tests.chance import ARE_NEW, NUMBER, is_full
from tests.groups import group

TIERS = ("unit", "test", "full")
_LONGEST = (
    "tests/integration/sdk/test_callbacks.py",
    "tests/integration/links/test_changes.py",
    "tests/integration/streams/test_changed_state.py",
    "tests/integration/verify/test_planted.py",
    "tests/integration/web/test_web.py",
    "tests/fault/test_faults.py",
    "tests/integration/checkpoints/test_spark_moves.py",
    "tests/fault/test_moves.py",
    "tests/integration/rebuild/test_planted.py",
)
"""Files of minutes, some with others of their group, begun before the other slow ones: at the end one worker would be
alone with them."""

_MEMORY = Path("/dev/shm")
"""Where the files of the unit tier are, if the machine has it: a disk that is waited for proves nothing there."""

_TIER = pytest.StashKey[str]()

# A run that is begun in the background ignores these, and so would every program that a test ends by them.
for _number, _usual in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)

# Most objects of a run are what was collected: looking through all of them again and again took a tenth of it.
gc.set_threshold(1_000, 20, 1_000)

# How long an example takes is this machine's business, and no test's.
_SETTINGS: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fixed", max_examples=20, derandomize=True, database=None, **_SETTINGS)
settings.register_profile("new", max_examples=150, print_blob=True, **_SETTINGS)
settings.load_profile("new" if ARE_NEW else "fixed")


@pytest.fixture(scope="module")
def patient_connections() -> Iterator[None]:
    """Connections of this process may take a minute to open: on a machine that stands still a broker is no dead one."""
    from anabranch.kafka import connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "OPEN_S", 60.0)
        yield


# -- tiers ---------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which tiers."""
    parser.addoption("--tier", choices=TIERS, default="full", help="this tier and those below it (default: all)")
    parser.addoption("--only-tier", choices=TIERS, help="this tier alone")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """The seed of laws; JVMs of Spark start by an archive of their classes, if ``make jars`` has made one, and compile
    little.
    """
    if NUMBER is not None and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(NUMBER)
    if config.getoption("--tier") == "unit" or config.getoption("--only-tier") == "unit":
        if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK):
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
        return
    from qa.shared_classes import spark_options

    os.environ.setdefault("SPARK_SUBMIT_OPTS", f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 {spark_options()}")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The unit tier does without the files of the others, which take long to be read."""
    if config.getoption("--tier") != "unit" or collection_path.parent != Path(__file__).parent:
        return None
    return True if collection_path.name in {"contract", "integration", "fault"} else None


def _tier(item: pytest.Item) -> str:
    """What the marker says that is nearest to the test."""
    return next((mark.name for mark in item.iter_markers() if mark.name in TIERS), "")


def _place(item: pytest.Item) -> tuple[int, int]:
    """The pure tests first, then the long files, in their own order."""
    file, tier = item.nodeid.partition("::")[0], TIERS.index(item.stash[_TIER])
    if tier == 0:
        return (0, 0)
    return (1, _LONGEST.index(file) - len(_LONGEST) if file in _LONGEST else 0)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose by tier, and sort; a test without a tier is a mistake, since nobody could choose it."""
    unmarked = sorted({item.nodeid.partition("::")[0] for item in items if not _tier(item)})
    if unmarked:
        raise pytest.UsageError(f"no marker of {', '.join(TIERS)} in: {', '.join(unmarked)}")
    only = config.getoption("--only-tier")
    wanted = {only} if only else set(TIERS[: TIERS.index(config.getoption("--tier")) + 1])
    left = []
    for item in items:
        item.stash[_TIER] = _tier(item)
        mark = item.get_closest_marker("timeout")
        limit = mark.args[0] if mark else float(config.getini("timeout"))
        item.add_marker(pytest.mark.timeout(limit * SCALE), append=False)
        if item.stash[_TIER] not in wanted:
            left.append(item)
        elif item.stash[_TIER] == "unit":
            # Elsewhere something that a killed process leaves behind may say so: no fault of the product.
            item.add_marker(pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning"), append=False)
        elif may_be_tried_again(item.nodeid, is_real=is_full(config) or item.get_closest_marker("real") is not None):
            item.add_marker(pytest.mark.flaky(reruns=1))
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item.stash[_TIER] in wanted]
    items.sort(key=_place)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: looking through it at each collection of garbage is for nothing."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A unit test, its fixtures too, is alone."""
    with alone() if item.stash[_TIER] == "unit" else nullcontext():
        yield


# -- workers -------------------------------------------------------------------------------------------


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Workers of ``-n`` get groups (``tests/groups.py``).  With pytest 9.2 marks for groups do nothing (xdist 3.8)."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return Groups(config, log)


# -- what is told at the end ---------------------------------------------------------------------------


def _why(report: Any) -> str:
    """What a test that is tried again failed at: nothing else tells it."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return " ".join(str(report.longrepr).split())[-200:]
    return f"{Path(crash.path).name}:{crash.lineno}: {' '.join(crash.message.split())[:200]}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name what failed once and passed then, and what the machine did not let come about."""
    flaky = sorted({f"{report.nodeid}: {_why(report)}" for report in terminalreporter.stats.get("rerun", ())})
    open_still = sorted(
        f"{report.nodeid}: {report.longrepr[2]}"
        for report in terminalreporter.stats.get("skipped", ())
        if isinstance(report.longrepr, tuple) and "INCONCLUSIVE" in report.longrepr[2]
    )
    for name in flaky:
        terminalreporter.write_line(f"FLAKY {name}")
    for name in open_still:
        terminalreporter.write_line(f"INCONCLUSIVE {name}")
    terminalreporter.write_line(f"{len(flaky)} flaky, {len(open_still)} inconclusive")
    if NUMBER is not None:
        terminalreporter.write_line(f"the seeds of this run again: ANABRANCH_SEEDS={NUMBER}")
    where = os.environ.get("ANABRANCH_OUTCOME")
    if where:
        with open(where, "w", encoding="utf-8") as file:
            file.writelines(f"FLAKY {name}\n" for name in flaky)
            file.writelines(f"INCONCLUSIVE {name}\n" for name in open_still)
