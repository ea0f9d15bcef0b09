"""What `anabranch route` shows: tables, ways, changes and clients, on values as the service answers them."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

import pytest
from rich.console import Console, RenderableType
from typer.testing import CliRunner

from anabranch.cli.app import app
from anabranch.cli.hints import quoted
from anabranch.cli.routes import render, render_change, render_clients, render_switches
from anabranch.cli.routes.options import parameters_of, policy_fields, repeated_policy
from anabranch.cli.routes.switches import cancel
from anabranch.cli.service_operation import progress_text
from anabranch.errors import InvalidFieldError
from anabranch.model.plans import PlanChangedError
from anabranch.model.reasons import Reason, Severity
from anabranch.model.routing import Client, ClientFacts, ClientReport, ClientRole, RouteQuery
from anabranch.operations.documents import plain
from anabranch.operations.routes.cancel import CancelledSwitch, CancelSwitchPlan
from anabranch.routes.impact import impact
from anabranch.routes.journal import switch_fields
from anabranch.routes.resolve import resolve
from anabranch.routes.routing import route, router
from anabranch.routes.switch import (
    NamedClient,
    Ready,
    Stragglers,
    Switch,
    SwitchPolicy,
    SwitchState,
    WhenLost,
)
from anabranch.routes.table import RouteTable
from anabranch.service.switch_answers import summary_of, switch_answer
from anabranch.service.verbs.routes import RollbackRequest
from anabranch.store.switches import StoredSwitch
from tests.unit.routes.test_resolving import CONTEXTS, rule, table

pytestmark = pytest.mark.unit

PLAN_HASH = "0123456789ab"
NOW = 1_760_000_000_000
JOB = RouteQuery("orders", ClientRole.CONSUMER, ("sales",), "enrich-1234", "", {"job_id": "1234"})


def text(renderable: RenderableType, width: int = 180) -> str:
    """What a terminal of that width shows."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def client(name: str, role: ClientRole, group: str = "", **more: Any) -> Client:
    """A registered client, heard of three seconds ago."""
    facts = ClientFacts("shop", f"host-{name}", "10.0.0.1", 42, "0.1")
    fields: dict[str, Any] = {"cluster": "old", "report": ClientReport(7, lag=1234), **more}
    return Client(
        name, facts, RouteQuery("orders", role, ("sales",), group, name), NOW, NOW - 3000, NOW + 9000, **fields
    )


def listed(*found: tuple[Client, bool, bool]) -> Mapping[str, Any]:
    """The answer that has clients, each with whether it is behind and whether it is live."""
    told = [{**plain(one), "behind": behind, "live": live} for one, behind, live in found]
    return {"total": 812, "matching": len(told), "offset": 0, "clients": told}


def explained(made: RouteTable, query: RouteQuery) -> Mapping[str, Any]:
    """The answer that explains a route."""
    return {"route": plain(route(made, 4, CONTEXTS, query)), "problem": None, "ways": plain(resolve(made, query))}


def planned(before: RouteTable, after: RouteTable, *found: Client) -> str:
    """What is shown of a change."""
    moved = impact(router(before, 1, CONTEXTS), router(after, 2, CONTEXTS), found)
    switch = [{"before": "old", "after": "new", "link": "old-new", "clients": len(found)}] if found else []
    document = {"base": 7, "hash": "5f0c2b9e4d71a836", "reasons": [], "switch": switch, "impact": plain(moved)}
    return text(render_change.plan(before, after, document))


def test_a_table_is_shown_in_the_order_in_which_it_decides() -> None:
    """With who published it and why, and what differs from the default."""
    made = table(
        {"orders": {"cluster": "old", "description": "team shop"}, "shop": {"code": "orders"}},
        rule("all", "new", 0, role="consumer"),
        rule("job", {"cluster": "a1", "topics": "old.{topic}", "write": False}, 100, parameters={"job_id": "1*"}),
        clusters={"old": {"bootstrap": ["kafka:9092"]}},
    )
    answer = {"version": 3, "at_ms": NOW, "author": "mei", "reason": "a pilot"}
    shown = text(render.version(answer, made))
    assert "version 3, 2025-10-09 08:53:20 by mei: a pilot" in shown
    assert shown.index("job_id 1*") < shown.index("consumer")
    for part in ("code orders", "team shop", "cluster a1, topics old.{topic}, may only read", "kafka:9092"):
        assert part in shown
    assert "no codes" in text(render.version(answer, RouteTable()))
    assert "anabranch route apply -f FILE" in text(render.versions([]))


