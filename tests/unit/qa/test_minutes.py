"""``python -m tests.minutes``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.minutes import directory_of, main, spent

pytestmark = pytest.mark.unit

REPORT = """<testsuites><testsuite>
<testcase classname="tests.unit.copier.test_reading" name="a" time="0.5" />
<testcase classname="tests.unit.test_x.TestLives" name="b" time="1.5" />
<testcase classname="tests.integration.links.test_run" name="c" time="120" />
</testsuite></testsuites>"""


def test_time_is_counted_by_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those below the integration tests by themselves; of several reports together."""
    (tmp_path / "a.xml").write_text(REPORT)
    found = spent([tmp_path / "a.xml", tmp_path / "a.xml"])
    assert found == {"tests/unit": (4, 4.0), "tests/integration/links": (2, 240.0)}
    assert directory_of("tests.simulation.test_lives") == "tests/simulation"
    assert main([str(tmp_path / "a.xml")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines if "tests/" in line] == ["tests/integration/links", "tests/unit"]
    assert next(line for line in lines if " all " in line).split()[3:6:2] == ["3", "2.0"]


def test_what_is_no_report_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing is counted then."""
    (tmp_path / "b.xml").write_text("<testsuites>")
    assert main([str(tmp_path / "b.xml")]) == 2 and "b.xml" in capsys.readouterr().err
    assert main([str(tmp_path / "none.xml")]) == 2 and "none.xml" in capsys.readouterr().err
    assert main([]) == 2
