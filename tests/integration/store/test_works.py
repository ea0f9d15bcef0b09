"""Plans that were shown, operations, audit and processes, on each database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from anabranch.store.audit import LONGEST, Audit, AuditEntry, Outcome
from anabranch.store.database import Database
from anabranch.store.runs import Run, RunKind, StartedRuns
from anabranch.store.works import (
    PLAN_MS,
    AnotherHashError,
    AppliedPlanError,
    LostProblem,
    NoOperationError,
    NoPlanError,
    Works,
    WorkState,
)

pytestmark = pytest.mark.test

NOW = 1_000_000
ASKED = {"link": "old-new", "at": None}


def began(who: str, at: int = NOW) -> AuditEntry:
    """What the audit is told as an operation begins."""
    return AuditEntry(at, who, "approver", "", "links.pause", "link old-new", Outcome.STARTED)


def lost(why: str) -> LostProblem:
    """The problem of each operation that is lost."""
    return lambda work: {"detail": f"{why}: {work.verb}"}


def test_a_plan_is_applied_once_whoever_asks(database: Database) -> None:
    """Of many at once one does, and the others are told of it (S3)."""
    works = Works(database)
    plan = works.show("links.delete", ASKED, "0123456789abcdef", {"link": "old-new", "topics": ["t"]}, "ada", NOW)
    assert works.plan(plan.id) == plan

    def apply(who: int) -> str:
        try:
            return works.begin_plan(plan.id, plan.hash, "here", began(f"who {who}", NOW + 1)).id
        except AppliedPlanError as error:
            return f"not {error.operation}"

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(apply, range(8)))
    (begun,) = [one for one in told if not one.startswith("not")]
    assert [(one.operation, one.plan, one.hash) for one in Audit(database).entries(10)] == [(begun, plan.id, plan.hash)]
    assert sorted(told) == sorted([begun, *[f"not {begun}"] * 7])
    assert (works.plan(plan.id).operation, works.plan(plan.id).applied_at) == (begun, NOW + 1)
    assert (works.get(begun).state, works.get(begun).request, works.get(begun).hash) == (
        WorkState.RUNNING,
        ASKED,
        plan.hash,
    )


def test_a_plan_stands_where_who_applied_it_was_refused(database: Database) -> None:
    """Nothing was done: somebody else may apply it.  Where an operation failed otherwise, or has ended, it does not."""
    works = Works(database)
    plan = works.show("migrations.switch", ASKED, "0123456789abcdef", {}, "ada", NOW)
    refused = works.begin_plan(plan.id, plan.hash, "here", began("ada"))
    works.failed(refused.id, {"detail": "somebody else has to"}, NOW + 1, plan_stands=True)
    assert works.plan(plan.id) == plan
    failed = works.begin_plan(plan.id, plan.hash, "here", began("bo"))
    works.failed(failed.id, {"detail": "away"}, NOW + 2)
    for late in (refused, failed):
        works.failed(late.id, {}, NOW + 3, plan_stands=True)
    with pytest.raises(AppliedPlanError):
        works.begin_plan(plan.id, plan.hash, "here", began("bo"))
    assert [works.get(one.id).ended_at for one in (refused, failed)] == [NOW + 1, NOW + 2]


def test_only_the_plan_that_was_seen_is_applied(database: Database) -> None:
    """Another hash, or a plan that is not there, begins nothing."""
    works = Works(database)
    plan = works.show("links.delete", ASKED, "0123456789abcdef", {}, "ada", NOW)
    with pytest.raises(AnotherHashError):
        works.begin_plan(plan.id, "fedcba9876543210", "here", began("ada"))
    with pytest.raises(NoPlanError):
        works.begin_plan("nothing", plan.hash, "here", began("ada"))
    assert works.recent(10) == []


def test_plans_that_nobody_applied_go_after_a_day(database: Database) -> None:
    """Those that were applied stay, for the audit."""
    works = Works(database)
    old = works.show("links.delete", ASKED, "1", {}, "ada", NOW)
    done = works.show("links.delete", ASKED, "2", {}, "ada", NOW)
    works.begin_plan(done.id, "2", "here", began("ada"))
    works.show("links.delete", ASKED, "3", {}, "ada", NOW + PLAN_MS + 1)
    with pytest.raises(NoPlanError):
        works.plan(old.id)
    assert works.plan(done.id).hash == "2"


def test_an_operation_stays_as_it_ended(database: Database) -> None:
    """S4: whoever comes late changes nothing."""
    works = Works(database)
    work = works.begin("offsets.export", ASKED, "ada", "here", NOW)
    works.tell(work.id, {"done": 1, "all": 3}, NOW + 1)
    works.tell(work.id, None, NOW + 2)
    assert (works.get(work.id).progress, works.get(work.id).told_at) == ({"done": 1, "all": 3}, NOW + 2)
    works.done(work.id, {"maps": 3}, NOW + 3)
    works.failed(work.id, {"detail": "no"}, NOW + 4)
    works.tell(work.id, {"done": 2}, NOW + 5)
    assert works.lose(lost("lost"), NOW + 9, NOW + 9) == []
    ended = works.get(work.id)
    assert (ended.state, ended.report, ended.problem, ended.ended_at) == (WorkState.DONE, {"maps": 3}, None, NOW + 3)


def test_what_nobody_vouches_for_is_lost(database: Database) -> None:
    """S5: of an instance that is gone, or has fallen silent."""
    works = Works(database)
    mine, theirs, live = (works.begin("verify.start", ASKED, "ada", where, NOW) for where in ("me", "them", "live"))
    works.tell(live.id, None, NOW + 50)
    assert works.lose(lost("restarted"), 0, NOW + 1, "me") == [mine.id]
    assert works.lose(lost("silent"), NOW + 50, NOW + 60) == [theirs.id]
    assert [(one.id, one.state) for one in works.recent(10, running=True)] == [(live.id, WorkState.RUNNING)]
    with pytest.raises(NoOperationError):
        works.get("nothing")


def test_an_operation_that_is_lost_has_its_last_entry_in_the_audit(database: Database) -> None:
    """S6: as whoever began it, of the same plan, and once."""
    works = Works(database)
    plan = works.show("links.pause", ASKED, "1", {}, "ada", NOW)
    work = works.begin_plan(plan.id, "1", "me", began("ada"))
    for _ in range(2):
        works.lose(lost("restarted"), 0, NOW + 7, "me")
    last, first = Audit(database).entries(10)
    assert (first.outcome, last.outcome, last.at, last.detail) == (
        Outcome.STARTED,
        Outcome.LOST,
        NOW + 7,
        "restarted: links.pause",
    )
    same = replace(last, id=first.id, at=first.at, outcome=first.outcome, detail=first.detail)
    assert same == first
    assert (last.operation, last.plan) == (work.id, plan.id)


def test_operations_are_read_in_pages(database: Database) -> None:
    """Also those that began in one millisecond: each once, the newest first."""
    works = Works(database)
    made = [works.begin("verify.start", ASKED, "ada", "me", NOW + at // 3).id for at in range(7)]
    every = [one.id for one in works.recent(10)]
    assert set(every) == set(made)
    pages, last = [], None
    while page := works.recent(2, before=last):
        pages.append([one.id for one in page])
        last = page[-1].id
    assert [one for page in pages for one in page] == every and [len(page) for page in pages] == [2, 2, 2, 1]
    with pytest.raises(NoOperationError):
        works.recent(2, before="nothing")


def test_the_audit_is_read_from_its_end(database: Database) -> None:
    """In pages, and by who and what; what is too long is cut."""
    audit = Audit(database)
    entry = AuditEntry(NOW, "ada", "operator", "127.0.0.1", "links.pause", "link old-new", Outcome.DONE)
    for at in range(5):
        audit.add(replace(entry, at=NOW + at, account="eve" if at == 2 else "ada", detail="x" * 3000))
    newest = audit.entries(2)
    assert [one.at for one in newest] == [NOW + 4, NOW + 3]
    assert [one.at for one in audit.entries(9, before=newest[-1].id)] == [NOW + 2, NOW + 1, NOW]
    assert [one.at for one in audit.entries(9, account="eve")] == [NOW + 2]
    assert audit.entries(9, verb="links.delete") == []
    assert len(newest[0].detail) == LONGEST


def test_processes_are_found_again_until_they_ended(database: Database) -> None:
    """Those of this machine."""
    runs = StartedRuns(database)
    first = Run(RunKind.LINK, "new", "old-new", "here", 11, 5, "/log", "ada", NOW)
    here, there = runs.began(first), runs.began(replace(first, host="there", began_at=NOW + 1))
    assert runs.alive("here") == [here]
    runs.ended(here.id, 143, NOW + 9)
    runs.ended(here.id, 0, NOW + 10)
    assert runs.alive("here") == []
    assert [(one.id, one.exit_code) for one in runs.of_link("old-new")] == [(there.id, None), (here.id, 143)]
