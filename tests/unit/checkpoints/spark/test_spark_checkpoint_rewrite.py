"""What a rewrite of a Spark checkpoint changes, what it leaves, and what it refuses."""

from __future__ import annotations

import pytest
from spark_samples import (
    FIXTURES,
    MemoryFiles,
    TestRoute,
    fixture,
    identity,
    inverse,
    lines,
    offsets,
    opened,
    reasons,
    tree,
)

from anabranch.checkpoints.plan import RewriteSpec, Split, Uncommitted
from anabranch.checkpoints.position import OffsetRole
from anabranch.checkpoints.spark.local_crc import crc_of, crc_path
from anabranch.checkpoints.spark.offsets_log import parse_offsets
from anabranch.model.reasons import ReasonKind
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit
TRANSLATE = RewriteSpec(uncommitted=Uncommitted.TRANSLATE)
CONTINUOUS = [name for name in FIXTURES if name.endswith("/continuous")]
NOTHING = "nothing changes: every position is the same on the target"
MOVABLE = [name for name in FIXTURES if name not in CONTINUOUS]


def simple(**other: bool) -> MemoryFiles:
    """A query at batch 2, of one source of one topic."""
    files = {number: offsets(f'{{"t":{{"0":{number},"1":{2 * number}}}}}') for number in range(3)}
    return tree(files, 2, {"0": '{"t":{"0":0,"1":0}}'}, **other)


@pytest.mark.parametrize("name", MOVABLE)
def test_a_route_that_changes_nothing_writes_nothing(name: str) -> None:
    """Every fixture: equal positions on the target leave every byte as it is."""
    rewrite = opened(fixture(name)).rewrite(TRANSLATE, identity())
    assert not rewrite.refusals
    assert rewrite.writes == {}
    assert NOTHING in rewrite.notes


@pytest.mark.parametrize("name", MOVABLE)
def test_a_move_and_its_way_back_give_the_first_bytes_again(name: str) -> None:
    """Every fixture: there and back is byte for byte what real Spark wrote, checksums included."""
    files = fixture(name)
    there = opened(files).rewrite(TRANSLATE, TestRoute())
    assert not there.refusals
    assert NOTHING not in there.notes
    moved = files.written(there)
    assert moved.content != files.content
    back = opened(moved).rewrite(TRANSLATE, inverse())
    assert not back.refusals
    assert moved.written(back).content == files.content


@pytest.mark.parametrize("name", MOVABLE)
def test_only_the_last_two_offsets_files_and_the_beginnings_change(name: str) -> None:
    """Ids, batch numbers, the line of the configuration, commits and state stay byte for byte."""
    files = fixture(name)
    checkpoint = opened(files)
    rewrite = checkpoint.rewrite(TRANSLATE, TestRoute())
    layout = checkpoint.contents.layout
    batches = {f"offsets/{number}" for number in layout.offsets[-2:]}
    beginnings = {path for path in files.content if path.startswith("sources/") and path.endswith("/0")}
    allowed = batches | beginnings
    assert rewrite.writes.keys() <= allowed | {crc_path(path) for path in allowed}
    for path in batches & rewrite.writes.keys():
        old, new = parse_offsets(files.content[path]), parse_offsets(rewrite.writes[path] or b"")
        assert (old.version, old.head, old.end) == (new.version, new.head, new.end)
        assert [line for line in old.sources if line.kafka is None] == [
            line for line in new.sources if line.kafka is None
        ]


@pytest.mark.parametrize("name", MOVABLE)
def test_checksums_of_written_files_fit_and_come_after_them(name: str) -> None:
    """A crash in between leaves a checksum of other bytes, which the next look sees."""
    files = fixture(name)
    rewrite = opened(files).rewrite(TRANSLATE, TestRoute())
    order = list(rewrite.writes)
    plain = [path for path in order if not path.endswith(".crc")]
    assert order[: len(plain)] == plain
    assert plain[-1] == f"offsets/{opened(files).contents.layout.last}"
    for path in plain:
        assert rewrite.writes[crc_path(path)] == crc_of(rewrite.writes[path] or b"")
    broken = dict(files.content)
    for path in order[:-1]:
        broken[path] = rewrite.writes[path] or b""
        again = opened(MemoryFiles(broken)).rewrite(TRANSLATE, TestRoute())
        assert ReasonKind.UNFINISHED in reasons(again)


