"""Which batch is written, left out or refused, by what the cluster has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.streams.written import (
    CheckpointBehindError,
    UnknownBatchError,
    UnreadableCommitError,
    WrittenBatch,
    is_due,
    newest,
)

pytestmark = pytest.mark.unit
QUERIES = st.sampled_from(["one", "two"])
BATCHES = st.integers(0, 5)


@given(
    noted=st.lists(st.builds(WrittenBatch, QUERIES, BATCHES), max_size=4),
    query=QUERIES,
    batch=BATCHES,
    first=st.none() | BATCHES,
)
def test_a_batch_is_left_out_only_where_it_is_there_and_written_only_where_it_is_not(
    noted: list[WrittenBatch], query: str, batch: int, first: int | None
) -> None:
    """B1 and B2 for every set of commits, of this query and of others."""
    own = [one.batch for one in noted if one.query == query]
    written = newest("g", [one.to_text() for one in noted], query)
    assert written == (WrittenBatch(query, max(own)) if own else None)
    try:
        due = is_due(written, query, batch, first)
    except CheckpointBehindError:
        assert own and batch < max(own)
    except UnknownBatchError:
        assert not own and batch not in (0, first)
    else:
        assert due == (batch > max(own)) if own else due
        assert due or batch == max(own)


@pytest.mark.parametrize("text", ["", "7", "null", "[]", '{"v":2,"query":"one","batch":1}', '{"v":1,"query":"one"}'])
def test_commits_of_somebody_else_in_the_sinks_group_are_refused(text: str) -> None:
    """A group that consumers use says nothing about batches."""
    with pytest.raises(UnreadableCommitError):
        newest("g", [text], "one")
