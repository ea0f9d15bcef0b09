"""Thousands of random interleavings of the lane protocol: none breaks ours, each broken variant is found out.

``ANABRANCH_MODEL_SCALE=20 pytest tests/model`` explores that many times more; the table is printed at the end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

import pytest
from lanesim.explorer import Run, Tally, Variant, explore
from lanesim.partition import Violation
from lanesim.variants import BROKEN, HARMLESS, OURS

from tests.chance import ARE_NEW, seed

pytestmark = pytest.mark.test

SCALE = float(os.environ.get("ANABRANCH_MODEL_SCALE", "1"))
RUNS = int((600 if ARE_NEW else 300) * SCALE)
QUICK = 25
WALKED = 600
"""Runs of a variant whose paths are counted."""
SLOW = {"K11": 800, "H14": 530, "H18": 2490, "H19": 100, "H21": 200, "R3": 630}
"""Broken variants that it takes many seeds to find out, and the first that are tried, unless all is new."""
TRIES = 12_000
SEEN_AS = {"forget": "gap record forgotten"}
"""Faults that owners do by themselves as well."""


PATHS = (
    ("R", "reclaimed"),
    ("C", "converted"),
    ("C", "identity ownership"),
    ("K3", "LEADER_EPOCH"),
    ("K1", "FENCED"),
    ("K2", "SUPERSEDED"),
    ("K1f", "mapped ownership"),
    ("K1w", "id forgotten"),
    ("H8", "jump"),
    ("H9", "cut persisted"),
    ("H10", "gap record forgotten"),
    ("H3", "JOURNAL"),
    ("H10", "reclaimed"),
)
"""What must have been seen of a variant of ours."""


@cache
def explored(variant: Variant) -> Tally:
    """What comes of one of ours: explored once, for what must hold and for the paths that were walked."""
    first = seed(0)
    return explore(variant, range(first, first + (max(RUNS, WALKED) if variant.key in dict(PATHS) else RUNS)))


@pytest.fixture(scope="module")
def table(request: pytest.FixtureRequest) -> Iterator[dict[Variant, Tally]]:
    """What came of each variant; printed when all are done."""
    tallies: dict[Variant, Tally] = {}
    yield tallies
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    capture = request.config.pluginmanager.get_plugin("capturemanager")
    if reporter is None or capture is None or not tallies:
        return
    with capture.global_and_fixture_disabled():
        write_table(reporter, tallies)


def write_table(reporter: pytest.TerminalReporter, tallies: dict[Variant, Tally]) -> None:
    """One line a variant: how much was tried, what was found, and where first."""
    reporter.write_line("")
    reporter.write_line(f"{'':5}{'variant':48}{'runs':>8}{'events':>10}{'ownerships':>9}{'found':>7}  first seen")
    for variant, tally in tallies.items():
        first = f"seed {tally.counterexamples[0][0]}: {tally.counterexamples[0][1]}" if tally.counterexamples else ""
        reporter.write_line(
            f"{variant.key:5}{variant.what:48}{tally.runs:8,}{tally.events:10,}{tally.ownerships:9,}"
            f"{len(tally.counterexamples):7}  {first[:90]}"
        )


def names(variants: tuple[Variant, ...]) -> list[str]:
    """Test ids that say what is tried."""
    return [f"{v.key}: {v.what}" for v in variants]


@pytest.mark.unit
@pytest.mark.parametrize("variant", OURS, ids=names(OURS))
def test_a_few_interleavings_of_each_variant_hold(variant: Variant) -> None:
    """What is tried many times elsewhere, at each change."""
    first = seed(0)
    assert not explore(variant, range(first, first + QUICK)).counterexamples


@pytest.mark.parametrize("variant", OURS, ids=names(OURS))
def test_no_interleaving_loses_repeats_reorders_or_misfiles(variant: Variant, table: dict[Variant, Tally]) -> None:
    """The protocol as implemented copies the source exactly, whatever strikes."""
    tally = table[variant] = explored(variant)
    assert not tally.counterexamples, tally.counterexamples[0]
    assert tally.runs >= RUNS
    never = [fault for fault in variant.faults if not tally.strikes[fault] and not tally.strikes[SEEN_AS.get(fault)]]
    assert not never, f"never struck: {never}"


@pytest.mark.parametrize("variant", HARMLESS, ids=names(HARMLESS))
def test_a_variant_known_to_be_harmless_stays_so(variant: Variant, table: dict[Variant, Tally]) -> None:
    """The checker does not cry wolf over variants that are safe under their conditions."""
    first = seed(0)
    tally = table[variant] = explore(variant, range(first, first + RUNS // 3))
    assert not tally.counterexamples, tally.counterexamples[0]


@pytest.mark.parametrize(
    "variant",
    [pytest.param(one, marks=[] if one.key in SLOW else [pytest.mark.unit]) for one in BROKEN],
    ids=names(BROKEN),
)
def test_a_broken_variant_is_found_out(variant: Variant, table: dict[Variant, Tally]) -> None:
    """The checker has teeth: a counterexample within a bounded number of seeds, the same one each time."""
    tally = table[variant] = explore(variant, range(0 if ARE_NEW else SLOW.get(variant.key, 0), TRIES))
    assert tally.counterexamples, f"no counterexample in {tally.runs} interleavings"
    found, violation = tally.counterexamples[0]
    again = explore(variant, range(found, found + 1))
    assert str(again.counterexamples[0][1]) == str(violation)


@pytest.mark.parametrize(("key", "seen"), PATHS)
def test_the_paths_that_matter_are_walked(key: str, seen: str) -> None:
    """A variant that never reaches what it is about proves nothing."""
    variant = next(v for v in OURS if v.key == key)
    assert explored(variant).strikes[seen] > 10


def test_a_request_that_outlives_two_unclean_elections_never_goes_unnoticed() -> None:
    """What the protocol cannot prevent, it names: no log is left wrong without the lane being stopped.

    Here, and only here, requests stay on their way while the leader changes to a broker that lacks the end of the log
    and back; a produce carries no leader epoch, so one may be appended past a gap.
    """
    variant = Variant("X", "requests outlive elections", faults=("expire", "truncate and back"))
    wrong = 0
    first = seed(0)
    for number in range(first, first + (3000 if ARE_NEW else 1000)):
        run = Run(variant, number, Tally())
        run.world.requests_survive = run.world.partition.tolerant = True
        try:
            run.play()
            stopped = False
        except Violation as violation:
            stopped = any(words in violation.detail for words in ("do not follow each other", "can no longer be told"))
        if not run.world.partition.is_right():
            wrong += 1
            assert stopped, f"seed {number}: {run.world.partition.describe()}"
    assert wrong > 5
