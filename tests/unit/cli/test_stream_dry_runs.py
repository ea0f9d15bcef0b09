"""``stream start|restart|checkpoint``: what nothing takes back is shown, and done with ``--execute`` alone."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from typer.testing import CliRunner

from anabranch.cli.app import app
from anabranch.cli.service_client import ServiceClient
from anabranch.errors import InvalidFieldError
from anabranch.model.plans import PlanChangedError

pytestmark = pytest.mark.unit

HASH = "0123456789ab"
STREAM = {"stream": {"kind": "sql", "state": "running", "wanted": "running", "why": ""}, "runs": [{"fence": 2}]}
RUN_PLAN = dict.fromkeys(("target", "start", "checkpoint"), "") | {
    "verb": "start",
    "stream": "pv",
    "state": "stopped",
    "version": 3,
    "choice": "refuse",
    "back": [],
}
CHECKPOINT_PLAN = {"verb": "delete", "name": "friday", "stream": "pv", "version": 3, "queries": []}
NOT_TAKEN_BACK = [
    *(
        (verb, *words)
        for verb in ("start", "restart")
        for words in (("--new-state",), ("--keep-state",), ("--from", "earliest"), ("--from-checkpoint", "friday"))
    ),
    ("checkpoint", "--delete", "friday"),
]


@dataclass
class PlanningService:
    """A service whose plans have one hash, and what it was asked to apply."""

    applied: list[str] = field(default_factory=list)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """A plan, or its operation, which is done."""
        if path.endswith("/apply"):
            self.applied.append(body["hash"])
            report = {"stream": "pv", "target": "", "version": 3, "wanted": "running", "verb": "x", "name": "friday"}
            return {"id": "w", "state": "done", "report": report}
        return {"id": "p", "hash": HASH, "plan": CHECKPOINT_PLAN if "checkpoint" in path else RUN_PLAN}


@pytest.fixture
def planning(monkeypatch: pytest.MonkeyPatch) -> PlanningService:
    """In place of the service."""
    made = PlanningService()
    monkeypatch.setattr(ServiceClient, "post", lambda _, path, body: made.post(path, body))
    monkeypatch.setattr(ServiceClient, "get", lambda _, *__, **___: STREAM)
    monkeypatch.setenv("ANABRANCH_TOKEN", "anb_token")
    return made


def typed(monkeypatch: pytest.MonkeyPatch, *words: str) -> Any:
    """A verb of a stream, as a shell has it."""
    line = ["stream", words[0], "pv", *words[1:]]
    line += [] if words[0] == "checkpoint" else ["--wait", "0"]
    monkeypatch.setattr(sys, "argv", ["anabranch", *line])
    return CliRunner().invoke(app, line)


@pytest.mark.parametrize("words", NOT_TAKEN_BACK, ids=" ".join)
def test_what_nothing_takes_back_is_shown_first(
    words: tuple[str, ...], planning: PlanningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that was said applies that plan; a plan of another hash is not applied."""
    shown = typed(monkeypatch, *words)
    assert (shown.exit_code, planning.applied) == (0, []), shown.output
    (said,) = [line for line in shown.stderr.splitlines() if line.startswith("Dry run. Apply with: anabranch stream ")]
    assert said.endswith(f" --execute --plan {HASH}") and all(word in said for word in words)
    other = typed(monkeypatch, *words, "--execute", "--plan", "ba9876543210")
    assert isinstance(other.exception, PlanChangedError) and planning.applied == []
    assert isinstance(typed(monkeypatch, *words, "--plan", HASH).exception, InvalidFieldError)
    done = typed(monkeypatch, *words, "--execute", "--plan", HASH)
    assert (done.exit_code, planning.applied) == (0, [HASH]), done.output


@pytest.mark.parametrize(
    "words", [("start",), ("stop",), ("restart",), ("checkpoint", "--save", "friday")], ids=" ".join
)
def test_what_the_same_verbs_undo_is_done_at_once(
    words: tuple[str, ...], planning: PlanningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start that goes on where it was, and a checkpoint that is saved."""
    done = typed(monkeypatch, *words)
    assert (done.exit_code, planning.applied) == (0, [HASH]), done.output
    assert "Dry run" not in done.output


def test_nothing_is_applied_where_checkpoints_are_listed(
    planning: PlanningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--execute`` without what it would apply is a slip."""
    assert isinstance(typed(monkeypatch, "checkpoint", "--execute").exception, InvalidFieldError)
    assert planning.applied == []
