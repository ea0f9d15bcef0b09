"""What is waited for is waited for by the one number that is scaled: a slow machine is no failure."""

from __future__ import annotations

import re

import pytest

from qa import patience
from qa.patience import ROOT, meant
from qa.timeouts import SCALE

pytestmark = pytest.mark.unit

SIMULATED = ("qa/simulation/", "tests/simulation/", "tests/unit/copier/test_lease_runner.py")
"""Whose seconds are a simulated clock's."""
_SIGNATURE = "the signature of what it stands in for"
_PASSES = "it is to pass"
_LONG = "how long something lasts that is done"
_STANDS_IN = "the client is a stand-in, which waits for nothing"
MEANT = {
    "qa/faults/transactions.py": {"Transactor._transaction": "what is left hanging need not be written as well"},
    "qa/moves/readers.py": {"GroupReader._consume": "how often it commits"},
    "qa/moves/trials.py": {"run_moves": _LONG},
    "qa/soak.py": {"soak": "the time that a person gave"},
    "tests/contract/test_groups.py": {"test_commits_in_an_open_transaction_are_waited_for": _PASSES},
    "tests/contract/test_idle_connections.py": {
        "test_a_connection_that_waits_longer_than_that_for_an_answer_is_closed": "longer than it may be idle",
        "test_an_answer_counts_as_well_as_a_question": "shorter than it may be idle",
    },
    "tests/fault/test_moved_identity.py": {"Moving._move": _LONG},
    "tests/fault/test_moves.py": {"test_a_move_that_is_one_record_off_is_noticed": _LONG},
    "tests/integration/kafka/test_connections.py": {"test_a_port_that_never_answers_is_given_up": _PASSES},
    "tests/integration/links/test_leases.py": {"Staff.leases": "how long a lease is"},
    "tests/integration/sandbox/test_sandbox_proxy.py": {
        "test_a_stall_holds_everything_and_loses_nothing": "how long a stall is held",
        "test_a_delay_holds_both_directions": "what a delay takes at least",
    },
    "tests/integration/sdk/test_callbacks.py": {
        "test_callbacks_that_write_in_a_thread_of_their_own_hold_no_switch_up.serve": "a call that lasts",
    },
    "tests/integration/sdk/test_coordinated.py": {
        "test_a_straggler_gives_a_switch_up_and_everybody_goes_on": _PASSES,
    },
    "tests/integration/sdk/test_cut_off.py": {
        "test_a_switch_whose_new_cluster_is_gone_is_given_up_and_all_go_on": _PASSES,
        "test_clients_that_the_service_does_not_reach_go_on_where_they_are": _PASSES,
        "test_a_producer_that_the_service_does_not_reach_is_left_behind_where_that_is_the_policy": _PASSES,
        "test_a_group_is_not_moved_without_a_consumer_that_the_service_does_not_hear_of": _PASSES,
        "test_a_client_whose_cluster_does_not_answer_in_time_gives_the_switch_up": _PASSES,
    },
    "tests/integration/sdk/test_killed_switches.py": {
        "test_an_application_that_is_killed_as_it_is_asked_to_pause_is_moved_later": _PASSES,
    },
    "tests/integration/sdk/test_switching.py": {
        "test_a_call_that_is_held_back_for_too_long_says_so_as_a_full_queue_does": "nothing is there to be waited for",
    },
    "tests/integration/service/test_openlineage_sending.py": {
        "test_what_is_not_taken_is_counted_and_whoever_tells_waits_for_nothing.told": _PASSES,
    },
    "tests/integration/streams/test_connector_counts.py": {
        "test_a_database_that_is_away_counts_retries_while_it_is_and_an_error_where_it_stays": _PASSES,
    },
    "tests/integration/streams/test_trial_rows.py": {"test_a_preview_ends_at_its_limits": _PASSES},
    "tests/packaging/test_serving_wheel.py": {"": "where nobody answers"},
    "tests/unit/cli/test_stream_lines.py": {
        "test_a_run_tells_its_batches_and_shows_rows_apart": "what is shown",
    },
    "tests/unit/copier/test_safety.py": {
        "test_brokers_that_hang_hold_a_plan_up_only_once.asked": "less than a request may take that nobody gives up",
    },
    "tests/unit/kafka/test_access_answers.py": {"Answering.call": _SIGNATURE},
    "tests/unit/kafka/test_coordinator_lost.py": {"Handing.call": _SIGNATURE, "Moving.call": _SIGNATURE},
    "tests/unit/kafka/test_log_dirs.py": {"Told.call": _SIGNATURE},
    "tests/unit/kafka/test_login_again.py": {
        "test_a_token_that_cannot_be_had_is_asked_for_until_the_login_is_over.ask": "a simulated clock",
    },
    "tests/unit/kafka/test_presence.py": {
        "test_all_brokers_are_asked_and_the_one_that_knows_counts.forget": "a simulated clock",
    },
    "tests/unit/kafka/test_settling.py": {"Told.call": _SIGNATURE},
    "tests/unit/sdk/test_hanging.py": {
        "test_an_application_does_not_wait_in_its_commit_for_a_cluster_that_is_lost": _PASSES,
    },
    "tests/unit/sdk/test_writers.py": {
        "test_a_callback_writes_nothing_to_a_cluster_that_is_lost": _STANDS_IN,
        "test_a_transaction_writes_to_a_topic_that_it_comes_to_while_a_switch_waits_for_it": _STANDS_IN,
    },
}
"""Where a number is what the file or test is about: file and function to why."""
PAGES = re.compile(r"\btimeout: ?[\d_]++(?! \*)|setDefaultTimeout\([\d_]+\)|_MS = [\d_]++(?! \*)")


