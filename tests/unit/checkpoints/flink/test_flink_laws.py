"""Laws of a rewrite, over savepoints of every shape."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flink_samples import Arithmetic, kafka_operator, metadata, reopened, split
from hypothesis import given
from hypothesis import strategies as st

from anabranch.checkpoints.flink.metadata import SavepointMetadata, read_metadata
from anabranch.checkpoints.plan import RewriteSpec
from anabranch.checkpoints.position import OffsetRole
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit

NAMES = st.text("abz09._-", min_size=1, max_size=90).filter(lambda name: name not in (".", ".."))
OFFSETS = st.integers(1000, 1 << 62)


@st.composite
def savepoints(draw: st.DrawFn) -> SavepointMetadata:
    """One to three sources without a common topic, of any connector, with bounded ones among them."""
    version = draw(st.integers(3, 6))
    operators = []
    for number in range(draw(st.integers(1, 3))):
        found = draw(st.lists(st.tuples(NAMES, st.integers(0, 99)), min_size=1, max_size=8, unique=True))
        bounded = draw(st.booleans())
        stop = (lambda: {"stop": draw(OFFSETS)}) if bounded else dict
        splits = [split(f"{number}{topic}", partition, draw(OFFSETS), **stop()) for topic, partition in found]
        cut = draw(st.integers(0, len(splits)))
        operator = kafka_operator(f"source {number}", [splits[:cut], splits[cut:]], draw(st.integers(1, 3)))
        if version >= 5:
            operator = replace(operator, name=draw(st.text(max_size=20)), uid=f"source {number}")
        operators.append(operator)
    return metadata(*operators, version=version)


@given(savepoints())
def test_reading_is_the_inverse_of_emitting(saved: SavepointMetadata) -> None:
    """A value that is emitted reads back equal."""
    assert read_metadata(saved.emit(), "") == saved


@given(savepoints())
def test_a_route_that_changes_nothing_changes_no_byte(saved: SavepointMetadata) -> None:
    """State was inline and plain: the result is the file itself."""
    result = reopened(saved.emit()).rewrite(RewriteSpec(), Arithmetic())
    assert result.writes == {"_metadata": saved.emit()}


@given(savepoints(), st.integers(-1000, 1000), NAMES)
def test_a_move_and_its_inverse_give_the_same_file(saved: SavepointMetadata, by: int, prefix: str) -> None:
    """Whatever the length of the names and the distance."""
    there = reopened(saved.emit()).rewrite(RewriteSpec(), Arithmetic(by=by, rename=lambda topic: prefix + topic))
    data = there.writes["_metadata"]
    assert data is not None
    back = reopened(data).rewrite(RewriteSpec(), Arithmetic(by=-by, rename=lambda topic: topic.removeprefix(prefix)))
    assert back.writes == {"_metadata": saved.emit()}


@given(savepoints(), st.integers(-1000, 1000))
def test_a_plan_is_the_same_when_it_is_made_again(saved: SavepointMetadata, by: int) -> None:
    """Equal answers of the route, equal result, to the byte."""
    one, two = (reopened(saved.emit()).rewrite(RewriteSpec(), Arithmetic(by=by)) for _ in range(2))
    assert one == two


@given(savepoints(), st.data())
def test_one_position_without_an_answer_stops_everything(saved: SavepointMetadata, data: st.DataObject) -> None:
    """Whichever partition of whichever source it is."""
    checkpoint = reopened(saved.emit())
    position = data.draw(st.sampled_from(checkpoint.positions()))
    result = checkpoint.rewrite(RewriteSpec(), Arithmetic(by=1, refuse=frozenset({position.partition})))
    assert result.refusals and result.writes == {}


@given(savepoints(), st.integers(0, 1000))
def test_every_position_is_in_the_plan_once(saved: SavepointMetadata, by: int) -> None:
    """The changes are exactly the positions; both count the next record to read."""
    checkpoint = reopened(saved.emit())
    result = checkpoint.rewrite(RewriteSpec(), Arithmetic(by=by))
    assert sorted((one.old.partition, one.old.role) for one in result.changes) == sorted(
        (one.partition, one.role) for one in checkpoint.positions()
    )
    for change in result.changes:
        assert change.moved is not None and change.old.role in (OffsetRole.NEXT, OffsetRole.STOP)
        assert change.moved.offset == change.old.offset + by  # type: ignore[operator]
        assert isinstance(change.moved.partition, TopicPartition)
