"""Hooks of the operator's, as the service runs them: what they are told, and how they may fail."""

from __future__ import annotations

import asyncio
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from anabranch.migration.legs import Leg
from anabranch.migration.spec import Migration, Wave
from anabranch.service.migration_desk import HookFailedError, ServiceMigrationDesk, UnknownHookError

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
    with pytest.raises(HookFailedError, match="hook 'stop' ended with 3") as failed:
        hook("stop", stop=(sys.executable, "-c", "raise SystemExit(3)"))
    assert pickle.loads(pickle.dumps(failed.value)).message == failed.value.message
    with pytest.raises(HookFailedError, match="hook 'stop' cannot be started: No such file"):
        hook("stop", stop=("/nowhere/stop",))
    with pytest.raises(UnknownHookError, match="the service has no hook 'start'") as unknown:
        hook("start", stop=(sys.executable, "-c", ""))
    assert "hooks" in unknown.value.hint
