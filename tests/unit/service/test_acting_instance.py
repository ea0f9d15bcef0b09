"""Which instance acts while its store is away, and how what it carries out is told to have ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.errors import AnabranchError, ClusterError, RefusedError
from anabranch.model.accounts import Account, Role
from anabranch.model.clock import now_ms
from anabranch.service import acting as module
from anabranch.service.acting import Acting
from anabranch.service.caller import Caller
from anabranch.service.errors import NotActingError
from anabranch.service.hub import Hub
from anabranch.service.reach import Reach
from anabranch.service.stored import Stored
from anabranch.service.verb import Verb
from anabranch.store.audit import Outcome
from anabranch.store.errors import StoreError
from anabranch.store.leases import SKEW_MS
from anabranch.store.works import PlanNote, Work
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.unit
CALLER = Caller(Account("1", "mei", Role.ADMIN), "10.0.0.1")


@dataclass
class NarrowReach:
    """What operations are given here: nothing that they could reach."""

    account: str = ""
    planned_by: str = ""
    tell: Callable[..., Awaitable[None]] | None = None


def one_of(stored: Stored) -> Acting:
    """An instance of that store."""
    return Acting(stored, cast(Reach, NarrowReach()), Hub(), "one")


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for it."""
    async with asyncio.timeout(TIMEOUT_S):
        while not is_so():
            await asyncio.sleep(0.001)


def test_an_instance_whose_store_does_not_answer_acts_no_more(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one may take its lease meanwhile; once the store answers it has to ask for that again."""
    monkeypatch.setattr(module, "RENEW_S", 0.001)

    asked: list[str] = []

    async def away(_: Any) -> Any:
        asked.append("asked")
        raise StoreError("s", "locked")

    async def play() -> None:
        acting = one_of(stored)
        with pytest.raises(NotActingError):
            acting.check_acts()
        keeping = asyncio.create_task(acting.keep())
        await until(lambda: acting.acts)
        acting.check_acts()
        with monkeypatch.context() as patched:
            patched.setattr(stored, "ask", away)
            await until(lambda: len(asked) > 1)
            assert not acting.acts
            with pytest.raises(NotActingError):
                acting.check_acts()
        await until(lambda: acting.acts)
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

    asyncio.run(play())


def test_a_lease_is_renewed_before_its_holder_may_act_no_more() -> None:
    """Also where one renewal fails."""
    assert 2 * module.RENEW_S * 1_000 < module.LEASE_MS - SKEW_MS


@pytest.mark.parametrize(
    ("hash_", "error", "outcome"),
    [
        ("h", None, Outcome.DONE),
        ("other", None, Outcome.REFUSED),
        ("h", RefusedError, Outcome.REFUSED),
        ("h", ClusterError, Outcome.FAILED),
        ("h", ValueError, Outcome.FAILED),
    ],
)
def test_an_operation_is_done_only_where_its_plan_holds_and_was_applied(
    stored: Stored, hash_: str, error: type[Exception] | None, outcome: Outcome
) -> None:
    """What has changed since the plan was shown is not applied; whatever is raised is a problem that is told."""
    applied: list[str] = []

    async def plan(*_: Any) -> Any:
        return SimpleNamespace(hash=hash_)

    async def apply(*_: Any) -> dict[str, int]:
        applied.append("applied")
        if error is not None:
            raise error("because") if not issubclass(error, AnabranchError) else said(error)
        return {"moved": 3}

    verb = SimpleNamespace(name="groups sync", plan=plan, apply=apply, command=lambda _: "anabranch groups sync")

    async def play() -> tuple[Outcome, Any, bool]:
        acting = one_of(stored)
        work = stored.works.begin("groups sync", {}, "mei", "one", 1)
        shown = PlanNote("p", "groups sync", {}, "h", "mei", 1, None, None)
        ended = await acting._ended(cast(Work, work), cast(Verb[Any, Any], verb), None, "link", CALLER, shown)
        return ended.outcome, ended.report, ended.problem is None

    found = asyncio.run(play())
    is_done = outcome is Outcome.DONE
    assert found == (outcome, {"moved": 3} if is_done else None, is_done)
    assert applied == (["applied"] if hash_ == "h" else [])


def test_what_is_found_lost_is_audited_and_leads_to_where_it_goes_on(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with the command for its verb; also an operation that another version was asked for."""
    monkeypatch.setattr(module, "VOUCHED_MS", -60_000)
    asked = {"target": "new", "link": "old-new"}
    kinds = {
        "verify.start": (asked, "`anabranch verify show old-new --target new --watch`"),
        "links.run": (asked, "`anabranch link show old-new --target new`"),
        "links.stop": (asked, "`anabranch link show old-new --target new`"),
        "links.pause": (asked, "planned again"),
        "verify.stop": ({"of": "another version"}, "planned again"),
        "links.turn": (asked, "planned again"),
    }
    works = {}
    for verb, (request, _) in kinds.items():
        plan = stored.works.show(verb, request, "h", {}, "mei", now_ms())
        began = module._entry(CALLER, verb, "link old-new", Outcome.STARTED, "", plan)
        works[verb] = stored.works.begin_plan(plan.id, "h", "another", began).id

    async def play() -> None:
        keeping = asyncio.create_task(one_of(stored).keep())
        await until(lambda: not stored.works.recent(10, running=True))
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

    asyncio.run(play())
    for verb, (_, command) in kinds.items():
        problem = stored.works.get(works[verb]).problem
        assert problem is not None and command in problem["hint"], verb
        assert [one.outcome for one in stored.audit.entries(10, verb=verb)] == [Outcome.LOST, Outcome.STARTED]


def said(kind: type[AnabranchError]) -> AnabranchError:
    """An error of this kind."""

    class Said(kind):  # type: ignore[misc, valid-type]
        message = "because"
        hint = ""

    return cast(AnabranchError, Said())
