"""What is lost of the control topics, as ``docs/what-if.md`` tells it."""

from __future__ import annotations

from collections import Counter

import pytest

from anabranch.copier.write_gate import HOLD_SECONDS
from anabranch.model.decisions import Cause, PendingDecision
from anabranch.model.lane import LaneState
from anabranch.model.link import ModePolicy
from anabranch.operations.links.pending_decisions import HistoryLostError
from anabranch.protocol.endings import Stop
from anabranch.state.codecs import topics
from qa.faults.topics import LoadTopic, TopicKind
from qa.simulation.load import entries
from qa.simulation.run import Run
from tests.chance import seed
from tests.simulation.watched import TOPIC, Watched, lanes, watched

pytestmark = pytest.mark.test

TRANSACTIONAL = LoadTopic(TOPIC, 1, old=False, kind=TopicKind.TRANSACTIONAL)
LIVES = 20
"""As many are tried, until in one it came to what a test is about."""
NEVER_S = 1e9


@pytest.mark.parametrize("mode", [ModePolicy.AUTO, ModePolicy.MAPPED])
def test_without_its_progress_a_link_goes_on_exactly_and_counts_again(mode: ModePolicy) -> None:
    """A log with transactions, whose worker was killed: positions are in the target's log."""
    with watched(seed(2), mode, TRANSACTIONAL, 0.05) as link:
        run = link.run()
        link.until(lambda: link.end_of("target") > 300)
        run.kill()
        run.workers[-1].process.kill()
        link.pass_(5.0)
        before = lanes(link.persisted(topics.PROGRESS))[-1]
        link.lose(topics.PROGRESS)
        run = link.run()
        link.until(lambda: not run.is_alive)
        assert "deleted and made again" in run.exits[0]
        link.accept()
        run = link.run()
        link.until(lambda: link.end_of("target") > 600)
        link.pass_(3.0)
        after = lanes(link.persisted(topics.PROGRESS))[-1]
        assert after.position > before.position > 0
        assert after.position - after.records > before.position // 3, "what was copied before is counted no more"
        assert link.judge() == []
        link.end(run)


def test_a_lane_of_which_everything_was_forgotten_is_not_copied_again() -> None:
    """Claims, runs and progress, deleted and made again while nobody read: they look as before the first run."""
    with watched(seed(4)) as link:
        run = link.run()
        link.until(lambda: link.end_of("target") > 50)
        run.kill()
        run.workers[-1].process.kill()
        link.pass_(5.0)
        for name in (topics.CLAIMS, topics.RUNS, topics.PROGRESS):
            link.lose(name)
        before = link.end_of("target")
        run = link.run()
        link.until(lambda: not run.is_alive)
        assert "final: " in run.exits[0] and "deleted and made again" in run.exits[0]
        with pytest.raises(HistoryLostError):
            link.accept()
        assert link.end_of("target") == before


@pytest.mark.parametrize("made_again", [True, False])
def test_without_gap_records_and_runs_a_link_goes_on_exactly_once_that_is_accepted(made_again: bool) -> None:
    """A log with transactions whose worker ended cleanly: progress tells how far it came."""
    with watched(seed(7), ModePolicy.MAPPED, TRANSACTIONAL, 0.05) as link:
        run = link.run()
        link.until(lambda: link.end_of("target") > 300, 200.0)
        link.end(run)
        for name in (topics.GAP_RECORDS, topics.RUNS):
            link.lose(name, made_again=made_again)
        link.pass_(3.0)
        link.accept()
        run = link.run()
        link.until(lambda: link.end_of("target") > 600)
        assert copies(link) == {1}
        link.end(run)


def test_a_lane_whose_worker_died_before_it_reported_waits_for_a_decision_once_claims_are_lost() -> None:
    """Nothing but the target's records shows that it was begun: it may not begin again without a word."""
    first = seed(145)
    assert any(died_before_it_reported(number) for number in range(first, first + LIVES)), "each has reported"


