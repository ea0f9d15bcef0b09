"""No module of the package imports itself in a circle, and the figures would tell."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from qa import structure

pytestmark = pytest.mark.unit


SPARK_CALLS = {
    *(f"spark/verify/{name}.py" for name in ("batches", "log_ranges", "past_pins", "samples")),
    "spark/failures.py",
    "spark/jobs/verify.py",
    *(f"spark/link/{name}.py" for name in ("group_sync", "leases", "survey")),
    *(f"spark/streams/kafka_sink/{name}.py" for name in ("coordinator", "data_source", "task")),
    "spark/streams/kafka_tables.py",
}
WORKERS = {"copier/worker.py"}
PROCESSES = {"kafka/simulated/server.py", "sandbox/proxy_server.py"}
STARTS = re.compile(r"\basyncio\.(run|Runner|new_event_loop)\(|\brun_until_complete\(|import .*\bnew_event_loop\b")


def test_event_loops_are_started_by_the_command_line_and_where_spark_calls() -> None:
    """An operation that started one of its own could not be awaited by the service."""
    root = structure.ROOT / "anabranch"
    found = {str(path.relative_to(root)) for path in root.rglob("*.py") if STARTS.search(path.read_text("utf-8"))}
    assert {name for name in found if not name.startswith("cli/")} == SPARK_CALLS | WORKERS | PROCESSES


def tree(root: Path, **files: str) -> Path:
    """A source tree of modules ``anabranch.PACKAGE.MODULE``."""
    for name, text in files.items():
        package, _, module = name.partition("_")
        place = root / "anabranch" / package
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{module}.py").write_text(text)
    return root


@pytest.fixture(scope="module")
def out() -> str:
    """What is told of our own sources."""
    told = io.StringIO()
    with redirect_stdout(told):
        assert structure.main() == 0
    return told.getvalue()


@pytest.mark.test
def test_nothing_is_imported_in_a_circle(out: str) -> None:
    """A late import would hide one from whoever runs the program."""
    assert "no circle of packages\nno circle of modules\n" in out and "\ncircle of " not in out


@pytest.mark.test
def test_a_class_name_stands_for_one_class(out: str) -> None:
    """Also in the published schemas, whose titles are class names."""
    assert out.endswith("class names of more than one class: 0\n")


def test_a_circle_through_a_late_import_is_told_and_one_of_types_alone_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the packages and the modules that it passes."""
    late = "def use():\n    from anabranch.b.two import Two\n    return Two\n"
    types = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from anabranch.b.two import Two\n\n"
    root = tree(
        tmp_path,
        a_one=late,
        b_two="from anabranch.a.one import use\n\nclass Two: ...\n",
        c_three=types + "_hidden = 1\nOPEN = 2\n",
        b_four="from anabranch.c import three\n\nclass Two: ...\n",
    )
    structure.main(root)
    out = capsys.readouterr().out.splitlines()
    assert [line.split() for line in out if line.startswith("c ")] == [["c", "7", "1", "1"]]
    assert "circle of 2 packages, 2 imports: a, b" in out
    assert "circle of 2 modules, 2 imports: anabranch.a.one, anabranch.b.two" in out
    assert "class names of more than one class: 1: Two" in out