@pytest.mark.parametrize("name", FIXTURES)
def test_what_was_read_is_told_by_digest_and_no_state_is_among_it(name: str) -> None:
    """The plan rests on a few small files, which can be digested again before the write."""
    files = fixture(name)
    rewrite = opened(files).rewrite(TRANSLATE, TestRoute())
    assert set(rewrite.reads) == set(files.opened)
    assert not any(path.startswith("state/") for path in rewrite.reads)


def test_positions_lead_where_the_route_says_in_both_files_and_the_beginning() -> None:
    """Topics and offsets of the line change; the file before and the beginning follow."""
    files = simple()
    rewrite = opened(files).rewrite(RewriteSpec(), TestRoute())
    moved = files.written(rewrite)
    assert lines(moved, 2) == ['{"new.t":{"0":102,"1":104}}']
    assert lines(moved, 1) == ['{"new.t":{"0":101,"1":102}}']
    assert lines(moved, 0) == lines(files, 0)
    assert moved.content["sources/0/0"] == b'\0v1\n{"new.t":{"0":100,"1":100}}'
    assert [change.old.role for change in rewrite.changes if change.old.role is OffsetRole.NEXT] == [
        OffsetRole.NEXT
    ] * 2


@pytest.mark.parametrize("name", MOVABLE)
def test_what_a_naive_move_would_repeat_is_counted_once_a_partition(name: str) -> None:
    """Only where the next start begins to read; the other places of a partition add nothing."""
    changes = opened(fixture(name)).rewrite(TRANSLATE, TestRoute()).changes
    starts = [change for change in changes if change.old.role in (OffsetRole.NEXT, OffsetRole.BATCH_START)]
    assert starts
    assert sum(change.moved.repeated or 0 for change in changes if change.moved is not None) == 3 * len(starts)


def test_no_checksum_is_made_where_none_was() -> None:
    """Object stores have none."""
    assert not any(path.endswith(".crc") for path in opened(simple()).rewrite(RewriteSpec(), TestRoute()).writes)


def test_what_nothing_depends_on_gets_the_new_start_where_its_own_place_is_gone() -> None:
    """An expired beginning, or end of the batch before, does not stop a committed query."""
    files = simple()
    gone = TestRoute(refused={TopicPartition("t", 0): lambda offset: offset < 2})
    rewrite = opened(files).rewrite(RewriteSpec(), gone)
    moved = files.written(rewrite)
    assert not rewrite.refusals
    assert lines(moved, 2) == lines(moved, 1) == ['{"new.t":{"0":102,"1":104}}']
    assert moved.content["sources/0/0"].endswith(b'{"new.t":{"0":102,"1":104}}')
    assert any("nothing depends on it" in note for note in rewrite.notes)


def test_a_refused_position_is_a_refusal_and_nothing_is_written() -> None:
    """Every refusal of the route is told, not the first alone."""
    gone = {TopicPartition("t", partition): lambda _: True for partition in (0, 1)}
    rewrite = opened(simple()).rewrite(RewriteSpec(), TestRoute(refused=gone))
    assert reasons(rewrite) == {ReasonKind.EXPIRED}
    assert len(rewrite.refusals) == 2
    assert rewrite.writes == {}
    assert NOTHING not in rewrite.notes


def test_partitions_that_only_the_target_has_are_refused_by_number() -> None:
    """Spark would read each of them from its beginning."""
    rewrite = opened(simple()).rewrite(RewriteSpec(), TestRoute(counts={"new.t": 4}))
    assert reasons(rewrite) == {ReasonKind.NEW_PARTITIONS}
    assert "2, 3" in rewrite.refusals[0].what


def test_partitions_that_only_the_target_has_are_put_in_where_the_route_knows_their_place() -> None:
    """A start position says where every partition begins."""
    files = simple()
    route = TestRoute(counts={"new.t": 3}, places={TopicPartition("t", 2): 7})
    rewrite = opened(files).rewrite(RewriteSpec(), route)
    moved = files.written(rewrite)
    assert lines(moved, 2) == ['{"new.t":{"0":102,"1":104,"2":7}}']
    assert lines(moved, 1) == ['{"new.t":{"0":101,"1":102,"2":7}}']
    assert [change.old.role for change in rewrite.changes].count(OffsetRole.ASSIGNED) == 1
    assert any("new.t-2 is put in" in note for note in rewrite.notes)