def died_before_it_reported(number: int) -> bool:
    """Whether a life came to that, whose records are then in doubt and named."""
    with watched(number, ModePolicy.MAPPED, load_gap_s=0.05) as link:
        link.pass_(1.0)
        run = link.run()
        link.until(lambda: link.end_of("target") > 5)
        kill(link, run)
        if lanes(link.persisted(topics.PROGRESS)):
            return False
        choice = lost_claims(link)
        assert "end every run first" in choice.means
        copies_on(link, choice)
        return True


@pytest.mark.parametrize("fixed", [3, 8])
def test_a_lane_whose_worker_died_after_it_reported_nothing_copied_waits_for_a_decision_too(fixed: int) -> None:
    """It followed an empty log, and copied before it reported again."""
    first = seed(fixed)
    assert any(died_after_it_reported(number) for number in range(first, first + LIVES)), "each has reported again"


def died_after_it_reported(number: int) -> bool:
    """Whether a life came to that, whose records are then in doubt and named."""
    with watched(number, ModePolicy.MAPPED, TRANSACTIONAL, NEVER_S) as link:
        run = link.run()
        link.until(lambda: lanes(link.persisted(topics.PROGRESS)) != [])
        link.life.load.gap_s = 0.05
        link.life.load.start()
        link.until(lambda: link.end_of("target") > 5, 200.0)
        kill(link, run)
        if lanes(link.persisted(topics.PROGRESS))[-1].position:
            return False
        copies_on(link, lost_claims(link))
        return True


def kill(link: Watched, run: Run) -> None:
    """Of a run's driver and its worker nothing comes any more."""
    run.kill()
    run.workers[-1].process.kill()
    link.pass_(5.0)


def lost_claims(link: Watched) -> PendingDecision:
    """The claims are lost; what waits for a decision since then, and is accepted."""
    link.lose(topics.CLAIMS)
    link.pass_(2.0)
    (choice,) = link.accept().pending
    assert isinstance(choice, PendingDecision) and choice.cause is Cause.CLAIMS_LOST
    return choice


def copies_on(link: Watched, choice: PendingDecision) -> None:
    """Another run copies the rest; what is twice then is what the decision has named."""
    run = link.run()
    link.pass_(10.0)
    link.life.load.stop()
    link.pass_(20.0)
    repeated = twice(link)
    assert choice.twice is not None and repeated
    assert all(choice.twice[0] <= offset < choice.twice[1] for offset in repeated)
    link.end(run)


def test_a_new_generation_that_had_reported_nothing_copied_waits_for_a_decision_too() -> None:
    """Its target holds what the generation before copied: what came since its report is in doubt."""
    with watched(seed(1), ModePolicy.MAPPED, LoadTopic(TOPIC, 1, old=False), 0.05) as link:
        run = link.run()
        link.until(lambda: link.end_of("target") > 100, 200.0)
        link.life.load.stop()
        link.pass_(5.0)
        link.end(run)
        link.lose(topics.CLAIMS)
        link.pass_(2.0)
        link.accept()
        before = link.end_of("target")
        run = link.run()

        def reported() -> bool:
            found = lanes(link.persisted(topics.PROGRESS))
            return bool(found) and found[-1].lane.generation == 1

        link.until(reported, 60.0)
        link.pass_(3.3)
        link.life.load.is_over = False
        link.life.load.start()
        link.until(lambda: link.end_of("target") > before + 3, 20.0)
        run.kill()
        run.workers[-1].process.kill()
        link.pass_(5.0)
        link.lose(topics.CLAIMS)
        link.pass_(2.0)
        already = set(twice(link))
        (choice,) = link.accept().pending
        assert choice.cause is Cause.CLAIMS_LOST and choice.twice is not None
        run = link.run()
        link.pass_(10.0)
        link.life.load.stop()
        link.pass_(20.0)
        repeated = set(twice(link)) - already
        assert repeated and all(choice.twice[0] <= offset < choice.twice[1] for offset in repeated)
        link.end(run)


def twice(link: Watched) -> list[int]:
    """The source offsets of the records that the target has more than once."""
    source, target = link.partition("source"), link.partition("target")
    assert source is not None and target is not None
    offsets = {one.digest: one.offset for one in entries(source, committed=True)}
    counts = Counter(one.digest for one in entries(target, committed=False))
    return [offsets[digest] for digest, count in counts.items() if count > 1]


