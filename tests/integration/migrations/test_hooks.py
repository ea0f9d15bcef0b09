"""Hooks of the operator's, as the service runs them: what they are told, and how they may fail."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from anabranch.migration.legs import Leg
from anabranch.migration.spec import Migration, Wave
from anabranch.service.hooks import HookFailedError, run_hook
from anabranch.service.migration_desk import ServiceMigrationDesk, UnknownHookError

pytestmark = pytest.mark.test

WAVE = Wave("clicks", ("clicks",))
LEG = Leg(Migration("move", "old", "new", (WAVE,)), WAVE, 1)
TELL = "import os, sys; open(sys.argv[1], 'w').write(' '.join(f'{k}={v}' for k, v in sorted(os.environ.items())))"


def hook(name: str, **hooks: tuple[str, ...]) -> None:
    """Run one of these."""
    nobody: Any = None  # what starts jobs and leads applications is not asked
    asyncio.run(ServiceMigrationDesk(nobody, nobody, hooks).hook(name, LEG, "new"))


def test_a_hook_is_told_where_applications_are_to_be_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the service's environment it has what a program needs to run."""
    monkeypatch.setenv("ANABRANCH_TOKEN", "secret")
    monkeypatch.setenv("KAFKA_PASSWORD", "secret")
    hook("stop", stop=(sys.executable, "-c", TELL, f"{tmp_path}/told"))
    told = (tmp_path / "told").read_text()
    wanted = ("ANABRANCH_AT=new", "ANABRANCH_FROM=new", "ANABRANCH_MIGRATION=move", "ANABRANCH_TO=old")
    assert all(word in told.split(" ") for word in (*wanted, "ANABRANCH_WAVE=clicks"))
    assert "secret" not in told and "PATH=" in told


def test_a_hook_that_does_not_end_well_says_how() -> None:
    """One that fails, one that cannot be started, and one that the service's file does not have."""
    with pytest.raises(
        HookFailedError, match="hook 'stop' ended with 3: what it wrote is in the service's log"
    ) as failed:
        hook("stop", stop=(sys.executable, "-c", "raise SystemExit(3)"))
    assert pickle.loads(pickle.dumps(failed.value)).message == failed.value.message
    with pytest.raises(HookFailedError, match="hook 'stop' cannot be started: No such file"):
        hook("stop", stop=("/nowhere/stop",))
    with pytest.raises(UnknownHookError, match="the service has no hook 'start'") as unknown:
        hook("start", stop=(sys.executable, "-c", ""))
    assert "hooks" in unknown.value.hint


SLEEPS = """
import pathlib, signal, subprocess, sys, time
if sys.argv[2] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[1]).write_text(f"{child.pid}\\n")
time.sleep(600)
"""


def lives(process: int) -> bool:
    """Whether it runs; one that ended may be there until whoever adopted it has noticed."""
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    ("kind", "grace_s", "how"),
    [
        ("hears", 60.0, "hook 'stop' was ended by SIGTERM: mei: not tonight"),
        ("deaf", 0.5, "hook 'stop' did not end within 0.5 s of SIGTERM, and was ended by SIGKILL: mei: not tonight"),
    ],
)
def test_a_hook_that_is_given_up_ends_with_all_that_it_has_started(
    tmp_path: Path, kind: str, grace_s: float, how: str
) -> None:
    """It has a grace period to put things in order; one that ignores that is killed, and what was started ends, too."""
    told = tmp_path / "child"

    async def unwanted() -> str:
        return "mei: not tonight" if told.exists() and told.read_text().endswith("\n") else ""

    with pytest.raises(HookFailedError) as failed:
        asyncio.run(run_hook("stop", (sys.executable, "-c", SLEEPS, str(told), kind), {}, unwanted, grace_s))
    assert failed.value.message == how
    while lives(int(told.read_text())):
        time.sleep(0.05)


def test_a_hook_that_has_ended_well_leaves_what_it_has_started_alone(tmp_path: Path) -> None:
    """A release may start applications."""
    starts = (
        "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], "
        "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); open(sys.argv[1], 'w').write(str(child.pid))"
    )
    hook("start", start=(sys.executable, "-c", starts, f"{tmp_path}/child"))
    child = int((tmp_path / "child").read_text())
    assert lives(child)
    os.kill(child, signal.SIGKILL)