def test_two_positions_that_lead_to_one_partition_collide() -> None:
    """Topics that become one topic cannot keep two places in it."""
    files = tree({0: offsets('{"a":{"0":1},"b":{"0":2}}'), 1: offsets('{"a":{"0":3},"b":{"0":4}}')}, 1)
    assert reasons(opened(files).rewrite(RewriteSpec(), TestRoute(topic=lambda _: "one"))) == {ReasonKind.COLLISION}
    same = TestRoute(topic=lambda _: "one", offset=lambda _, __: 5)
    assert lines(files.written(opened(files).rewrite(RewriteSpec(), same)), 1) == ['{"one":{"0":5}}']


def test_markers_are_asked_of_the_route_and_refused_by_it() -> None:
    """-1 and -2 are no offsets; only a start position knows what to put there."""
    files = tree({0: offsets('{"t":{"0":-1}}')}, 0)
    assert reasons(opened(files).rewrite(RewriteSpec(), TestRoute())) == {ReasonKind.MARKER}


@pytest.mark.parametrize("name", [name for name in FIXTURES if name.endswith("/uncommitted")])
def test_an_uncommitted_batch_is_refused_unless_both_of_its_ends_are_to_be_moved(name: str) -> None:
    """It is never dropped: refused, or run again on the target over a range that holds the same records."""
    files = fixture(name)
    checkpoint = opened(files)
    assert checkpoint.contents.uncommitted == 2
    assert reasons(checkpoint.rewrite(RewriteSpec(), TestRoute())) == {ReasonKind.UNCOMMITTED}
    route = TestRoute()
    rewrite = checkpoint.rewrite(TRANSLATE, route)
    assert rewrite.writes.keys() >= {"offsets/1", "offsets/2"}
    starts = {p.partition: p.offset for p in checkpoint.positions() if p.role is OffsetRole.BATCH_START}
    ends = {p.partition: p.offset for p in checkpoint.positions() if p.role is OffsetRole.BATCH_END}
    assert set(route.compared) == {(at, starts[at], ends[at]) for at in starts if starts[at] != ends[at]}
    differs = TestRoute(unequal=frozenset({TopicPartition("flights", 1)}))
    assert reasons(checkpoint.rewrite(TRANSLATE, differs)) == {ReasonKind.NOT_EQUAL}


@pytest.mark.parametrize("name", [name for name in FIXTURES if name.endswith("/first_batch")])
def test_an_uncommitted_first_batch_begins_where_its_source_says(name: str) -> None:
    """Then sources/0/0 is what a restart reads, so it must be moved exactly."""
    files = fixture(name)
    checkpoint = opened(files)
    assert {p.location for p in checkpoint.positions() if p.role is OffsetRole.BATCH_START} == {"sources/0/0"}
    gone = TestRoute(refused={TopicPartition("flights", 0): lambda offset: offset == 0})
    assert reasons(checkpoint.rewrite(TRANSLATE, gone)) == {ReasonKind.EXPIRED}
    files.content.pop("sources/0/0")
    assert reasons(opened(files).rewrite(TRANSLATE, TestRoute())) == {ReasonKind.LOG_ORDER}


def test_a_partition_first_seen_in_an_uncommitted_batch_gets_a_written_beginning() -> None:
    """On the target its beginning need not be the first offset of the log."""
    files = tree({0: offsets('{"t":{"0":5}}'), 1: offsets('{"t":{"0":5,"1":3}}')}, 0)
    route = TestRoute()
    rewrite = opened(files).rewrite(TRANSLATE, route)
    moved = files.written(rewrite)
    assert lines(moved, 0) == ['{"new.t":{"0":105,"1":100}}']
    assert lines(moved, 1) == ['{"new.t":{"0":105,"1":103}}']
    assert route.compared == [(TopicPartition("t", 1), 0, 3)]


