"""Aligning two logs by content: what is certain is true, what is not is said."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.offsets.align.gaps import Gap, Why
from anabranch.offsets.align.islands import Chain, Island, chain, fold_anchors
from anabranch.offsets.align.lane import Aligned, Bounds
from anabranch.offsets.align.places import fold_places
from anabranch.offsets.align.translate import to_source, to_target
from anabranch.offsets.offset_map import MappedRange
from anabranch.offsets.translate import Exact
from tests.chance import examples

from .alignlab import Mirror, align

pytestmark = pytest.mark.unit


@st.composite
def mirrors(
    draw: st.DrawFn,
    *,
    alphabet: int | None,
    crashes: bool = False,
    losses: bool = False,
    gaps: bool = False,
    foreign: bool = False,
    behind: bool = True,
) -> Mirror:
    """A source of some contents (None: all different), and what a mirror made of it."""
    chance = random.Random(draw(st.integers(0, 1 << 32)))
    count = draw(st.integers(0, 40))
    source: dict[int, str] = {}
    offset = 0
    for number in range(count):
        if gaps and chance.random() < 0.15:
            offset += chance.randint(1, 2)
        plain = alphabet is None or chance.random() < 0.3
        source[offset] = f"own {number}" if plain and alphabet != 1 else f"same {chance.randrange(alphabet or 1)}"
        offset += 1
    source_end = offset
    offsets = sorted(source)
    target: dict[int, str] = {}
    truth: dict[int, int] = {}
    lost = {one for one in offsets if losses and chance.random() < 0.15}
    at, to = 0, 0
    backs = chance.randint(1, 3) if crashes else 0
    until = len(offsets) if not behind or chance.random() < 0.5 else chance.randint(0, len(offsets))
    while at < until:
        one = offsets[at]
        if foreign and chance.random() < 0.1:
            target[to] = f"foreign {to}"
            to += 1
        if one not in lost:
            target[to] = source[one]
            truth[to] = one
            to += 1
        at += 1
        if backs and chance.random() < 0.15:
            backs -= 1
            at = max(0, at - chance.randint(1, 6))
    return Mirror(source, target, truth, Bounds(0, source_end, 0, to))


def sound(mirror: Mirror, aligned: Aligned) -> dict[int, int]:
    """The pairs of an alignment, all of equal contents."""
    assert aligned.ranges.is_sound()
    pairs = {mapped.source + at: mapped.target + at for mapped in aligned.ranges for at in range(mapped.length)}
    for here, there in pairs.items():
        assert mirror.source[here] == mirror.target[there]
    before: tuple[int, int] = (-1, -1)
    for one in aligned.unclear:
        assert one.source_from < one.source_to and one.target_from < one.target_to
        assert one.source_from >= before[0] and one.target_from >= before[1]
        before = (one.source_to, one.target_to)
    return pairs


def is_unclear(aligned: Aligned, source: int, target: int) -> bool:
    """Whether a pair lies in a stretch that is told to be unclear."""
    return any(
        one.source_from <= source < one.source_to and one.target_from <= target < one.target_to
        for one in aligned.unclear
    )


def check_truth(mirror: Mirror, aligned: Aligned) -> None:
    """What is certain is true, and what is true is certain or told to be unclear."""
    pairs = sound(mirror, aligned)
    for here, there in pairs.items():
        assert mirror.truth.get(there) == here or is_unclear(aligned, here, there)
    for here, there in mirror.kept().items():
        assert pairs.get(here) == there or is_unclear(aligned, here, there)


def cut(mirror: Mirror) -> random.Random:
    """Batches that differ from mirror to mirror."""
    return random.Random(len(mirror.source) * 31 + len(mirror.target))


@given(mirrors(alphabet=None, crashes=True, losses=True, gaps=True, foreign=True))
@examples(400)
def test_records_that_all_differ_are_mapped_to_their_last_copies_exactly(mirror: Mirror) -> None:
    """Crashes, losses, gaps and foreign records: nothing is unclear, and the pairs are the truth."""
    aligned = align(mirror.source, mirror.target, mirror.bounds, cut(mirror))
    pairs = sound(mirror, aligned)
    assert pairs == mirror.kept()
    assert not aligned.unclear


@given(mirrors(alphabet=3, losses=True, gaps=True, foreign=True))
@examples(800)
def test_lost_records_among_equal_ones_are_never_guessed(mirror: Mirror) -> None:
    """A mirror that left records out: each copy is at its true place, or in a stretch that is told."""
    check_truth(mirror, align(mirror.source, mirror.target, mirror.bounds, cut(mirror)))


@given(mirrors(alphabet=3, crashes=True, gaps=True))
@examples(800)
def test_what_was_copied_again_among_equal_records_is_exact_for_readers(mirror: Mirror) -> None:
    """A mirror that went back and lost nothing: all is mapped, at the last copy or at an equal one behind it."""
    if mirror.target and max(mirror.truth.values()) + 1 < mirror.bounds.source_end:
        mirror = replace(mirror, bounds=mirror.bounds._replace(source_end=max(mirror.truth.values()) + 1))
        mirror = replace(mirror, source={at: one for at, one in mirror.source.items() if at < mirror.bounds.source_end})
    aligned = align(mirror.source, mirror.target, mirror.bounds, cut(mirror))
    pairs = sound(mirror, aligned)
    assert not aligned.unclear
    assert pairs.keys() == mirror.kept().keys()
    assert all(pairs[here] >= there for here, there in mirror.kept().items())


@given(mirrors(alphabet=2, crashes=True, losses=True, gaps=True, foreign=True))
@examples(800)
def test_what_is_paired_has_equal_contents_and_rises_whatever_happened(mirror: Mirror) -> None:
    """Everything at once: pairs are of equal contents, in order, and stretches do not overlap."""
    sound(mirror, align(mirror.source, mirror.target, mirror.bounds, cut(mirror)))


@given(st.lists(st.sampled_from("ab"), max_size=8), st.lists(st.sampled_from("ab"), max_size=8))
@examples(800)
def test_logs_that_have_nothing_to_do_with_each_other_are_sound(here: list[str], there: list[str]) -> None:
    """Any two logs give a sound answer."""
    source, target = dict(enumerate(here)), dict(enumerate(there))
    bounds = Bounds(0, len(here), 0, len(there))
    sound(Mirror(source, target, {}, bounds), align(source, target, bounds))


@given(st.lists(st.lists(st.integers(0, 11), max_size=4), max_size=8))
@examples(1500)
def test_a_position_has_just_the_unread_records_behind_it_in_any_order_of_copies(batches: list[list[int]]) -> None:
    """Whatever order records were copied in: who is not refused misses none and reads none twice."""
    source = {at: f"own {at}" for at in range(12)}
    copies = [one for batch in batches for one in batch]
    aligned = align(source, {at: source[one] for at, one in enumerate(copies)}, Bounds(0, 12, 0, len(copies)))
    for offset in range(13):
        position = to_target(aligned, offset)
        if not isinstance(position, Exact):
            continue
        seen = copies[position.offset :]
        wanted = {one for one in copies if one >= offset and one < aligned.ranges.source_end}
        assert min(seen, default=offset) >= offset
        assert wanted <= set(seen)


def test_inside_an_unclear_stretch_both_directions_refuse() -> None:
    """The refusal has both ranges and the reason; outside of it positions are exact."""
    found = logs("axxxb", "axxb")
    assert to_target(found, 2) == to_source(found, 1) == found.unclear[0]
    assert to_target(found, 0) == Exact(0)
    assert to_target(found, 4) == Exact(3)
    assert to_source(found, 3) == Exact(4)


def test_a_position_in_a_gap_before_an_unclear_stretch_is_refused_with_it() -> None:
    """It would be that of the next copied record, which is one of those that are not told."""
    left_out, foreign = logs("aFxxxb", "axxb"), logs("axxxb", "aFxxb")
    assert to_target(left_out, 1) == left_out.unclear[0] and to_target(left_out, 0) == Exact(0)
    assert to_source(foreign, 1) == foreign.unclear[0] and to_source(foreign, 0) == Exact(0)
    assert to_source(foreign, 4) == Exact(4)


def test_a_position_in_a_gap_before_a_copied_record_is_exact_whatever_is_unclear_behind_it() -> None:
    """A reader there meets that record first."""
    left_out, foreign = logs("aFcxxxb", "acxxb"), logs("acxxxb", "aFcxxb")
    assert left_out.unclear and foreign.unclear
    for found, position in ((to_target(left_out, 1), 1), (to_source(foreign, 1), 1)):
        assert isinstance(found, Exact) and found.offset == position and found.reason is not None
    behind = logs("axxxbQc", "axxbFFc")
    for found, position in ((to_target(behind, 5), 6), (to_source(behind, 4), 6)):
        assert isinstance(found, Exact) and found.offset == position and found.reason is not None


@pytest.mark.parametrize(
    ("ends", "is_void"),
    [((2, 2, 1, 5), True), ((2, 6, 5, 5), True), ((2, 2, 5, 5), True), ((2, 3, 5, 6), False), ((3, 2, 5, 6), True)],
)
def test_a_gap_of_which_one_side_has_nothing_is_void(ends: tuple[int, int, int, int], is_void: bool) -> None:
    """There is nothing to match, and no log is read for it."""
    gap = Gap(*ends)
    assert gap.void is is_void
    assert gap.unclear(Why.LARGE) == (*ends, Why.LARGE)


def test_nothing_comes_of_no_rows() -> None:
    """A task may be given none."""
    none = np.zeros(0, dtype=np.int64)
    assert list(fold_anchors(none, none, none, none)) == []
    assert list(fold_places(none, none, none, none, none)) == []


def logs(here: str, there: str, source_start: int = 0, target_start: int = 0) -> Aligned:
    """Align logs with a letter a record; a dot is an offset without a record."""
    source = {source_start + at: letter for at, letter in enumerate(here) if letter != "."}
    target = {target_start + at: letter for at, letter in enumerate(there) if letter != "."}
    bounds = Bounds(source_start, source_start + len(here), target_start, target_start + len(there))
    return align(source, target, bounds)


def ranges(*numbers: tuple[int, int, int]) -> Sequence[MappedRange]:
    """Ranges of plain numbers."""
    return [MappedRange(*one) for one in numbers]


@pytest.mark.parametrize(
    ("source", "target", "wanted"),
    [
        pytest.param("abcdefghij", "abcdefghfghij", [(0, 0, 5), (5, 8, 5)], id="crash"),
        pytest.param("axbcxd", "axbcxdbcxd", [(0, 0, 2), (2, 6, 4)], id="crash-behind-an-equal-one"),
        pytest.param("abcdef", "abef", [(0, 0, 2), (4, 2, 2)], id="lost"),
        pytest.param("xxxxx", "xxxxx", [(0, 0, 5)], id="constant"),
        pytest.param("axxxb", "axxxb", [(0, 0, 5)], id="constant-between"),
        pytest.param("axx.b", "axxb", [(0, 0, 3), (4, 3, 1)], id="marker-among-equal-ones"),
        pytest.param("axyxb", "axxb", [(0, 0, 2), (3, 2, 2)], id="filtered-among-equal-ones"),
        pytest.param("abcd", "abQd", [(0, 0, 2), (3, 3, 1)], id="altered"),
        pytest.param("abcd", "abQQcd", [(0, 0, 2), (2, 4, 2)], id="foreign"),
        pytest.param("abcdabcd", "abcdabcd", [(0, 0, 8)], id="everything-twice"),
        pytest.param("axb", "axbaxb", [(0, 3, 3)], id="all-again"),
        pytest.param("xabc", "xabcxabc", [(0, 4, 4)], id="all-again-from-an-equal-one"),
        pytest.param("axb", "axxb", [(0, 0, 1), (1, 2, 2)], id="repeated-among-equal-ones"),
    ],
)
def test_known_shapes_are_mapped(source: str, target: str, wanted: list[tuple[int, int, int]]) -> None:
    """Shapes that have one answer get it."""
    found = logs(source, target)
    assert list(found.ranges) == ranges(*wanted)
    assert not found.unclear
    assert found.ranges.target_end == len(target)


def test_a_lost_record_among_equal_ones_is_told_with_both_ranges() -> None:
    """Which of three equal records is missing cannot be known: both stretches are told, the rest is mapped."""
    found = logs("axxxb", "axxb")
    assert list(found.ranges) == ranges((0, 0, 1), (4, 3, 1))
    assert [tuple(one) for one in found.unclear] == [(1, 4, 1, 3, Why.SEVERAL)]


def test_a_constant_log_that_is_shorter_is_unclear_to_its_end() -> None:
    """Without an anchor only equal counts tell."""
    found = logs("xxxx", "xxx")
    assert not found.ranges
    assert [tuple(one) for one in found.unclear] == [(0, 4, 0, 3, Why.SEVERAL)]
    assert found.ranges.source_end == 4


def test_records_copied_out_of_order_give_no_position() -> None:
    """A reader in between would miss some or read some twice, so it is told."""
    found = logs("abcdefgh", "abefcdgh")
    assert list(found.ranges) == ranges((0, 0, 2), (2, 4, 2), (6, 6, 2))
    assert [tuple(one) for one in found.unclear] == [(2, 6, 2, 6, Why.ORDER)]


def test_a_mirror_that_died_while_copying_again_ends_where_it_died() -> None:
    """What has only an earlier copy lies past the map's end: a link goes on there, and nobody reads anything twice."""
    found = logs("abcdefgh", "abcdefghcd")
    assert list(found.ranges) == ranges((0, 0, 2), (2, 8, 2))
    assert not found.unclear
    assert (found.ranges.source_end, found.ranges.target_end) == (4, 10)


