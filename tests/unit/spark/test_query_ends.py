"""A query that fails between two looks of who watches it has failed, and not finished."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from anabranch.errors import RefusedError
from anabranch.spark.streams import running
from anabranch.spark.streams.pyspark_files import running as file_running
from anabranch.spark.streams.pyspark_files.running import FileRun
from anabranch.spark.streams.running import watch

pytestmark = pytest.mark.unit


class BrokenError(RefusedError):
    """The query's."""


class Query:
    """One that runs for so many looks, and has failed then."""

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self.error: Exception | None = None

    @property
    def isActive(self) -> bool:
        """A look at it."""
        self.looks -= 1
        if self.looks < 0:
            self.error = BrokenError()
        return self.looks >= 0

    def exception(self) -> Exception | None:
        """Why it ended."""
        return self.error


def followed(looks: int) -> Any:
    """As a run has it."""
    return SimpleNamespace(
        query=Query(looks),
        error=BrokenError(),
        name="q",
        line=1,
        new_progress=lambda: (),
        new_counts=lambda _is_last=False: None,
    )


def of_script(queries: list[Any]) -> Callable[[], str]:
    """How a script's queries end."""
    return lambda: watch(queries, lambda: False, lambda *_: None)


def of_file(queries: list[Any]) -> Callable[[], str]:
    """How a file's queries end."""
    job: Any = SimpleNamespace(queries=queries, unknown=lambda: ())
    run = FileRun(job, "def main(job): pass\n", "lab.py")
    return lambda: run.watch(lambda: False, lambda *_: None, lambda _: None)


@pytest.mark.parametrize("ends", [of_script, of_file])
@pytest.mark.parametrize("looks", range(6))
def test_one_that_fails_between_two_looks_has_failed(
    monkeypatch: pytest.MonkeyPatch, ends: Callable[[list[Any]], Callable[[], str]], looks: int
) -> None:
    """Whichever look is the last at which it runs: nobody is told that all went well."""
    monkeypatch.setattr(running, "LOOK_S", 0.001)
    monkeypatch.setattr(file_running, "LOOK_S", 0.001)

    def failure(*_: object) -> BrokenError:
        return BrokenError()

    monkeypatch.setattr(file_running, "failure_of", failure)
    with pytest.raises(BrokenError):
        ends([followed(looks)])()