def test_an_uncommitted_batch_never_ends_before_it_begins() -> None:
    """Whatever the route says of both: Spark would call it lost data, or read nothing."""
    files = tree({0: offsets('{"t":{"0":5}}'), 1: offsets('{"t":{"0":10}}')}, 0)
    assert reasons(opened(files).rewrite(TRANSLATE, TestRoute(offset=lambda _, old: 100 - old))) == {
        ReasonKind.NOT_EQUAL
    }


def test_the_batch_before_never_ends_behind_the_next_start() -> None:
    """Nothing depends on it; where it is not known in order it says what the next batch's start says."""
    files = tree({0: offsets('{"t":{"0":1}}'), 1: offsets('{"t":{"0":3}}')}, 1)
    moved = files.written(opened(files).rewrite(RewriteSpec(), TestRoute(offset=lambda _, old: 100 - old)))
    assert lines(moved, 0) == lines(moved, 1) == ['{"new.t":{"0":97}}']


def test_an_uncommitted_batch_that_lost_a_partition_is_refused() -> None:
    """Spark would call it lost data."""
    files = tree({0: offsets('{"t":{"0":5,"1":3}}'), 1: offsets('{"t":{"0":5}}')}, 0)
    assert ReasonKind.LOG_ORDER in reasons(opened(files).rewrite(TRANSLATE, TestRoute()))


def test_a_line_without_an_offset_begins_where_its_source_says() -> None:
    """A dash stays a dash; what a restart reads then is the source's own beginning."""
    files = tree({0: offsets('{"a":{"0":1}}', "-")}, 0, {"0": '{"a":{"0":0}}', "1": '{"b":{"0":9}}'})
    rewrite = opened(files).rewrite(RewriteSpec(), TestRoute())
    moved = files.written(rewrite)
    assert lines(moved, 0) == ['{"new.a":{"0":101}}', "-"]
    assert moved.content["sources/1/0"].endswith(b'{"new.b":{"0":109}}')
    gone = TestRoute(refused={TopicPartition("b", 0): lambda _: True})
    assert reasons(opened(files).rewrite(RewriteSpec(), gone)) == {ReasonKind.EXPIRED}


def test_other_sources_and_those_not_chosen_stay_byte_for_byte() -> None:
    """A file source, a counter and a Kafka source of another cluster stand beside the one that moves."""
    files = tree({0: offsets('{"logOffset":3}', '{"a":{"0":1}}', "17", '{"b":{"0":2}}')}, 0)
    rewrite = opened(files).rewrite(RewriteSpec(sources=frozenset({"3"})), TestRoute())
    assert lines(files.written(rewrite), 0) == ['{"logOffset":3}', '{"a":{"0":1}}', "17", '{"new.b":{"0":102}}']
    assert rewrite.untouched == ("0", "1", "2")


@pytest.mark.parametrize(("chosen", "why"), [("9", ReasonKind.UNKNOWN), ("0", ReasonKind.UNSUPPORTED)])
def test_a_source_that_is_not_there_or_not_kafkas_cannot_be_chosen(chosen: str, why: ReasonKind) -> None:
    """The refusal names those that are."""
    files = tree({0: offsets('{"logOffset":3}', '{"a":{"0":1}}')}, 0)
    assert reasons(opened(files).rewrite(RewriteSpec(sources=frozenset({chosen})), TestRoute())) == {why}


@pytest.mark.parametrize("name", [name for name in FIXTURES if name.endswith("/twice")])
def test_a_source_used_twice_moves_in_both_of_its_lines_or_in_none(name: str) -> None:
    """Spark counts it twice in the plan and keeps one beginning."""
    files = fixture(name)
    moved = files.written(opened(files).rewrite(RewriteSpec(), TestRoute()))
    first, second, third = lines(moved, opened(files).contents.layout.last or 0)
    assert first == second
    assert "new.flights" in first
    assert "new.weather.reports" in third
    assert b"new.weather" in moved.content["sources/1/0"]
    assert reasons(opened(files).rewrite(RewriteSpec(sources=frozenset({"0"})), TestRoute())) == {ReasonKind.AMBIGUOUS}


