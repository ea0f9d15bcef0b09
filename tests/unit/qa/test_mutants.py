"""The breaks that the tests must find: whether they fit, what counts as found, and what is kept."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.mutants import __main__ as running
from tests.mutants.ledger import Ledger, Row
from tests.mutants.lists import MUTANTS
from tests.mutants.stages import ROOT, EndlessError, UnclearError, failed, of_file, of_package, without_break
from tests.mutants.witnesses import Witnesses

pytestmark = pytest.mark.unit
HERE, THERE = "a" * 40, "b" * 40
FOUND = Row("a-break", "protocol/age.py", "records are lost", "tests/unit/test_x.py::test_y", "near", 1.5)


def test_every_mutant_fits_the_code() -> None:
    """One name each, a piece that occurs once, and as many as the documents say."""
    assert len(MUTANTS) > 400
    assert max(Counter(one.name for one in MUTANTS).values()) == 1
    texts = {one.file: (ROOT / "src" / "anabranch" / one.file).read_text("utf-8") for one in MUTANTS}
    assert [one.name for one in MUTANTS if texts[one.file].count(one.old) != 1] == []


@pytest.mark.parametrize(
    ("exit_code", "line", "said"),
    [
        (0, "", ""),
        (1, "FAILED tests/unit/test_x.py::test_y - assert 1 == 2", "tests/unit/test_x.py::test_y - assert 1 == 2"),
        (1, "ERROR tests/unit/test_x.py::test_y - KeyError", "tests/unit/test_x.py::test_y - KeyError"),
        (2, "ERROR tests/unit/test_x.py - ImportError", "tests/unit/test_x.py - ImportError"),
    ],
)
def test_a_test_that_fails_or_cannot_be_read_finds_a_mutant(exit_code: int, line: str, said: str) -> None:
    """A break of an import is found as well as any other."""
    assert failed(exit_code, f"..F\n{line}\n1 failed\n", "") == said


@pytest.mark.parametrize("exit_code", [1, 2, 3, 4, 5, -9])
def test_what_names_no_test_finds_nothing(exit_code: int) -> None:
    """Interrupted, killed, no tests, a wrong option: none says anything of the code."""
    with pytest.raises(UnclearError, match="no such option"):
        failed(exit_code, "", "no such option")


def test_what_is_known_of_mutants_is_kept_for_their_commit(tmp_path: Path) -> None:
    """As it goes; a work tree with changes and another commit begin anew."""
    path = tmp_path / "build" / "mutants.json"
    ledger = Ledger(path, HERE)
    ledger.passes("unit", 60.0)
    ledger.put(FOUND)
    again = Ledger(path, HERE)
    assert (again.rows, again.passed) == ({FOUND.name: FOUND}, {"unit": 60.0})
    for commit in (THERE, None):
        other = Ledger(path, commit)
        assert not other.rows and not other.passed
    Ledger(path, None).put(FOUND)
    assert not Ledger(path, HERE).rows
    assert not list(path.parent.glob("*.part"))


def test_the_test_that_found_a_mutant_is_kept_for_the_next_run(tmp_path: Path) -> None:
    """Its name without what it said; none where no test found the mutant."""
    path = tmp_path / "mutants.json"
    kept = Witnesses(path)
    kept.put("one", "tests/unit/test_x.py::test_y[a-b] - assert 1 == 2")
    kept.put("two", "tests/unit/test_x.py::test_z - KeyError")
    again = Witnesses(path)
    assert (again.of("one"), again.of("two")) == ("tests/unit/test_x.py::test_y[a-b]", "tests/unit/test_x.py::test_z")
    again.put("one", "")
    again.put("two", "")
    again.put("three", "")
    assert [Witnesses(path).of(name) for name in ("one", "two", "three")] == ["", "", ""]
    assert not list(tmp_path.glob("*.part"))


def test_every_stage_that_a_mutant_needs_has_passed_without_a_break() -> None:
    """Else a test that fails anyway, as one of the store might, would find every break."""
    needed = {stage for one in MUTANTS for stage, _ in of_package(one.package)} - {"near"}
    assert {stage for stage, _ in without_break({one.package for one in MUTANTS})} == needed
    assert [stage for stage, _ in without_break({"store"})] == ["unit", "served", "store"]
    assert [stage for stage, _ in without_break({"groups"})] == ["unit", "simulation", "served", "links"]
    assert dict(without_break({"store"}))["store"] == dict(of_package("store"))["store"]


def test_what_imports_a_broken_module_is_looked_at_first() -> None:
    """By either way to import it; where so many do that none is likelier than another, the package's come first."""
    stage, arguments = of_file("routes/impact.py")[0]
    assert (stage, arguments[:3]) == ("direct", ("-n0", "--only-tier", "unit"))
    assert "tests/unit/routes/test_impact.py" in arguments
    assert of_file("errors.py") == of_package("errors.py")
    assert of_file("routes/impact.py")[1:] == of_package("routes")


def test_a_mutant_with_which_a_stage_does_not_end_is_a_kind_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not found: by whom?  A test of a later stage that fails finds it all the same."""
    fails = {"simulation": "tests/simulation/test_x.py::test_y"}

    def first_failure(_: Path, arguments: tuple[str, ...], limit_s: float) -> str:
        stage = next(one for one, of in stages if of == arguments)
        if stage == "unit":
            raise EndlessError(f"no end within {limit_s:.0f} s")
        return fails.get(stage, "")

    mutant = next(one for one in MUTANTS if one.file.startswith("groups/"))
    stages = of_file(mutant.file)
    copy = tmp_path / "src"
    shutil.copytree(ROOT / "src" / "anabranch" / "groups", copy / "anabranch" / "groups")
    monkeypatch.setattr(running, "first_failure", first_failure)
    ledger = Ledger(tmp_path / "mutants.json", HERE)
    ledger.passes("unit", 60.0)
    found = running.look(mutant, copy, ledger, "")
    assert (found.is_found, found.is_endless, found.stage) == (True, False, "simulation")
    fails.clear()
    endless = running.look(mutant, copy, ledger, "")
    assert (endless.is_found, endless.is_endless, endless.stage) == (False, True, "unit")
    ledger.put(endless)
    assert running._tell([mutant], ledger, []) == 1
    assert f"ENDLESS (unit) {mutant.name}" in capsys.readouterr().out
