"""Verbs of migrations whose end the service did not wait for: their exit code says that they go on."""

from __future__ import annotations

from typing import Any, cast

import pytest

from anabranch.cli.migrations import asking
from anabranch.cli.migrations.asking import GoesOnError
from anabranch.cli.output import Format
from anabranch.cli.service_client import ServiceClient
from anabranch.migration.run import WaveRunState

pytestmark = pytest.mark.unit
PLAN = {"id": "p", "hash": "5f0c", "plan": {"waves": [], "reasons": []}}


class Ended:
    """A service that has carried out what it was asked for, with this report."""

    def __init__(self, report: dict[str, Any]) -> None:
        self._report = report

    def post(self, path: str, _: object) -> Any:
        """A plan, or its operation."""
        return PLAN if path.endswith("/plan") else {"id": "w", "state": "done", "report": self._report}


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