def test_an_explanation_says_which_rule_won_and_why_no_other_did() -> None:
    """Each hop with all that was looked at: what matches with a lower priority is told from what does not match."""
    made = table(
        {"orders": {"code": "north"}, "north": {"cluster": "old"}},
        rule("job", "a1", 100, code="north", group="enrich-*", parameters={"job_id": "1234"}),
        rule("readers", "new", 5, code="north", role="consumer"),
        rule("writers", "new", 7, code="north", role="producer", topic="x"),
    )
    lines = [line.strip() for line in text(render.explanation(explained(made, JOB))).splitlines()]
    assert lines[0] == "code orders leads to cluster a1 by rule job, since version 4; may read and write"
    assert "a1:9092, PLAINTEXT" in lines[1]
    hops = [line for line in lines if line.startswith("code ") and "decides" in line]
    assert hops == [
        "code orders: no rule matches, the code decides: code north",
        "code north: rule job decides: cluster a1",
    ]
    there = lines[lines.index(hops[1]) :]
    assert "100  rule job matches, and decides" in there
    assert "5  rule readers matches, and has a lower priority than job" in there
    assert "7  rule writers does not match: it is a consumer, not a producer, its topic is 'sales', not x" in there


def test_ten_thousand_rules_do_not_fill_the_screen() -> None:
    """Those that match are all shown, of the others the first, and how many there are."""
    others = [rule(f"r{number}", "new", number, group=f"g-{number}") for number in range(500)]
    shown = text(render.explanation(explained(table(None, *others, rule("job", "a1", 0, group="enrich-1234")), JOB)))
    assert "rule job matches, and decides" in shown
    assert "480 rules more do not match; -o json has each" in shown and len(shown.splitlines()) < 30


def test_a_refusal_is_explained_with_its_ways() -> None:
    """In the service's words; a renamed topic is told."""
    made = table({"orders": {"cluster": "old", "topics": "v2.{topic}"}})
    refused: Mapping[str, Any] = {"route": None, "problem": {"detail": "topic 'a' leads to cluster x"}, "ways": []}
    assert "refused: topic 'a' leads to cluster x" in text(render.explanation(refused))
    assert "topic sales is called v2.sales there" in text(render.explanation(explained(made, JOB)))


def test_a_change_says_what_is_other_and_who_moves() -> None:
    """Codes and rules with what they were; clients by group and by application, with counts and the first names."""
    readers = [client(f"c{number}", ClientRole.CONSUMER, "billing") for number in range(9)]
    writers = [client(f"p{number}", ClientRole.PRODUCER) for number in range(2)]
    before = table({"orders": {"cluster": "old"}, "gone": {"cluster": "old"}}, rule("same", "old", 3, group="x"))
    after = table(
        {"orders": {"cluster": "readers"}, "more": {"code": "orders"}},
        rule("same", "old", 3, group="x"),
        rule("billing", "new", 9, group="billing"),
    )
    shown = planned(before, after, *readers, *writers)
    rows = [line.split() for line in shown.splitlines()]
    assert ["removed", "code", "gone", "cluster", "old"] in rows
    assert ["added", "code", "more", "code", "orders"] in rows
    assert ["changed", "code", "orders", "cluster", "readers", "cluster", "old"] in rows
    assert "added    rule billing  group billing -> cluster new, priority 9" in shown and "same" not in shown
    assert ["group", "billing", "old", "new", "9", "host-c0:42,", "host-c1:42,"] in [row[:7] for row in rows]
    assert "and 5 more" in shown
    assert ["producers", "of", "shop", "old", "readers", "2", "host-p0:42,", "host-p1:42"] in rows
    assert "11 registered clients change, 0 stay as they are" in shown
    assert "11 clients are moved while they run: old -> new, by the map of link old-new" in shown
    assert "plan 5f0c2b9e4d71a836" in shown and "version 7 -> 8" in shown