def test_two_sources_in_step_are_not_taken_for_one() -> None:
    """Each has a beginning of its own; a source that keeps none stands behind them."""
    line = '{"t":{"0":5}}'
    files = tree({0: offsets(line, line, "17")}, 0, {"0": '{"t":{"0":1}}', "1": '{"t":{"0":2}}'})
    moved = files.written(opened(files).rewrite(RewriteSpec(sources=frozenset({"1"})), TestRoute()))
    assert lines(moved, 0) == [line, '{"new.t":{"0":105}}', "17"]
    assert moved.content["sources/0/0"] == files.content["sources/0/0"]
    assert moved.content["sources/1/0"].endswith(b'{"new.t":{"0":102}}')


def test_a_source_used_twice_is_told_from_the_files_of_the_one_behind_it() -> None:
    """The directory under the second line's number is another source's."""
    line = '{"t":{"0":5}}'
    files = tree({0: offsets(line, line, '{"logOffset":0}')}, 0, {"0": '{"t":{"0":1}}'})
    files.content["sources/1/0"] = b'v1\n{"path":"x","timestamp":1,"batchId":0}'
    moved = files.written(opened(files).rewrite(RewriteSpec(), TestRoute()))
    assert lines(moved, 0) == ['{"new.t":{"0":105}}'] * 2 + ['{"logOffset":0}']
    assert moved.content["sources/1/0"] == files.content["sources/1/0"]


def test_topics_that_stay_need_a_source_of_their_own() -> None:
    """One source reads one cluster; the refusal says how to split it."""
    files = tree({0: offsets('{"a":{"0":1},"b":{"0":2}}'), 1: offsets('{"a":{"0":3},"b":{"0":4}}')}, 1)
    route = TestRoute(stays=frozenset({"b"}))
    rewrite = opened(files).rewrite(RewriteSpec(), route)
    assert reasons(rewrite) == {ReasonKind.UNSUPPORTED}
    assert "--split '0=a|b'" in rewrite.refusals[0].fix
    split = RewriteSpec(split=(Split("0", (frozenset({"b"}), frozenset({"a"}))),))
    done = opened(files).rewrite(split, route)
    assert lines(files.written(done), 1) == ['{"b":{"0":4}}', '{"new.a":{"0":103}}']
    assert lines(files.written(done), 0) == ['{"b":{"0":2}}', '{"new.a":{"0":101}}']


def test_topics_on_two_clusters_need_a_source_each() -> None:
    """Links may lead to several clusters, and a source reads one; the refusal says how to split it."""
    files = tree({0: offsets('{"a":{"0":1},"b":{"0":2}}'), 1: offsets('{"a":{"0":3},"b":{"0":4}}')}, 1)
    route = TestRoute(clusters={"a": "west", "b": "east"})
    rewrite = opened(files).rewrite(RewriteSpec(), route)
    assert reasons(rewrite) == {ReasonKind.UNSUPPORTED}
    assert "b to east; a to west" in rewrite.refusals[0].what
    assert "--split '0=b|a'" in rewrite.refusals[0].fix
    split = RewriteSpec(split=(Split("0", (frozenset({"b"}), frozenset({"a"}))),))
    assert lines(files.written(opened(files).rewrite(split, route)), 1) == [
        '{"new.b":{"0":104}}',
        '{"new.a":{"0":103}}',
    ]
    assert opened(files).rewrite(RewriteSpec(), TestRoute(clusters={"a": "west", "b": "west"})).refusals == ()


def test_a_split_puts_its_parts_in_the_sources_place_and_renumbers_those_behind() -> None:
    """Beginnings follow the numbers."""
    files = tree(
        {0: offsets('{"a":{"0":1},"b":{"0":2}}', '{"c":{"0":3}}')},
        0,
        {"0": '{"a":{"0":0},"b":{"0":0}}', "1": '{"c":{"0":0}}'},
        crc=True,
    )
    split = RewriteSpec(split=(Split("0", (frozenset({"a"}), frozenset({"b"}))),))
    rewrite = opened(files).rewrite(split, TestRoute())
    moved = files.written(rewrite)
    assert lines(moved, 0) == ['{"new.a":{"0":101}}', '{"new.b":{"0":102}}', '{"new.c":{"0":103}}']
    assert moved.content["sources/0/0"].endswith(b'{"new.a":{"0":100}}')
    assert moved.content["sources/1/0"].endswith(b'{"new.b":{"0":100}}')
    assert moved.content["sources/2/0"] == b'\0v1\n{"new.c":{"0":100}}'
    assert any("1: new.b" in note for note in rewrite.notes)
    assert not opened(moved).rewrite(RewriteSpec(), identity()).refusals


