"""Directories that trials of a killed service have left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from anabranch.service.trial_process import directory_of, remove_left
from anabranch.streams.trials import ScriptProblem, TrialKind, TrialQuestion

pytestmark = pytest.mark.unit


@pytest.mark.test
def test_only_directories_of_dead_services_are_removed(tmp_path: Path) -> None:
    """Another service of the same user may have trials in the same place."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    own, left = directory_of(tmp_path, "a" * 32), tmp_path / "trials" / f"{gone.pid}-{'b' * 32}"
    for one in (own, left):
        (one / "tmp").mkdir(parents=True)
    remove_left(tmp_path)
    assert own.exists() and not left.exists()


def test_what_a_validation_answers_depends_on_no_name() -> None:
    """So that what was validated is saved at once; a preview is of a stream and its version."""
    validations = [TrialQuestion(TrialKind.VALIDATION, "SELECT 1", name, 2) for name in ("", "pv")]
    assert validations[0].key == validations[1].key
    previews = [TrialQuestion(TrialKind.PREVIEW, "SELECT 1", "pv", number) for number in (1, 2)]
    assert previews[0].key != previews[1].key
    assert [one.subject for one in (*validations, previews[0])] == [
        "a script",
        "stream pv version 2",
        "stream pv version 1",
    ]


def test_a_problem_without_a_statement_is_not_of_the_script() -> None:
    """An error at the script as a whole has the statement 0, and no line."""
    found = ScriptProblem.of({"error": "it is empty", "statement": 0, "line": 0, "exit_code": 2})
    assert (found.is_of_script, found.line) == (True, None)
    assert not ScriptProblem.of({"error": "Spark is gone", "exit_code": 5}).is_of_script
