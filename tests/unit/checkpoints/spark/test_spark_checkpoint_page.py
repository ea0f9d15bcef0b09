"""What can be told of a query by its checkpoint alone."""

from __future__ import annotations

import pytest
from spark_samples import FIXTURES, MemoryFiles, TestRoute, fixture, offsets, opened, tree

from anabranch.checkpoints.plan import RewriteSpec
from anabranch.checkpoints.position import OffsetRole, SymbolicOffset

pytestmark = pytest.mark.unit
ENGINES = {"3.5": "3.5", "4.0": "4.0", "4.1": "4.0", "4.2": "4.2", "4.3": "4.3"}


@pytest.mark.parametrize("name", FIXTURES)
def test_every_fixture_has_a_page_that_agrees_with_its_files(name: str) -> None:
    """Batches, sources and positions are those of the newest files; the engine is not newer than it was."""
    files = fixture(name)
    page = opened(files).page()
    newest = max(int(entry.name) for entry in files.list("offsets") if entry.name.isdigit())
    assert page.number == newest
    assert page.timeline[-1].number == newest
    assert page.job.encode() in files.content["metadata"]
    positions = [position for source in page.sources for position in source.positions]
    assert positions == list(opened(files).positions())
    assert any(page.job in sink for sink in page.sinks)


@pytest.mark.parametrize("name", [name for name in FIXTURES if name.endswith("/stateless")])
def test_the_engine_is_told_as_far_as_its_bytes_do(name: str) -> None:
    """Each release pins settings that the ones before do not know; 4.1 adds none to those of 4.0."""
    release = ".".join(name.split(".")[:2])
    assert opened(fixture(name)).page().engine == f"Spark {ENGINES[release]} or newer"


@pytest.mark.parametrize("name", [name for name in FIXTURES if name.endswith(("/windowed", "/rocksdb"))])
def test_stateful_operators_have_their_name_provider_and_size(name: str) -> None:
    """By listing, and by the small file that names them since 4.0."""
    files = fixture(name)
    page = opened(files).page()
    (operator,) = page.operators
    state = {path: content for path, content in files.content.items() if path.startswith("state/0/")}
    assert operator.partitions == 2
    assert operator.name == ("" if name.startswith("3.") else "stateStoreSave")
    assert operator.kind.startswith("RocksDB" if name.endswith("/rocksdb") else "HDFSBacked")
    sizes = (len(content) for path, content in state.items() if not path.startswith("state/0/_metadata"))
    assert operator.state_bytes == sum(sizes)
    assert page.watermark_ms == 1_760_000_210_000
    in_rocksdb = name.endswith("/rocksdb")
    assert page.versions == {"offsets": "v1", "commits": "v1"} | (
        {"commits": "v2", "state checkpoints": "v2"} if in_rocksdb else {}
    )
    assert not any(path.startswith(("state/0/0", "state/0/1")) for path in files.opened)


def test_state_of_any_size_is_listed_and_never_opened() -> None:
    """Two operators of 200 partitions with a gigabyte between them."""
    files = tree({n: offsets(f'{{"t":{{"0":{n}}}}}') for n in range(3)}, 2)
    for operator in range(2):
        for partition in range(200):
            files.sizes |= {f"state/{operator}/{partition}/{n}.delta": 250_000 for n in range(10)}
    checkpoint = opened(files)
    rewrite = checkpoint.rewrite(RewriteSpec(), TestRoute())
    assert rewrite.writes
    assert [operator.state_bytes for operator in checkpoint.page().operators] == [500_000_000] * 2
    assert not any(path.startswith("state/") for path in (*files.opened, *rewrite.writes))


def test_an_uncommitted_batch_is_told_with_both_of_its_ends() -> None:
    """And in words."""
    files = tree({n: offsets(f'{{"t":{{"0":{n}}}}}') for n in range(3)}, 1)
    page = opened(files).page()
    assert page.uncommitted == 2
    assert [(p.role, p.offset) for p in page.sources[0].positions] == [
        (OffsetRole.BATCH_END, 2),
        (OffsetRole.BATCH_START, 1),
    ]
    assert [batch.committed for batch in page.timeline] == [True, True, False]
    assert any("not committed" in note for note in page.notes)


def test_the_timeline_has_ten_batches_and_the_longest_time_between_them() -> None:
    """A batch whose file is damaged has no time; nothing depends on it."""
    heads = {n: f'{{"batchWatermarkMs":0,"batchTimestampMs":{n * n},"conf":{{}}}}' for n in range(15)}
    files = tree({n: offsets('{"t":{"0":1}}', head=head) for n, head in heads.items()}, 14)
    files.content["offsets/7"] = b"torn"
    checkpoint = opened(files)
    timeline = checkpoint.page().timeline
    assert [batch.number for batch in timeline] == list(range(5, 15))
    assert timeline[2].at_ms is None
    assert checkpoint.interval_ms() == 8 * 8 - 6 * 6


def test_other_sources_and_sinks_that_are_known_are_named() -> None:
    """Sinks are known since version 3 of commits/."""
    files = tree({0: offsets("17", '{"logOffset":1}', '{"reservoirId":"x"}', "-", '{"t":{"0":-2}}')}, 0)
    files.content["commits/0"] = (
        b'v3\n{"nextBatchWatermarkMs":0,"sinkMetadataMap":{"out1":{"sinkName":"out1","commitOffset":"-",'
        b'"providerName":"a.b.ForeachBatchSink","apiVersion":"DSv1","isActive":true}}}'
    )
    page = opened(files).page()
    kinds = [source.kind for source in page.sources]
    assert kinds == ["a counter (rate, memory or socket)", "files", "delta", "no offset yet", "kafka"]
    assert page.sources[4].positions[0].offset is SymbolicOffset.EARLIEST
    assert page.sinks[0] == "out1 (ForeachBatchSink)"


def test_what_is_broken_is_in_the_notes() -> None:
    """A page can be read of a checkpoint that cannot be moved."""
    files = tree({1: offsets('{"t":{"0":1}}')}, 3)
    del files.content["metadata"]
    page = opened(files).page()
    assert page.job == ""
    assert len(page.notes) == 3


def test_a_query_that_never_began_has_an_empty_page() -> None:
    """Only the directories are there."""
    files = MemoryFiles({"metadata": b'{"id":"a-1"}', "offsets/.0.tmp": b"", "commits/.0.tmp": b""})
    page = opened(files).page()
    assert (page.number, page.sources, page.timeline) == (-1, (), ())