def test_a_split_does_not_renumber_a_source_that_keeps_files_under_its_number() -> None:
    """A source of files remembers in sources/1 what it has read."""
    files = tree({0: offsets('{"a":{"0":1},"b":{"0":2}}', '{"logOffset":0}')}, 0)
    files.content["sources/1/0"] = b'v1\n{"path":"x","timestamp":1,"batchId":0}'
    split = RewriteSpec(split=(Split("0", (frozenset({"a"}), frozenset({"b"}))),))
    assert reasons(opened(files).rewrite(split, TestRoute())) == {ReasonKind.UNSUPPORTED}


def test_a_merge_puts_sources_into_the_first_ones_place() -> None:
    """The others' lines and beginnings go."""
    files = tree(
        {0: offsets('{"a":{"0":1}}', '{"c":{"0":3}}', '{"b":{"0":2}}')},
        0,
        {"0": '{"a":{"0":0}}', "1": '{"c":{"0":0}}', "2": '{"b":{"0":0}}'},
    )
    rewrite = opened(files).rewrite(RewriteSpec(merge=(("0", "2"),)), TestRoute())
    moved = files.written(rewrite)
    assert lines(moved, 0) == ['{"new.a":{"0":101},"new.b":{"0":102}}', '{"new.c":{"0":103}}']
    assert moved.content["sources/0/0"].endswith(b'{"new.a":{"0":100},"new.b":{"0":100}}')
    assert moved.content["sources/1/0"].endswith(b'{"new.c":{"0":100}}')
    assert "sources/2/0" not in moved.content


def test_an_uncommitted_batch_is_split_at_both_of_its_ends() -> None:
    """The batch runs again over the new sources with the same records."""
    files = tree({0: offsets('{"a":{"0":1},"b":{"0":2}}'), 1: offsets('{"a":{"0":3},"b":{"0":4}}')}, 0)
    split = Split("0", (frozenset({"a"}), frozenset({"b"})))
    moved = files.written(
        opened(files).rewrite(RewriteSpec(split=(split,), uncommitted=Uncommitted.TRANSLATE), TestRoute())
    )
    assert lines(moved, 0) == ['{"new.a":{"0":101}}', '{"new.b":{"0":102}}']
    assert lines(moved, 1) == ['{"new.a":{"0":103}}', '{"new.b":{"0":104}}']


@pytest.mark.parametrize(
    ("rewrite_spec", "why"),
    [
        (RewriteSpec(split=(Split("0", (frozenset({"a"}),)),)), ReasonKind.AMBIGUOUS),
        (RewriteSpec(split=(Split("0", (frozenset({"a"}), frozenset({"x"}))),)), ReasonKind.UNKNOWN),
        (RewriteSpec(split=(Split("0", (frozenset({"a"}), frozenset({"a", "b"}))),)), ReasonKind.AMBIGUOUS),
        (RewriteSpec(split=(Split("7", (frozenset({"a"}), frozenset({"b"}))),)), ReasonKind.UNKNOWN),
        (RewriteSpec(split=(Split("1", (frozenset({"a"}), frozenset({"b"}))),)), ReasonKind.UNSUPPORTED),
        (RewriteSpec(split=(Split("0", (frozenset({"a"}), frozenset({"b"})), ("x", "y")),)), ReasonKind.UNSUPPORTED),
        (RewriteSpec(merge=(("0",),)), ReasonKind.AMBIGUOUS),
        (RewriteSpec(merge=(("0", "0"),)), ReasonKind.AMBIGUOUS),
        (RewriteSpec(merge=(("0", "1"),)), ReasonKind.UNSUPPORTED),
        (RewriteSpec(drop=frozenset({"0"})), ReasonKind.UNSUPPORTED),
    ],
)
def test_wishes_that_make_no_sense_are_refused(rewrite_spec: RewriteSpec, why: ReasonKind) -> None:
    """Each with its reason, and nothing is written."""
    files = tree({0: offsets('{"a":{"0":1},"b":{"0":2}}', '{"logOffset":0}')}, 0)
    assert why in reasons(opened(files).rewrite(rewrite_spec, TestRoute()))


