"""Which batches are written, and what the options of a sink may hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.spark.streams.sinks.errors import (
    BatchBehindError,
    SinkOptionError,
    SinkUnavailableError,
    WriterFencedError,
)
from anabranch.spark.streams.sinks.options import SinkOptions
from anabranch.spark.streams.sinks.port import QueryIdentity, SinkCounts
from anabranch.spark.streams.sinks.retrying import PassingError, Retrying
from anabranch.spark.streams.sinks.state import BatchState, QueryWriter
from anabranch.streams.tables import TableDeclaration

pytestmark = pytest.mark.unit

STATES = st.builds(BatchState, st.integers(0, 3), st.sampled_from(["a", "b"]), st.integers(-1, 4))


@given(st.none() | STATES, STATES)
def test_a_batch_is_due_by_start_checkpoint_and_number(state: BatchState | None, writing: BatchState) -> None:
    """B1 to B3."""
    writer = QueryWriter.of("s", QueryIdentity("job", "query", writing.fence))
    if state is not None and state.fence > writing.fence:
        with pytest.raises(WriterFencedError):
            writer.is_due(state, writing)
    elif state is not None and state.checkpoint == writing.checkpoint and state.batch > writing.batch:
        with pytest.raises(BatchBehindError):
            writer.is_due(state, writing)
    else:
        same = state is not None and (state.checkpoint, state.batch) == (writing.checkpoint, writing.batch)
        assert writer.is_due(state, writing) is not same


def _options(**values: str) -> SinkOptions:
    names = dict.fromkeys(("key", "ttl", "password", "url"), "")
    return SinkOptions.of(TableDeclaration("t", "p", options=values), {}, names)


def test_options_are_read_as_they_are_meant() -> None:
    """Columns, numbers, references and addresses."""
    options = _options(KEY=" a, b ", ttl="5", password="env:PW", url="redis://h:1/2")
    assert options.columns("key") == ("a", "b")
    assert options.number("ttl", 0) == 5
    assert options.secret("password") == SecretRef(SecretKind.ENV, "PW")
    assert options.url("url", "redis").port == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("key", "a,,b"), ("key", "a,a"), ("ttl", "-1"), ("ttl", "x"), ("password", "hunter2"), ("password", "env:")),
        *(("url", "http://h"), ("url", "redis://me:hunter2@h"), ("url", "redis://h:x"), ("url", "redis://")),
    ],
)
def test_what_an_option_may_not_hold_is_refused(name: str, text: str) -> None:
    """A secret that stands there is not repeated."""
    options = _options(**{name: text})
    readers = {
        "key": lambda: options.columns("key"),
        "ttl": lambda: options.number("ttl", 0),
        "password": lambda: options.secret("password"),
        "url": lambda: options.url("url", "redis"),
    }
    with pytest.raises(SinkOptionError) as refused:
        readers[name]()
    assert refused.value.option == name
    assert "hunter2" not in str(refused.value) + refused.value.hint


def test_attempts_end_with_their_time() -> None:
    """And are counted; the last one's reason is told."""
    counts, tried = SinkCounts(), []

    def attempt() -> None:
        tried.append(1)
        raise PassingError("away")

    with pytest.raises(SinkUnavailableError, match="away") as gone:
        Retrying("s", 0.15, counts).call(attempt)
    assert gone.value.attempts == len(tried) == counts.retries + 1 == 2