def test_a_change_shows_who_would_be_refused_and_every_reason() -> None:
    """A client that only has other addresses is told from one that moves."""
    one, other = client("c", ClientRole.CONSUMER, "billing"), client("d", ClientRole.CONSUMER, "audit")
    shown = planned(table(), table({"x": {"cluster": "old"}}), one)
    assert ["group", "billing", "old", "refused", "1", "host-c:42"] in [line.split() for line in shown.splitlines()]
    assert "error: consumer c (host-c, pid 42) would be refused: there is no cluster code 'orders'" in shown
    elsewhere = planned(table(), table(clusters={"old": {"bootstrap": ["o:1"]}}), other)
    assert "old, otherwise" in elsewhere and "added   cluster old  o:1, PLAINTEXT" in elsewhere
    unchanged = planned(table(), table(), one)
    assert "no code and no rule changes" in unchanged
    assert "nothing to apply: version 7 is the same" in unchanged and "-> 8" not in unchanged
    assert "1 client is moved while they run" in planned(table(), table(), one)
    assert "while they run" not in planned(table(), table())


def test_reasons_keep_their_severity() -> None:
    """A warning does not look as if it forbade anything."""
    found = plain(Reason.found(Severity.WARNING, "what", "fix"))
    impact_ = {"moves": [], "staying": 1, "reasons": [found]}
    document = {"base": 0, "hash": "h", "reasons": [{**found, "severity": "info"}], "switch": [], "impact": impact_}
    shown = text(render_change.plan(RouteTable(), RouteTable(), document))
    assert shown.index("warning: what") < shown.index("info: what")


def test_clients_that_are_stale_or_behind_come_first_and_stand_out() -> None:
    """In words and not by colour alone, in 80 columns, with their last errors below."""
    good = client("billing-1", ClientRole.CONSUMER, "billing")
    late = client("billing-2", ClientRole.CONSUMER, "billing", report=ClientReport(6, last_error="no such topic"))
    gone = client("shop-9", ClientRole.PRODUCER, report=ClientReport(7))
    answer = listed((good, False, True), (late, True, True), (gone, False, False))
    shown = text(render_clients.clients(answer, NOW), 80)
    rows = {
        line.split()[0]: line
        for line in shown.splitlines()
        if line.startswith(("shop-9 ", "billing-")) and "no such" not in line
    }
    assert list(rows) == ["shop-9", "billing-2", "billing-1"]
    assert "stale 3" in shown and "6 behind" in shown and "billing-2: no such topic" in shown
    assert "producer" in rows["shop-9"] and "1,234" in rows["billing-1"]
    assert all(len(line) <= 80 for line in shown.splitlines())
    words = " ".join(shown.split())
    assert "stale: its lease has run out. It has ended without saying so, or does not reach the service" in words
    assert "anabranch route explain orders --role producer --topic sales --client-id shop-9 behind:" in words
    assert "behind: it is led to old by a newer version" in words
    assert "--role consumer --topic sales --group billing --client-id billing-2 3 of 3" in words
    well = " ".join(text(render_clients.clients(listed((good, False, True)), NOW), 80).split())
    assert "stale:" not in well and "behind:" not in well
    assert "3 of 3 that match, 812 are registered; 1 stale, 1 behind" in shown


def test_names_of_any_length_fit_in_80_columns() -> None:
    """They are folded, and numbers are not."""
    long = client(
        "a-client-id-that-somebody-made-of-a-pod-name-7f9c4-xk2lp", ClientRole.CONSUMER, "a.very.long.group.name"
    )
    shown = text(render_clients.clients(listed((long, True, False)), NOW), 80)
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "7 behind" in shown and "stale 3" in shown and "1,234" in shown


def test_what_an_application_calls_itself_does_not_steer_a_terminal() -> None:
    """Neither escape sequences nor what Rich takes for styles; both are shown as they are."""
    query = RouteQuery("orders", ClientRole.CONSUMER, (), "[red]g[/]", "\x1b]0;x\x07me")
    facts = ClientFacts("shop", "[/]host", "10.0.0.1", 42, "0.1")
    one = Client("c", facts, query, NOW, NOW, NOW, report=ClientReport(7, last_error="\x1b[2Jgone"))
    shown = text(render_clients.clients(listed((one, False, True)), NOW))
    assert "\x1b" not in shown and "\x07" not in shown
    assert "[red]g[/]" in shown and "[/]host:42" in shown and r"\x1b]0;x\x07me: \x1b[2Jgone" in shown
    answer = {"version": 1, "at_ms": NOW, "author": "mei", "reason": "[bold]\x1b[2J"}
    assert r"[bold]\x1b[2J" in text(render.versions([answer])) and "\x1b" not in text(render.version(answer, table()))


