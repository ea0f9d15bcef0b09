"""Laws of the rewrite over made-up checkpoints: there and back, order kept, every partition at the route's answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from spark_samples import CONF, MemoryFiles, TestRoute, identity, inverse, lines, offsets, opened, tree

from anabranch.checkpoints.plan import RewriteSpec, Split, Uncommitted
from anabranch.checkpoints.position import OffsetRole
from anabranch.checkpoints.spark.kafka_offset import KafkaOffset, parse_kafka_offset
from anabranch.checkpoints.spark.local_crc import crc_of, crc_path, fits
from anabranch.checkpoints.spark.offsets_log import parse_offsets
from anabranch.model.topics import TopicPartition
from tests.chance import examples

pytestmark = pytest.mark.unit
TRANSLATE = RewriteSpec(uncommitted=Uncommitted.TRANSLATE)
TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,12}", fullmatch=True)
OFFSETS = st.integers(0, 2**62)
KAFKA = st.dictionaries(
    TOPICS, st.dictionaries(st.integers(0, 2**31 - 1).map(str), OFFSETS, min_size=1, max_size=5), min_size=1, max_size=4
)
OTHERS = st.sampled_from(("-", "17", '{"logOffset":3}', '{"reservoirId":"x","index":1}', "[]", "text: with colon"))


def text(value: object) -> str:
    """JSON as Spark writes it."""
    return json.dumps(value, separators=(",", ":"))


@st.composite
def checkpoints(draw: st.DrawFn) -> MemoryFiles:
    """Queries of several sources, at any batch, committed or not; the same partitions in both files.

    Sources that share a topic know the same partitions of it: a partition that one of them lacks is a refusal.
    """
    version = draw(st.sampled_from((1, 2)))
    last = draw(st.integers(1, 2**40))
    ends: list[str] = []
    starts: list[str] = []
    initial = {}
    known: dict[str, set[str]] = {}
    has_initial = draw(st.booleans())
    for number in range(draw(st.integers(1, 4))):
        if number and draw(st.booleans()):
            ends.append(draw(OTHERS))
            starts.append(ends[-1])
            continue
        end = draw(KAFKA)
        assume(all(known.setdefault(topic, set(ps)) == set(ps) for topic, ps in end.items()))
        back = draw(st.integers(0, 1000))
        start = {topic: {p: max(0, at - back) for p, at in ps.items()} for topic, ps in end.items()}
        ends.append(text(end))
        starts.append(text(start))
        if has_initial:
            initial[str(number)] = text({topic: dict.fromkeys(ps, 0) for topic, ps in end.items()})
    if version == 2:
        ends, starts = ([f"{number}:{line}" for number, line in enumerate(each)] for each in (ends, starts))
    tail = draw(st.sampled_from((b"", b"\n")))
    files = tree({}, None, initial)
    files.content[f"offsets/{last - 1}"] = offsets(*starts, version=version)
    files.content[f"offsets/{last}"] = offsets(*ends, version=version) + tail
    files.content[f"commits/{last - draw(st.integers(0, 1))}"] = b'v1\n{"nextBatchWatermarkMs":0}'
    if draw(st.booleans()):
        files.content |= {crc_path(path): crc_of(content) for path, content in files.content.items()}
    return files


@examples(60)
@given(checkpoints())
def test_a_move_that_changes_nothing_is_none(files: MemoryFiles) -> None:
    """No byte is written for positions that are equal on both sides."""
    assert opened(files).rewrite(TRANSLATE, identity()).writes == {}


@examples(60)
@given(checkpoints())
def test_there_and_back_is_byte_for_byte(files: MemoryFiles) -> None:
    """A rewrite loses nothing that it would need to be taken back."""
    moved = files.written(opened(files).rewrite(TRANSLATE, TestRoute()))
    assert files.written(opened(files).rewrite(TRANSLATE, TestRoute())).content == moved.content
    assert moved.written(opened(moved).rewrite(TRANSLATE, inverse())).content == files.content


@examples(60)
@given(checkpoints())
def test_each_position_is_where_the_route_said(files: MemoryFiles) -> None:
    """Read again on its own, the result has the answers and no position else."""
    rewrite = opened(files).rewrite(TRANSLATE, TestRoute())
    assert not rewrite.refusals
    required = (OffsetRole.NEXT, OffsetRole.BATCH_START, OffsetRole.BATCH_END)
    told = {
        (change.old.source, change.old.role, change.moved.partition, change.moved.offset)
        for change in rewrite.changes
        if change.moved is not None and change.old.role in required
    }
    after = opened(files.written(rewrite)).positions()
    assert {(p.source, p.role, p.partition, p.offset) for p in after} == told
    assert len(after) == len(opened(files).positions())


@examples(50)
@given(st.dictionaries(TOPICS, st.integers(0, 1000), min_size=2, max_size=6), st.randoms())
def test_a_split_and_the_merge_of_its_parts_give_the_line_again(topics: dict[str, int], chance: object) -> None:
    """Parts hold what the source held, no topic is lost or doubled."""
    line = text({topic: {"0": at} for topic, at in topics.items()})
    files = tree({0: offsets(line, "17"), 1: offsets(line, "17")}, 1)
    names = list(topics)
    cut = 1 + len(names) // 3
    split = RewriteSpec(split=(Split("0", (frozenset(names[:cut]), frozenset(names[cut:]))),))
    parted = files.written(opened(files).rewrite(split, identity()))
    assert len(lines(parted, 1)) == 3
    merged = parted.written(opened(parted).rewrite(RewriteSpec(merge=(("0", "1"),)), identity()))
    assert merged.content == files.content


@given(KAFKA)
def test_a_kafka_offset_is_given_back_as_it_was(tree_: dict[str, dict[str, int]]) -> None:
    """Order of topics and partitions too."""
    offset = parse_kafka_offset(text(tree_), "here")
    assert offset is not None
    assert offset.text() == text(tree_)


@given(st.binary(max_size=3000), st.integers(0, 2999), st.integers(0, 7))
def test_a_checksum_fits_its_bytes_only(content: bytes, at: int, bit: int) -> None:
    """One flipped bit, a byte more or less: another file."""
    checksum = crc_of(content)
    assert fits(content, checksum)
    assert not fits(content + b"x", checksum)
    if content:
        at %= len(content)
        assert not fits(content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :], checksum)
        assert not fits(content[:-1], checksum)


def test_an_empty_pattern_is_kafkas_and_has_nothing_to_move() -> None:
    """A pattern that matched no topic yet."""
    assert parse_kafka_offset("{}", "here") == KafkaOffset({})
    files = tree({0: offsets("{}", '{"t":{"0":1}}')}, 0)
    rewrite = opened(files).rewrite(RewriteSpec(), TestRoute())
    assert lines(files.written(rewrite), 0) == ["{}", '{"new.t":{"0":101}}']
    assert any("no partition yet" in note for note in rewrite.notes)


def test_a_line_that_a_person_wrote_with_spaces_is_understood() -> None:
    """Spark reads it too; it stays as it is where nothing moves."""
    files = tree({0: offsets('{"t": {"0": 5}}')}, 0)
    assert opened(files).positions()[0].partition == TopicPartition("t", 0)
    assert opened(files).rewrite(RewriteSpec(), identity()).writes == {}
    assert lines(files.written(opened(files).rewrite(RewriteSpec(), TestRoute())), 0) == ['{"new.t":{"0":105}}']


def test_the_second_line_is_kept_whatever_it_says() -> None:
    """Keys of a later release, odd spaces and escapes among it."""
    head = CONF[:-1] + ',"later":[1, 2.50,"\\u00e9é"] }'
    files = tree({0: offsets('{"t":{"0":5}}', head=head)}, 0)
    moved = files.written(opened(files).rewrite(RewriteSpec(), TestRoute()))
    assert parse_offsets(moved.content["offsets/0"]).head == head
