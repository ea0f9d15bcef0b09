"""A link under load and under fire loses, repeats, reorders and alters nothing; the comparison would notice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from qa.faults import EpisodeSpec, FaultKind, run_episode
from qa.faults.episode import EVERY_KIND, LOSABLE, EpisodeResult
from qa.faults.schedule import LOCAL_KINDS
from qa.faults.topics import LoadTopic, TopicKind
from qa.inconclusive import InconclusiveError
from tests.chance import conclusive, seed

pytestmark = [pytest.mark.test, pytest.mark.timeout(3600)]

PLANTED = Path(__file__).parent / "planted"
SHORT = EpisodeSpec(
    seed=20130101,
    seconds=8.0,
    gap=1.2,
    kinds=(FaultKind.WORKER_KILL, FaultKind.WORKER_STOP, FaultKind.TARGET_KILL, FaultKind.TARGET_CUT),
    rate=400,
)
LOCAL = EpisodeSpec(seed=20130101, seconds=30.0, gap=1.8, kinds=LOCAL_KINDS, stop_under_load=True)
STANDALONE = EpisodeSpec(
    seed=20130201,
    seconds=15.0,
    gap=2.5,
    kinds=(FaultKind.EXECUTOR_KILL, FaultKind.WORKER_STOP, FaultKind.TARGET_KILL, FaultKind.DRIVER_KILL),
    standalone=True,
    expiration_ms=None,
)
KINDS = EpisodeSpec(
    seed=20130301,
    seconds=45.0,
    gap=3.0,
    kinds=(FaultKind.WORKER_KILL, FaultKind.TARGET_MOVE, FaultKind.TARGET_KILL, FaultKind.TARGET_UNCLEAN),
    target_brokers=3,
    rate=500,
    topics=(*EVERY_KIND, *LOSABLE),
)
# The lanes that a planted bug stops never catch up, but the next owner must have had the time to take them over.
CONTROL = EpisodeSpec(
    seed=7, seconds=9.0, gap=1.5, kinds=(FaultKind.WORKER_KILL, FaultKind.TARGET_CUT), rate=3000, catch_up_s=20.0
)
ATTEMPTS = 5
PAYMENTS = LoadTopic("payments", 2, old=False, kind=TopicKind.TRANSACTIONAL)


def lived(spec: EpisodeSpec, tmp_path: Path, *more: Callable[[EpisodeResult], str]) -> EpisodeResult:
    """The verdict of an episode whose faults all struck; another is tried where they did not.

    ``more`` say what else had to come about for the episode to tell something; they return why it does not, or nothing.
    """

    def attempt(number: int) -> EpisodeResult:
        verdict = run_episode(replace(spec, seed=seed(spec.seed) + number), keep_in=tmp_path / str(number))
        print(*verdict.lines(), sep="\n")
        assert verdict.wrong == []
        # A run that ended by itself was ended by an error: a link in a crash loop would catch up all the same.
        assert verdict.exits == []
        assert verdict.proof.records > 0
        missing = [f"never injected: {verdict.never_injected}"] if verdict.never_injected else []
        if missing := missing + [why for one in more if (why := one(verdict))]:
            raise InconclusiveError("; ".join(missing))
        return verdict

    return conclusive(attempt)


def test_nothing_is_lost_repeated_reordered_or_altered(tmp_path: Path) -> None:
    """Workers and the target's broker are killed, stopped and cut off, with records of 2013, on ``local[2,8]``."""
    assert lived(SHORT, tmp_path).proof.markers > 0


@pytest.mark.full
def test_nothing_is_lost_repeated_reordered_or_altered_on_local_spark(tmp_path: Path) -> None:
    """Every fault but an executor's, on ``local[2,8]``, with records of 2013 and producer ids that expire."""
    assert lived(LOCAL, tmp_path).proof.markers > 0


@pytest.mark.full
def test_nothing_is_lost_repeated_reordered_or_altered_under_speculation(tmp_path: Path) -> None:
    """Executors are killed and every task gets a speculative attempt; lanes with times of now are identity."""
    verdict = lived(
        STANDALONE, tmp_path, lambda one: "" if one.speculative_attempts else "no task got a speculative attempt"
    )
    assert "identity" in verdict.proof.modes


@pytest.mark.full
def test_logs_of_every_kind_are_copied_exactly_while_leaders_move_and_logs_are_cut(tmp_path: Path) -> None:
    """Transactions, compaction and broker's times, onto three brokers whose leaders move and are elected uncleanly."""
    verdict = lived(
        KINDS,
        tmp_path,
        lambda one: "" if one.proof.cleaned else "no record was cleaned",
        lambda one: "" if min(one.transactions) else "not every kind of transaction",
    )
    assert verdict.proof.gap_records > 0


@pytest.mark.full
@pytest.mark.parametrize(
    ("bug", "seen", "more"),
    [
        ("remembered", "repeated", ()),
        ("altered", "altered", ()),
        ("unwritten", "rebuilt", (PAYMENTS,)),
        ("undropped", "foreign", (PAYMENTS,)),
    ],
)
def test_a_planted_bug_is_found(tmp_path: Path, bug: str, seen: str, more: tuple[LoadTopic, ...]) -> None:
    """Each is named by what it does to the target.

    An owner that trusts its memory repeats records, a copier that turns a byte alters them, one that writes no gap
    records cannot tell from the log what it copied, and one that overlooks aborts adds records.  A kill may fall where
    it does no harm: right behind a filing, or on a process that has not begun; then others follow, at other moments,
    and more of them, with more time for the next owner of a slow machine.
    """
    environment = {"PYTHONPATH": str(PLANTED), "ANABRANCH_PLANTED": bug}
    spec = replace(CONTROL, environment=environment)
    if more:
        spec = replace(spec, topics=more, rate=500)
    found: list[str] = []
    for attempt in range(ATTEMPTS):
        longer = replace(
            spec,
            seed=seed(spec.seed) + attempt,
            seconds=spec.seconds + 6.0 * attempt,
            catch_up_s=spec.catch_up_s + 20.0 * attempt,
        )
        verdict = run_episode(longer, keep_in=tmp_path / str(attempt))
        print(*verdict.lines(), sep="\n")
        found += verdict.proof.wrong
        if any(seen in one for one in found):
            break
    assert any(seen in one for one in found)