def test_no_clients_is_said() -> None:
    """Whether there are none, or none that match."""
    nobody = {"total": 0, "matching": 0, "offset": 0, "clients": []}
    assert "no client is registered" in text(render_clients.clients(nobody, NOW))
    assert "no client matches" in text(render_clients.clients({**nobody, "total": 3}, NOW))


def test_parameters_are_names_and_values() -> None:
    """A value may hold an equals sign; one without is refused."""
    assert parameters_of(["job_id=1234", "a=b=c", "empty="]) == {"job_id": "1234", "a": "b=c", "empty": ""}
    for wrong in ("job_id", "=x"):
        with pytest.raises(InvalidFieldError, match="NAME=VALUE"):
            parameters_of([wrong])


def test_progress_is_one_line() -> None:
    """Its stage first."""
    assert progress_text({"ready": 3, "stage": "preparing", "of": 20}) == "preparing, ready 3, of 20"
    assert (progress_text({}), progress_text({"ready": 1})) == ("", "ready 1")
    assert quoted("a reason") == "'a reason'"


SWITCH = Switch(
    "5f0c2b9e4d71a8365f0c2b9e4d71a836",
    8,
    NOW - 60_000,
    NOW,
    Stragglers.LEAVE,
    {
        "c": NamedClient("consumer c", ClientRole.CONSUMER, "billing", "old", "new", {"sales": "sales"}),
        "p": NamedClient("producer p", ClientRole.PRODUCER, "", "old", "new", {"sales": "sales"}),
        "q": NamedClient("producer \x1b[2Jq", ClientRole.PRODUCER, "", "old", "new", {"sales": "sales"}),
    },
    {("old", "new"): "old-new"},
    ready={"c": Ready({"sales-0": 7, "sales-1": 9}), "p": Ready(uncertain={"sales-0": 1200, "sales-1": 34})},
)


def stored(switch: Switch) -> StoredSwitch:
    """A switch as the service has it."""
    fields = switch_fields(switch)
    return StoredSwitch(switch.id, switch.state.is_open, switch.state.value, 1, NOW, "mei", "[bold]to new", {}, fields)


def test_switches_are_one_line_each_with_why_they_were_given_up() -> None:
    """In 80 columns, and with whole ids, which are typed; below, why."""
    given_up = replace(SWITCH, id="a" * 32, state=SwitchState.CANCELLED, why="mei: \x1b[2Jnot now", named={}, ready={})
    shown = text(render_switches.switches([plain(summary_of(stored(one))) for one in (SWITCH, given_up)], NOW), 80)
    rows = [line.split() for line in shown.splitlines()]
    assert [SWITCH.id, "1", "min", "ago", "preparing", "8", "3", "2"] in rows
    assert [given_up.id, "1", "min", "ago", "cancelled", "8", "0", "0"] in rows
    assert "aaaaaaaa: mei: " in shown and "not now" in shown and "\x1b" not in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "no client was moved yet" in text(render_switches.switches([], NOW))


def test_a_switch_shows_its_clients_those_that_have_not_paused_first() -> None:
    """With what each handed over, and how many of its messages are in doubt."""
    shown = text(render_switches.switch(plain(switch_answer(stored(SWITCH))), NOW), 80)
    assert "by mei: [bold]to new" in shown and "old -> new by the map of link old-new" in shown
    rows = [line for line in shown.splitlines() if line.startswith(("consumer", "producer"))]
    assert "not yet" in rows[0] and "billing" in rows[1] and "1,234" in rows[2]
    assert "\x1b" not in shown and all(len(line) <= 80 for line in shown.splitlines())
    left = text(render_switches.switch(plain(switch_answer(stored(replace(SWITCH, left=("q",))))), NOW), 80)
    assert "left behind" in left and "not yet" not in left
    ended = text(render_switches.switch(plain(switch_answer(stored(replace(SWITCH, state=SwitchState.DONE)))), NOW), 80)
    row = next(line.split() for line in ended.splitlines() if line.startswith("producer") and "q" in line)
    assert "no" in row and "not yet" not in ended