def test_named_sources_are_split_and_merged_by_name() -> None:
    """Version 2 of the log has a name in each line; one part may keep it."""
    head = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{},"sourceMetadataInfo":{}}'
    first = offsets('orders:{"a":{"0":1},"b":{"0":2}}', 'other:{"c":{"0":5}}', version=2, head=head)
    files = tree({0: first}, 0, {"orders": '{"a":{"0":0},"b":{"0":0}}'})
    parts = (frozenset({"a"}), frozenset({"b"}))
    assert reasons(opened(files).rewrite(RewriteSpec(split=(Split("orders", parts),)), TestRoute())) == {
        ReasonKind.AMBIGUOUS
    }
    rewrite_spec = RewriteSpec(split=(Split("orders", parts, ("orders", "late")),))
    moved = files.written(opened(files).rewrite(rewrite_spec, TestRoute()))
    assert lines(moved, 0) == ['orders:{"new.a":{"0":101}}', 'late:{"new.b":{"0":102}}', 'other:{"new.c":{"0":105}}']
    assert moved.content["sources/late/0"].endswith(b'{"new.b":{"0":100}}')
    merged = opened(moved).rewrite(RewriteSpec(merge=(("orders", "late"),)), inverse())
    assert lines(moved.written(merged), 0) == ['orders:{"a":{"0":1},"b":{"0":2}}', 'other:{"c":{"0":5}}']


def without(files: MemoryFiles, *names: str) -> MemoryFiles:
    """The tree without some files."""
    return MemoryFiles({path: content for path, content in files.content.items() if path not in names})


@pytest.mark.parametrize(
    ("missing", "why"),
    [
        (("offsets/2",), ReasonKind.LOG_ORDER),
        (("offsets/0", "offsets/1"), ReasonKind.LOG_ORDER),
        (("offsets/0", "offsets/1", "offsets/2"), ReasonKind.LOG_ORDER),
        (("metadata",), ReasonKind.LOG_ORDER),
        (("commits/1", "commits/2"), ReasonKind.LOG_ORDER),
        (("commits/0", "commits/1", "commits/2"), ReasonKind.LOG_ORDER),
    ],
)
def test_logs_that_do_not_fit_together_are_refused(missing: tuple[str, ...], why: ReasonKind) -> None:
    """A commit without its batch, no file before the last, no positions, no id of the query, two batches begun."""
    assert why in reasons(opened(without(simple(), *missing)).rewrite(TRANSLATE, TestRoute()))


def test_gaps_in_the_logs_are_asynchronous_progress() -> None:
    """Then the file before is the one that there is."""
    files = without(simple(), "offsets/1", "commits/1")
    rewrite = opened(files).rewrite(RewriteSpec(), TestRoute())
    assert rewrite.writes.keys() >= {"offsets/0", "offsets/2"}
    assert any("asynchronous" in note for note in rewrite.notes)


def test_a_batch_of_sparks_own_that_was_not_finished_is_refused() -> None:
    """Version 2 marks batches that change the checkpoint itself."""
    head = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{},"controlBatchInfo":{"operationType":"repartition"}}'
    files = tree({n: offsets(f'0:{{"t":{{"0":{n}}}}}', version=2, head=head) for n in range(2)}, 0)
    assert ReasonKind.UNSUPPORTED in reasons(opened(files).rewrite(TRANSLATE, TestRoute()))


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_processing_is_refused(name: str) -> None:
    """Its newest epoch may have run, whatever the logs say."""
    assert ReasonKind.UNSUPPORTED in reasons(opened(fixture(name)).rewrite(TRANSLATE, TestRoute()))


def test_a_checksum_of_other_bytes_is_refused() -> None:
    """A file that was changed by hand, or by a rewrite that broke off."""
    files = simple(crc=True)
    files.content["offsets/2"] = files.content["offsets/2"].replace(b'"0":2', b'"0":1')
    assert reasons(opened(files).rewrite(RewriteSpec(), TestRoute())) == {ReasonKind.UNFINISHED}
