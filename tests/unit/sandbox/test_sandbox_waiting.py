"""``sandbox up`` returns only with a cluster that is up, however its supervisor ends."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.errors import AnabranchError
from anabranch.sandbox import background
from anabranch.sandbox.spec import ClusterSpec
from anabranch.sandbox.state import Home, starting

pytestmark = pytest.mark.unit

STARTING = starting(ClusterSpec("old"), None)
UP = dataclasses.replace(STARTING, phase="up")
FAILED = dataclasses.replace(STARTING, phase="failed", error="no java", hint="install it")


def supervisor(code: int | None) -> Any:
    """A process that ended with a code, or runs."""
    return cast(Any, SimpleNamespace(poll=lambda: code, returncode=code))


@pytest.mark.parametrize("code", [None, 0, 1, 2, -9, -15])
def test_a_cluster_that_failed_is_an_error_whether_or_not_its_supervisor_has_ended(
    tmp_path: Path, code: int | None
) -> None:
    """What the supervisor wrote is what the person reads."""
    Home(tmp_path).write(FAILED)
    with pytest.raises(AnabranchError, match="no java") as raised:
        background._wait(Home(tmp_path), "old", supervisor(code))
    assert raised.value.exit_code > 1


@pytest.mark.parametrize("code", [0, 1, 2, -9, -15])
@pytest.mark.parametrize("said", [True, False])
def test_a_supervisor_that_ended_before_its_cluster_was_up_is_an_error(tmp_path: Path, code: int, said: bool) -> None:
    """Also where it exits with 0, and where it died before its first word."""
    if said:
        Home(tmp_path).write(STARTING)
    with pytest.raises(AnabranchError, match=f"exited with {code}") as raised:
        background._wait(Home(tmp_path), "old", supervisor(code))
    assert raised.value.exit_code > 1


def test_a_cluster_that_is_up_is_returned(tmp_path: Path) -> None:
    """The one way to an exit code of 0."""
    Home(tmp_path).write(UP)
    assert background._wait(Home(tmp_path), "old", supervisor(None)).phase == "up"
