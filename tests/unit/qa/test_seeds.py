"""Seeds of tests: fixed, new, and the same again."""

from __future__ import annotations

import os

import pytest

from tests import chance

pytestmark = pytest.mark.unit


def test_without_a_word_seeds_are_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in CI."""
    monkeypatch.setattr(chance, "NUMBER", None)
    assert [chance.seed(7), chance.seed(7, is_chosen=True)] == [7, 7]


def test_new_seeds_follow_from_the_number_of_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each from its fixed one, so that it is the same whatever ran before; the number is printed."""
    monkeypatch.setattr(chance, "NUMBER", 12)
    first = [chance.seed(7), chance.seed(8)]
    told = capsys.readouterr()
    assert "ANABRANCH_SEEDS=12" in told.err and not told.out
    assert [chance.seed(8), chance.seed(7)] == first[::-1]
    monkeypatch.setattr(chance, "NUMBER", 13)
    assert not {chance.seed(7), chance.seed(8)} & {*first, 7, 8}


def test_a_chosen_seed_is_never_new(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing is printed of it."""
    monkeypatch.setattr(chance, "NUMBER", 12)
    assert chance.seed(7, is_chosen=True) == 7
    assert capsys.readouterr() == ("", "")


def told(monkeypatch: pytest.MonkeyPatch, said: str | None) -> tuple[int | None, str | None]:
    """The number of a run that was told so, and what the processes that it starts are told."""
    if said is None:
        monkeypatch.delenv("ANABRANCH_SEEDS", raising=False)
    else:
        monkeypatch.setenv("ANABRANCH_SEEDS", said)
    return chance.number_of_run(), os.environ.get("ANABRANCH_SEEDS")


def test_a_number_is_drawn_once_for_a_run_and_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """To its workers; whoever gives the number has the run again."""
    assert told(monkeypatch, None) == (None, None)
    assert told(monkeypatch, "12") == (12, "12")
    number, handed_on = told(monkeypatch, "new")
    assert number is not None and handed_on == str(number)
    assert told(monkeypatch, "new")[0] != number
    with pytest.raises(ValueError, match="nex"):
        told(monkeypatch, "nex")
