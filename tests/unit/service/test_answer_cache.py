"""Answers that are kept are those that would be made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import JSONResponse

from anabranch.service.answer_cache import AnswerCache

pytestmark = pytest.mark.unit


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=60))
def test_an_answer_is_the_one_that_would_be_made(asked: list[tuple[int, int]]) -> None:
    """Of whichever version, in whatever order; within a version each is made once."""
    version = 0
    cache, made = AnswerCache(lambda: version), []

    def make(key: int) -> JSONResponse:
        made.append((version, key))
        return JSONResponse({"version": version, "key": key})

    for more, key in asked:
        version += more
        found = cache.of(key, lambda key=key: make(key))  # type: ignore[misc]
        assert found.body == JSONResponse({"version": version, "key": key}).body
        assert (found.status_code, found.media_type) == (200, "application/json")
    assert len(set(made)) == len(made)


def test_it_keeps_no_more_than_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that asks for another page each time costs no memory; the oldest pages go first."""
    monkeypatch.setattr("anabranch.service.answer_cache.MOST_BYTES", 1_000)
    cache, made = AnswerCache(lambda: 1), []

    def make(key: int) -> JSONResponse:
        made.append(key)
        return JSONResponse("x" * 98)

    for key in [*range(25), 24, 15, 0]:
        cache.of(key, lambda key=key: make(key))  # type: ignore[misc]
        assert sum(map(len, cache._bodies.values())) <= 1_000
    assert made == [*range(25), 0]
    assert len(cache.of("large", lambda: JSONResponse("x" * 2_000)).body) == 2_002, "and is answered all the same"
    assert cache._bodies == {}