def test_a_switch_that_went_on_without_a_cluster_says_what_is_in_doubt() -> None:
    """Which cluster, and each doubt; so does what came of the change."""
    doubt = "sales-0 was copied up to 7"
    one = replace(SWITCH, lost=("old",), doubts=(doubt,), state=SwitchState.DONE)
    shown = text(render_switches.switch(plain(switch_answer(stored(one))), NOW))
    assert "without old, which did not answer" in shown and f"in doubt: {doubt}" in shown
    assert f"in doubt: {doubt}" in text(render_change.done({"version": 8, "doubts": [doubt]}))
    assert "in doubt" not in text(render_change.done({"version": 8, "doubts": []}))


@dataclass
class Asked:
    """A service that has one switch, and what it was asked."""

    requests: list[tuple[str, ...]] = field(default_factory=list)

    def get(self, path: str, **query: object) -> Any:
        """The switch, or a list of it."""
        self.requests.append(("GET", path, *(f"{name}={value}" for name, value in query.items())))
        return plain([summary_of(stored(SWITCH))] if path == "/switches" else switch_answer(stored(SWITCH)))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The plan that gives it up, or what came of that."""
        self.requests.append(("POST", path, *map(str, body.values())))
        if path.endswith("/apply"):
            report = CancelledSwitch(SWITCH.id, SwitchState.CANCELLED, "mei: no")
            return {"id": "w", "state": "done", "report": plain(report)}
        planned = CancelSwitchPlan(SWITCH.id, 8, SwitchState.PREPARING, 2, 1, ("billing",), body["reason"], PLAN_HASH)
        return {"id": "p", "hash": PLAN_HASH, "plan": plain(planned)}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """In place of the service."""
    made = Asked()
    monkeypatch.setattr(sys.modules[cancel.__module__], "service_of", lambda *_: made)
    return made


def test_a_switch_is_given_up_only_with_execute(asked: Asked) -> None:
    """Without it the plan is shown, with the command that applies it; a plan of another hash is not applied."""
    command = ["route", "cancel", SWITCH.id, "--reason", "no"]
    planned = ("POST", "/routes/cancel/plan", SWITCH.id, "no")
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    assert "1 of 2 clients have paused" in shown.stdout and "billing" in shown.stdout
    again = f"anabranch route cancel {SWITCH.id} --reason no --execute --plan {PLAN_HASH}"
    assert shown.stderr.splitlines() == [f"Dry run. Apply with: {again}"]
    assert asked.requests == [planned]
    other = CliRunner().invoke(app, [*command, "--execute", "--plan", "ba9876543210"])
    assert isinstance(other.exception, PlanChangedError) and asked.requests == [planned] * 2
    done = CliRunner().invoke(app, shlex.split(again)[1:])
    assert done.exit_code == 0, done.output
    assert "was given up, and every client is where it was: mei: no" in " ".join(done.stdout.split())
    assert asked.requests[2:] == [planned, ("POST", "/plans/p/apply", PLAN_HASH)]


def test_switches_are_asked_by_what_is_typed(asked: Asked) -> None:
    """The beginning of an id is enough; what is no beginning of one is refused; all else stays one part of the path."""
    other = "../routes ü?" * 3
    for words in ((), ("--limit", "3"), (SWITCH.id,), (other,), (SWITCH.id[:8],)):
        assert CliRunner().invoke(app, ["route", "switches", *words]).exit_code == 0
    assert asked.requests == [
        ("GET", "/switches", "limit=20"),
        ("GET", "/switches", "limit=3"),
        ("GET", f"/switches/{SWITCH.id}"),
        ("GET", f"/switches/{quote(other, safe='')}"),
        ("GET", "/switches", "limit=100"),
        ("GET", f"/switches/{SWITCH.id}"),
    ]
    for none in ("", "ffff"):
        assert isinstance(CliRunner().invoke(app, ["route", "switches", none]).exception, InvalidFieldError)


@pytest.mark.parametrize(
    ("policy", "typed"),
    [
        (SwitchPolicy(), ""),
        (
            SwitchPolicy(Stragglers.LEAVE, WhenLost.GO, 5000, True),
            " --stragglers leave --when-lost go --timeout 5 --at-once",
        ),
        (SwitchPolicy(timeout_ms=90_000), " --timeout 90"),
    ],
)
def test_how_clients_are_moved_is_typed_again_as_it_was_typed(policy: SwitchPolicy, typed: str) -> None:
    """In the command that applies a plan; the service takes the same."""
    assert repeated_policy(policy) == typed
    assert RollbackRequest(version=1, reason="r", **policy_fields(policy)).policy() == policy
