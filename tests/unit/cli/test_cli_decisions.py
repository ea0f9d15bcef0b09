"""The verbs that take a person's word: shown first, done when told."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
import yaml
from rich.console import Console

from anabranch.cli import main as cli
from anabranch.cli.links import render_decisions
from anabranch.model.cluster import ClusterContext
from anabranch.model.decisions import AcceptPlan, AcceptReport, Cause, PendingDecision, skipping
from anabranch.model.lane import LaneKey
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.reports import LinkStatus
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.model.transactions import (
    AbortPlan,
    AbortReport,
    CoordinatedTransaction,
    OpenTransaction,
    SourceTransaction,
)
from anabranch.operations.links.accept import NothingToAcceptError

pytestmark = pytest.mark.unit

LANE = LaneKey("old-new", TopicId(UUID(int=7)), 3)
ORDERS = TopicPartition("orders", 3)
CHOICE = PendingDecision(
    Cause.SOURCE_EXPIRED,
    ORDERS,
    ORDERS,
    LANE,
    10,
    (10, 25),
    None,
    skipping(None, LANE, (10, 25), 0, "expired"),
    "offsets 10 to 24 are given up",
)
KNOWN = CoordinatedTransaction("writer", "Ongoing", 900_000, 0, 7, 0, (ORDERS,))
ABORT = AbortPlan(
    "old-new",
    ORDERS,
    17,
    40,
    (SourceTransaction(OpenTransaction(7, 0, -1, 17, 60_000), 0, KNOWN),),
    None,
    ("producer id 7 is left alone: its coordinator has it",),
    60_000,
    "cafe",
)


class Engine:
    """The operations, filled with values; keeps what it was asked.  Clusters are the contexts that lead to them."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.waits = True

    async def of(self, link_id: str) -> LinkStatus:
        spec = LinkSpec(link_id, ClusterRef("old", "A"), ClusterRef("new", "B"))
        return LinkStatus(LinkRecord(WantedState(spec), ("A",), 0), (), None, 0)

    async def plan_accept(
        self, source: ClusterContext, target: ClusterContext, link_id: str, where: str | None, at: int | None
    ) -> AcceptPlan:
        self.asked.append(("plan", source.name, target.name, link_id, where, at))
        if not self.waits:
            raise NothingToAcceptError(link_id, where or "")
        return AcceptPlan(link_id, (CHOICE,), (), (), "cafe", where=where, at=at)

    async def accept(self, source: ClusterContext, target: ClusterContext, planned: AcceptPlan) -> AcceptReport:
        self.asked.append(("apply", source.name, target.name, planned.link, planned.where, planned.at))
        return AcceptReport(planned)

    async def plan_abort_transaction(
        self, source: ClusterContext, target: ClusterContext, link_id: str, where: str, producer_id: int | None
    ) -> AbortPlan:
        self.asked.append(("plan", source.name, target.name, link_id, where, producer_id))
        return replace(ABORT, abort=producer_id)

    async def abort_transaction(
        self, source: ClusterContext, target: ClusterContext, planned: AbortPlan
    ) -> AbortReport:
        self.asked.append(("apply", source.name, target.name, planned.abort))
        return AbortReport(planned, 40, 40)


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def engine(no_clusters: list[str], monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The operations that the verbs reach."""
    made = Engine()
    links = "anabranch.operations.links"
    for verb in ("accept", "abort_transaction"):
        monkeypatch.setattr(f"{links}.{verb}.plan", getattr(made, f"plan_{verb}"))
        monkeypatch.setattr(f"{links}.{verb}.apply", getattr(made, verb))
    monkeypatch.setattr(f"{links}.status.LinkStatusReader.of", lambda _standing, link_id: made.of(link_id))
    return made


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the console script's function; answers exit code, standard output, standard error."""
    clusters = {"old": {"bootstrap": ["o:1"]}, "new": {"bootstrap": ["n:1"]}}
    file = tmp_path / "contexts.yaml"
    file.write_text(yaml.safe_dump({"contexts": clusters, "target": "new"}))
    monkeypatch.delenv("ANABRANCH_TARGET", raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["anabranch", "--contexts", str(file), "link", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return call


def test_accept_shows_and_does_nothing_without_execute(run: Run, engine: Engine) -> None:
    """What is given up, where the lane goes on, and the command that does it."""
    code, out, err = run("accept", "old-new", "orders-3", "--at", "12")
    assert code == 0
    assert "offsets 10 to 24 are given up" in out
    assert "anabranch link accept old-new orders-3 --at 12 --execute --plan cafe" in err
    assert engine.asked == [("plan", "old", "new", "old-new", "orders-3", 12)]


def test_accept_does_exactly_what_was_shown(run: Run, engine: Engine) -> None:
    """That plan is applied, and one of another hash is refused before."""
    code, out, _ = run("accept", "old-new", "--execute")
    assert (code, "done: 1 lane goes on" in out) == (0, True)
    asked = [(verb, "old", "new", "old-new", None, None) for verb in ("plan", "apply")]
    assert engine.asked == asked
    assert run("accept", "old-new", "--execute", "--plan", "beef")[0] == 3
    assert engine.asked == [*asked, asked[0]]


def test_accept_is_written_as_json_too(run: Run, engine: Engine) -> None:
    """One answer on standard output, with the offsets as numbers."""
    for flags in ((), ("--execute",)):
        code, out, _ = run("accept", "old-new", "-o", "json", *flags)
        found = json.loads(out)["plan"] if flags else json.loads(out)
        assert (code, found["hash"]) == (0, "cafe")
        assert found["pending"][0]["given_up"] == [10, 25]
        assert found["pending"][0]["decision"]["skip"] == [10, 25]
        assert found["pending"][0]["lane"] == str(LANE)
    assert yaml.safe_load(run("accept", "old-new", "-o", "yaml")[1])["hash"] == "cafe"


def test_accept_is_refused_where_nothing_waits(run: Run, engine: Engine) -> None:
    """With the exit code of refusals and the next command."""
    engine.waits = False
    code, out, err = run("accept", "old-new", "orders")
    assert (code, out) == (3, "")
    assert "nothing in link 'old-new' waits for a decision about orders" in err
    assert "anabranch link show old-new" in err


def test_abort_transaction_names_who_holds_the_partition(run: Run, engine: Engine) -> None:
    """Producer id, epochs, transactional id, coordinator, and why it is left alone."""
    code, out, err = run("abort-transaction", "old-new", "orders-3")
    assert code == 0
    for word in ("23 offsets wait", "0/-1", "writer", "Ongoing, timeout in 840 s", "producer id 7 is left alone"):
        assert word in out
    assert "anabranch link abort-transaction old-new orders-3 --execute --plan cafe" in err
    assert engine.asked == [("plan", "old", "new", "old-new", "orders-3", None)]


def test_abort_transaction_ends_the_one_that_is_named(run: Run, engine: Engine) -> None:
    """With both flags, and in JSON as well."""
    code, out, err = run("abort-transaction", "old-new", "orders-3", "--producer-id", "7", "--execute", "-o", "json")
    assert (code, err, json.loads(out)["stable"]) == (0, "", 40)
    assert json.loads(out)["plan"]["transactions"][0]["known"]["partitions"] == ["orders-3"]
    assert engine.asked == [("plan", "old", "new", "old-new", "orders-3", 7), ("apply", "old", "new", 7)]
    _, out, _ = run("abort-transaction", "old-new", "orders-3", "--producer-id", "7", "--execute")
    assert "producer id 7 would be ended" in out and "producer id 7 was ended by an abort marker" in out
    assert "stable up to offset 40, 0 offsets wait" in out


def test_control_topics_that_others_made_again_are_named_before_it_is_accepted() -> None:
    """Also where no lane waits: the link goes on with them as they are."""
    plan = AcceptPlan("old-new", (), (), (), "cafe", remake=("__anabranch_runs",), recreated=("__anabranch_claims",))
    out = io.StringIO()
    Console(file=out, width=200).print(render_decisions.accept_plan(plan))
    assert "__anabranch_runs is missing and is made again, empty" in out.getvalue()
    assert "__anabranch_claims was deleted and made again: the link goes on with it as it is" in out.getvalue()