def test_without_its_runs_a_lane_that_forgot_gap_records_stops_until_that_is_accepted() -> None:
    """Gap records are forgotten behind persisted runs: nothing tells where its first records are from any more."""
    with watched(seed(7), ModePolicy.MAPPED, TRANSACTIONAL, 0.05) as link:
        run = link.run()
        link.until(lambda: link.end_of("target") > 100, 100.0)
        link.pass_(60.0)
        link.end(run)
        link.lose(topics.RUNS)
        assert link.accept().pending == (), "only the lane's next owner finds out"
        before = link.end_of("target")
        run = link.run()
        link.pass_(10.0)
        stopped = lanes(link.persisted(topics.PROGRESS))[-1]
        assert stopped.state is LaneState.STOPPED and Stop.POSITION_LOST.value in str(stopped.stop_reason)
        claims = len(link.persisted(topics.CLAIMS))
        link.pass_(30.0)
        assert (link.end_of("target"), len(link.persisted(topics.CLAIMS))) == (before, claims)
        (choice,) = link.accept().pending
        assert (choice.decision.start, choice.twice, choice.given_up) == (stopped.position, None, None)
        link.until(lambda: link.end_of("target") > before + 300)
        assert copies(link) == {1}
        link.end(run)


def copies(link: Watched) -> set[int]:
    """Stop writing, wait until all is copied, and say how often the target has each record of the source, in order."""
    link.life.load.stop()
    link.pass_(20.0)
    source, target = link.partition("source"), link.partition("target")
    assert source is not None and target is not None
    wanted, found = ([one.digest for one in entries(log, committed=log is source)] for log in (source, target))
    counts = Counter(found)
    if set(counts.values()) == {1}:
        assert found == wanted
    assert not counts.keys() - set(wanted)
    return {counts[one] for one in wanted}


@pytest.mark.parametrize("fixed", [7, 11])
def test_what_may_be_twice_once_lost_claims_are_accepted_is_named(fixed: int) -> None:
    """A log with transactions whose worker was killed: its last records are in no map, nor are the gaps between."""
    with watched(seed(fixed), ModePolicy.MAPPED, TRANSACTIONAL, 0.02) as link:
        run = link.run()
        link.until(lambda: link.end_of("target") > 300, 200.0)
        run.kill()
        run.workers[-1].process.kill()
        link.pass_(8.0)
        link.lose(topics.CLAIMS)
        link.pass_(2.0)
        (choice,) = link.accept().pending
        assert isinstance(choice, PendingDecision)
        copies_on(link, choice)


@pytest.mark.parametrize("topic", [topics.LINKS, topics.CLAIMS, topics.PROGRESS])
def test_while_a_control_topic_is_gone_nothing_is_copied(topic: str) -> None:
    """A worker that cannot read what is wanted, and who owns what, writes nothing once what it knows is seconds old."""
    with watched(seed(3)) as link:
        run = link.run()
        link.until(lambda: link.end_of("target") > 50)
        link.lose(topic, made_again=False)
        at = link.now
        link.pass_(20.0)
        assert link.grown(at + HOLD_SECONDS + 1.0, link.now) == 0
        assert link.end_of("source") > link.end_of("target") + 50
        run.kill()


@pytest.mark.parametrize("made_again", [True, False])
@pytest.mark.parametrize("topic", [topics.LINKS, topics.PROGRESS, topics.CLAIMS, topics.RUNS, topics.GAP_RECORDS])
def test_a_control_topic_that_is_lost_while_a_run_copies_ends_it_soon(topic: str, made_again: bool) -> None:
    """Also one that is read by takeovers alone, on a lane without gaps, in the midst of a long lease."""
    with watched(seed(5), ModePolicy.AUTO, LoadTopic(TOPIC, 1, old=False), 0.1) as link:
        run = link.run(lease_seconds=300.0)
        link.until(lambda: link.end_of("target") > 50, 100.0)
        began = link.now
        link.lose(topic, made_again=made_again)
        link.until(lambda: bool(run.exits) or not run.is_alive, 60.0)
        assert link.now - began < (10.0 if made_again else 40.0)
        assert "was deleted" in run.exits[-1]