@pytest.mark.test
def test_what_is_waited_for_is_scaled() -> None:
    """``qa.timeouts`` has the limits, but for those that are meant; and no more are excepted than there are."""
    found = patience.places(patience.unscaled, SIMULATED)
    assert [str(one) for place in found.keys() - meant(MEANT) for one in found[place]] == []
    assert meant(MEANT) - found.keys() == set(), "nothing waits there by a number of its own any more"


@pytest.mark.parametrize(
    "text",
    [
        "process.wait(5)",
        "asyncio.timeout(3)",
        "admin.list_topics(timeout=30)",
        "def until(condition, seconds=30.0): ...",
        "deadline = time.monotonic() + 10",
        "while time.monotonic() - began < 2.5: pass",
        "await asyncio.wait_for(task, 1.0)",
        "_ANSWER_S = 10.0\nfuture.result(_ANSWER_S)",
        "future.result(_A)\n_A = 2 * 30.0",
        "await asyncio.to_thread(begun.wait, 30)",
        "assert not began.wait(0.3)",
        "assert consumer.poll(0.5) is None",
        "producer.flush(60)",
        "for _ in range(50):\n    over.wait(0.1)",
        "sdk.begin(timeout_s=20 if late else PATIENCE_S)",
    ],
)
def test_a_wait_of_seconds_is_found(text: str) -> None:
    """However it is written."""
    assert len(patience.unscaled("tests/one.py", text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "process.wait(TIMEOUT_S)",
        "_ANSWER_S = 10.0 * SCALE\nfuture.result(_ANSWER_S)",
        "while not over.wait(0.5): look()",
        "message = consumer.poll(0.1)",
        "from qa.timeouts import TIMEOUT_S\nprocess.wait(2 * TIMEOUT_S)",
        "' '.join(words)",
        "found.wait(0)",
        "from anabranch.routes import ROUND_S\nfuture.result(ROUND_S)",
    ],
)
def test_a_scaled_wait_and_a_pause_are_none(text: str) -> None:
    """Nor is a product's own bound."""
    assert patience.unscaled("tests/one.py", text) == []


def test_pages_are_waited_for_by_the_same_number() -> None:
    """In the tests of the web pages, too."""
    files = {file.name: file.read_text("utf-8") for file in (ROOT / "web" / "tests").rglob("*.mjs")}
    assert len(files) > 1
    assert {name: found for name, text in files.items() if (found := PAGES.findall(text))} == {}


def test_a_test_may_take_as_long_as_the_machine_is_slow(request: pytest.FixtureRequest) -> None:
    """What ends a test that hangs is scaled for all of them where they are collected."""
    mark = request.node.get_closest_marker("timeout")
    assert mark is not None and mark.args == (float(request.config.getini("timeout")) * SCALE,)