def test_a_source_that_lost_its_beginning_begins_the_map_at_its_start() -> None:
    """Older copies on the target are before the map, as is all of the source that is gone."""
    found = logs("defgh", "abcdefgh", source_start=3)
    assert list(found.ranges) == ranges((3, 3, 5))
    assert (found.ranges.source_start, found.ranges.target_start) == (3, 3)


def test_equal_contents_before_the_first_anchor_say_nothing_where_the_source_lost_its_beginning() -> None:
    """What was copied may be what is gone."""
    found = logs("xxab", "xxab", source_start=7)
    assert list(found.ranges) == ranges((9, 2, 2))
    assert [tuple(one) for one in found.unclear] == [(7, 9, 0, 2, Why.SEVERAL)]


def test_records_that_only_one_side_has_kept_do_not_move_the_others() -> None:
    """A compacted log has fewer records, at the same offsets."""
    found = logs("axyzbxc", "a..zbxc")
    assert list(found.ranges) == ranges((0, 0, 1), (3, 3, 4))
    assert not found.unclear


def test_two_logs_without_records_make_an_empty_map() -> None:
    """There is nothing to say, and nothing unclear."""
    found = logs("", "")
    assert not found.ranges
    assert not found.unclear


def test_what_repeats_is_no_evidence_where_the_source_has_lost_its_beginning() -> None:
    """Each copy may be one of a record that is gone; one record that is single on both sides is enough."""
    repeated, single = Island(10, 110, 5, 5, 0), Island(20, 120, 5, 5, 1)
    assert chain([repeated, single], headless=True) == Chain((single,), ())
    assert chain([repeated, single], headless=False) == Chain((repeated, single), ())
