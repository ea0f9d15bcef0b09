"""Exit codes of verbs of migrations: where the service did not wait for the end, and where reasons forbid a plan."""

from __future__ import annotations

from typing import Any, cast

import pytest

from anabranch.cli.migrations import asking
from anabranch.cli.migrations.asking import ForbiddenMigrationError, GoesOnError
from anabranch.cli.output import Format
from anabranch.cli.service_client import ServiceClient
from anabranch.migration.run import WaveRunState

pytestmark = pytest.mark.unit
PLAN = {"id": "p", "hash": "5f0c", "plan": {"waves": [], "reasons": []}}


class Ended:
    """A service that has carried out what it was asked for, with this report."""

    def __init__(self, report: dict[str, Any], plan: dict[str, Any] | None = None) -> None:
        self._report = report
        self._plan = plan or PLAN

    def post(self, path: str, _: object) -> Any:
        """A plan, or its operation."""
        return self._plan if path.endswith("/plan") else {"id": "w", "state": "done", "report": self._report}


def switched(report: dict[str, Any]) -> None:
    """Switch a wave by a service that reports this."""
    asking.change(
        cast(ServiceClient, Ended(report)),
        "switch",
        {"migration": "move"},
        "anabranch migrate switch move",
        "wave orders",
        lambda plan: plan.hash,
        lambda done: str(done.get("state")),
        execute=True,
        wanted=None,
        output=Format.JSON,
    )


@pytest.mark.parametrize("several", [False, True])
def test_a_service_that_ended_in_the_middle_is_no_success(several: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """A script that goes on would take the wave for switched; of several runs one is enough."""
    done, going = ({"migration": "move", "state": one.value} for one in (WaveRunState.DONE, WaveRunState.GOING))
    switched({"runs": [done, done]} if several else done)
    assert '"done"' in capsys.readouterr().out
    with pytest.raises(GoesOnError) as error:
        switched({"runs": [done, going]} if several else going)
    assert capsys.readouterr().out == ""
    assert error.value.exit_code == 4
    assert error.value.message == "wave orders: it goes on once the service is back, which ended meanwhile"
    assert error.value.hint == "see how it ends: `anabranch migrate show move --wait`"


ERROR, WARNING = ({"severity": one, "what": "because", "fix": ""} for one in ("error", "warning"))


@pytest.mark.parametrize(
    ("reasons", "of_waves", "found"),
    [
        ([ERROR], [], "1 reason is"),
        ([WARNING], [[WARNING], [ERROR]], "1 reason is"),
        ([ERROR], [[ERROR], [WARNING, ERROR]], "3 reasons are"),
        ([WARNING], [[WARNING]], ""),
    ],
)
def test_a_plan_that_reasons_forbid_is_no_success(
    reasons: list[dict[str, str]], of_waves: list[list[dict[str, str]]], found: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of one wave forbid all of it; the plan is shown before."""
    waves = [{"name": "orders", "reasons": one} for one in of_waves]
    service = Ended({}, {"id": "p", "hash": "5f0c", "plan": {"waves": waves, "reasons": reasons}})

    def plan() -> None:
        asking.change(
            cast(ServiceClient, service),
            "start",
            {"migration": "move"},
            "anabranch migrate start move",
            "migration move",
            lambda made: made.hash,
            str,
            execute=False,
            wanted=None,
            output=Format.JSON,
        )

    if not found:
        plan()
    else:
        with pytest.raises(ForbiddenMigrationError) as error:
            plan()
        assert error.value.message == f"migration move: {found} against it"
        assert error.value.exit_code == 3
    told = capsys.readouterr()
    assert '"5f0c"' in told.out
    assert ("Apply with" in told.err) is not bool(found), "no command applies what is forbidden"
