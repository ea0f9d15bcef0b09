"""Edges of many scripts against what a person worked out, and what is said where a plan is not understood."""

from __future__ import annotations

import pytest

from tests.unit.streams.lineage.cases import Case, cases, lineages, recorded

pytestmark = pytest.mark.unit


def test_there_are_many_scripts_and_each_has_a_name_of_its_own() -> None:
    """Sixty at the least, and each has its plans."""
    names = [case.name for case in cases()]
    assert len(names) == len(set(names)) >= 60
    assert set(names) == set(recorded())


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_a_script_has_the_edges_that_its_meaning_gives_it(case: Case) -> None:
    """No edge more, none less; the same of tables, of columns that are only named, of what is not understood."""
    found = lineages(case)
    assert {str(edge) for one in found for edge in one.edges} == case.edges
    expected = {f"{edge.split('.')[0]} -> {edge.split(' -> ')[1].split('.')[0]}" for edge in case.edges}
    tables = {f"{edge.source.removeprefix('default.')} -> {edge.target}" for one in found for edge in one.tables}
    assert tables == {edge.replace("default ->", f"{_rest(case)} ->") for edge in expected} | case.tables
    used = {f"{edge.source_table}.{edge.source_column}" for one in found for edge in one.edges}
    assert {str(column) for one in found for column in one.reads} - used == case.reads
    noted = {f"{what.what} {what.name}" for one in found for what in one.not_understood}
    assert noted == case.not_understood
    assert all(one.is_complete for one in found) == (not case.not_understood)


def _rest(case: Case) -> str:
    return next((edge.split(".")[1] for edge in case.edges if edge.startswith("default.")), "")
