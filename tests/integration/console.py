"""The console script in this process, as a test calls it."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from anabranch.cli.main import main

Run = Callable[..., tuple[int, str, str]]


def console(
    contexts: Mapping[str, Any],
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    capture: pytest.CaptureFixture[str],
    *verb: str,
) -> Run:
    """``anabranch`` with these contexts and the given first words: (exit code, standard output, standard error)."""
    file = directory / "contexts.yaml"
    file.write_text(yaml.safe_dump({"contexts": json.loads(json.dumps(contexts))}))
    file.chmod(0o600)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["anabranch", "--contexts", str(file), *verb, *arguments])
        capture.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capture.readouterr()
        code = ended.value.code
        return (code if isinstance(code, int) else 0), captured.out, captured.err

    return call


def named_command(told: str, after: str) -> list[str]:
    """The arguments of the ``anabranch`` command that a verb names after these words; it ends with its line.

    Whatever else writes to the standard error of this process, a library's warning for one, is no part of it.
    """
    words = shlex.split(told.partition(after)[2].partition("\n")[0])
    assert words[:1] == ["anabranch"], told
    return words[1:]
