"""Plans, moves, undoing and following over two model clusters, held against a dictionary of single records."""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from anabranch.groups.continuous_sync import WaitingCommits, plan_round
from anabranch.groups.plan import GroupStep, plan
from anabranch.groups.snapshot import GroupsSnapshot, PartitionMapping
from anabranch.groups.undo import UndoRecord, same, undo
from anabranch.model.groups import Commit, Group, GroupKind, GroupState
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from tests.chance import examples

pytestmark = pytest.mark.unit

PARTS = [TopicPartition("t", 0), TopicPartition("t", 1)]
COPIES = [TopicPartition("c", 0), TopicPartition("c", 1)]
NAMES = ["a", "b"]
Commits = dict[TopicPartition, Commit]


class Groups(RuleBasedStateMachine):
    """Two partitions that are copied with gaps, two groups at each end, and one who moves them."""

    def __init__(self) -> None:
        super().__init__()
        self.ends = [0, 0]
        self.maps = [OffsetMap.of([]), OffsetMap.of([])]
        self.pairs: list[dict[int, int]] = [{}, {}]
        self.source: dict[str, Commits] = {name: {} for name in NAMES}
        self.target: dict[str, Commits | None] = dict.fromkeys(NAMES)
        self.active: set[str] = set()
        self.had: dict[str, list[Commits]] = {name: [] for name in NAMES}
        self.waiting: WaitingCommits = {}
        self.undo: UndoRecord | None = None

    @initialize(start=st.integers(0, 5))
    def begin(self, start: int) -> None:
        """The first lane begins somewhere."""
        self.maps[0] = OffsetMap.of([], start, 0)
        self.ends[0] = start

    @rule(at=st.integers(0, 1), gap=st.integers(0, 3), length=st.integers(1, 4))
    def produce(self, at: int, gap: int, length: int) -> None:
        """The source's log grows."""
        self.ends[at] += gap + length

    @rule(at=st.integers(0, 1), uncopied=st.integers(0, 3), foreign=st.integers(0, 2), length=st.integers(1, 4))
    def copy(self, at: int, uncopied: int, foreign: int, length: int) -> None:
        """The link copies on, past gaps and foreign records, as far as the source goes."""
        ranges = self.maps[at]
        source, target = ranges.source_end + uncopied, ranges.target_end + foreign
        length = min(length, self.ends[at] - source)
        if length > 0:
            self.maps[at] = ranges.append(MappedRange(source, target, length))
            self.pairs[at] |= {source + n: target + n for n in range(length)}
        elif uncopied and source <= self.ends[at]:
            self.maps[at] = ranges.advance(source, ranges.target_end)

    @rule(name=st.sampled_from(NAMES), at=st.integers(0, 1), offset=st.integers(0, 40), noted=st.text(max_size=2))
    def commit(self, name: str, at: int, offset: int, noted: str) -> None:
        """Consumers on the source commit, also backwards."""
        self.source[name][PARTS[at]] = Commit(min(offset, self.ends[at]), noted, 50)

    @rule(name=st.sampled_from(NAMES))
    def join_or_leave(self, name: str) -> None:
        """Someone begins to read on the target, or stops."""
        self.active ^= {name}

    @rule(name=st.sampled_from(NAMES), at=st.integers(0, 1), ahead=st.integers(0, 3))
    def read_there(self, name: str, at: int, ahead: int) -> None:
        """A reader on the target commits."""
        end = self.maps[at].target_end
        commits = dict(self.target[name] or {})
        now = commits.get(COPIES[at], Commit(0)).offset
        commits[COPIES[at]] = Commit(min(now + ahead, end))
        self.target[name] = commits

    @rule()
    def sync(self) -> None:
        """A plan is carried out: what nothing forbids moves wholly and exactly, the rest stands as it stood."""
        found = plan(self.snapshot(still=True), NAMES)
        assert found.hash == plan(self.snapshot(still=True), NAMES).hash
        for one in found.groups:
            before = dict(self.target[one.group] or {})
            if one.step is not GroupStep.MOVE:
                assert not one.writes
                assert one.step is GroupStep.IN_SYNC or one.reasons
                continue
            assert one.group not in self.active
            record = UndoRecord("id", one.group, self.target[one.group] is not None, one.former, one.writes, 0, "test")
            self.target[one.group] = {**before, **one.writes}
            for at, copied in zip(PARTS, COPIES, strict=True):
                if at in self.source[one.group]:
                    self.assert_exact(one.group, at, copied)
            again = undo(record, self.group_there(one.group))
            after = self.undone(one.group, again)
            assert (after or {}) == before
            self.undo = record
        redone = {one.group: one.step for one in plan(self.snapshot(still=True), NAMES).groups}
        assert GroupStep.MOVE not in redone.values()

    def assert_exact(self, name: str, at: TopicPartition, copied: TopicPartition) -> None:
        """The unread records of the source that were copied are those from the position on, and no others."""
        index = PARTS.index(at)
        read_from = self.source[name][at].offset
        position = (self.target[name] or {})[copied]
        unread = {target for source, target in self.pairs[index].items() if source >= read_from}
        seen = {target for target in self.pairs[index].values() if target >= position.offset}
        assert seen == unread
        assert position.metadata == self.source[name][at].metadata
        assert position.leader_epoch == -1

    @precondition(lambda self: self.undo is not None)
    @rule()
    def take_back(self) -> None:
        """Undoing gives back exactly what was there, or refuses where someone has moved since."""
        assert self.undo is not None
        name = self.undo.group
        found = undo(self.undo, self.group_there(name))
        now = dict(self.target[name] or {})
        moved = [
            at
            for at, wrote in self.undo.wrote.items()
            if not same(now.get(at), wrote) and not same(now.get(at), self.undo.former[at])
        ]
        if moved or name in self.active:
            assert found.refusals
            assert found.empty
            return
        after = self.undone(name, found)
        for at, former in self.undo.former.items():
            assert same((after or {}).get(at), former)
        self.target[name] = after
        self.undo = None

    @rule()
    def plan_round(self) -> None:
        """A round of continuous sync: only inactive groups, only forward, never past what was copied."""
        done = plan_round(self.snapshot(still=False), NAMES, self.waiting)
        for one in done.groups:
            self.had[one.group].append(dict(self.source[one.group]))
            assert not (one.writes and one.group in self.active)
            commits = dict(self.target[one.group] or {})
            for at, commit in one.writes.items():
                before = commits.get(at)
                assert before is None or commit.offset >= before.offset
                assert commit.offset <= self.maps[COPIES.index(at)].target_end
                source = PARTS[COPIES.index(at)]
                had = [seen[source] for seen in self.had[one.group] if source in seen]
                assert any(self.is_position(COPIES.index(at), each.offset, commit.offset) for each in had)
                commits[at] = commit
            if one.writes:
                self.target[one.group] = commits
        self.waiting = done.waiting

    def is_position(self, index: int, source: int, target: int) -> bool:
        """Whether a target offset shows what a source offset shows, of what was copied."""
        unread = {there for here, there in self.pairs[index].items() if here >= source}
        return unread == {there for there in self.pairs[index].values() if there >= target}

    @invariant()
    def no_lag_is_negative(self) -> None:
        """No position lies behind the target's end."""
        for commits in self.target.values():
            for at, commit in (commits or {}).items():
                assert commit.offset <= self.maps[COPIES.index(at)].target_end

    def snapshot(self, still: bool) -> GroupsSnapshot:
        """What both clusters tell now."""
        mappings = {
            at: PartitionMapping(copied, ranges, 0, 0, ranges.target_end)
            for at, copied, ranges in zip(PARTS, COPIES, self.maps, strict=True)
        }
        here = {
            name: Group(name, GroupKind.CLASSIC, GroupState.EMPTY, (), dict(commits))
            for name, commits in self.source.items()
        }
        there = {name: found for name in NAMES if (found := self.group_there(name)) is not None}
        later = {name: group.commits for name, group in here.items()} if still else None
        return GroupsSnapshot("l", mappings, here, there, later)

    def group_there(self, name: str) -> Group | None:
        """A group as the target tells of it."""
        commits = self.target[name]
        if commits is None and name not in self.active:
            return None
        state = GroupState.STABLE if name in self.active else GroupState.EMPTY
        return Group(name, GroupKind.CLASSIC, state, (), dict(commits or {}))

    def undone(self, name: str, found: object) -> Commits | None:
        """What a group has after what an undo says."""
        commits = dict(self.target[name] or {})
        commits |= {at: replace(one, leader_epoch=-1) for at, one in found.restore.items()}  # type: ignore[attr-defined]
        for at in found.delete:  # type: ignore[attr-defined]
            del commits[at]
        return None if found.delete_group else commits  # type: ignore[attr-defined]


TestGroups = Groups.TestCase
TestGroups.settings = examples(150, stateful_step_count=40)


def test_a_waiting_position_is_written_before_a_newer_one() -> None:
    """A group that commits at the log's end all the time moves on nevertheless: each round writes what waited."""
    mappings = {PARTS[0]: PartitionMapping(COPIES[0], OffsetMap.of([MappedRange(0, 0, 10)]), 0, 0, 10)}
    ahead = Group("a", GroupKind.CLASSIC, GroupState.STABLE, (), {PARTS[0]: Commit(12)})
    first = plan_round(GroupsSnapshot("l", mappings, {"a": ahead}, {}), ["a"], {})
    assert first.groups[0].writes == {}
    mappings = {PARTS[0]: PartitionMapping(COPIES[0], OffsetMap.of([MappedRange(0, 0, 14)]), 0, 0, 14)}
    further = replace(ahead, commits={PARTS[0]: Commit(16)})
    second = plan_round(GroupsSnapshot("l", mappings, {"a": further}, {}), ["a"], first.waiting)
    assert second.groups[0].writes == {COPIES[0]: Commit(12)}
    assert second.waiting == {"a": {PARTS[0]: Commit(16)}}
