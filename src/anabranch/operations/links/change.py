"""Changing what a running link's workers obey: its filter, its rate limit, the groups it follows, and pausing.

Workers see each change by its revision, within two seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Literal

from anabranch.errors import InvalidFieldError
from anabranch.kafka.cluster import Cluster
from anabranch.model import filters
from anabranch.model.link import GroupRules, LinkRecord, WantedState
from anabranch.model.plans import REQUEST, PlanChangedError, check_holds, plan_hash
from anabranch.model.plugins import PluginSpec
from anabranch.operations.links.status import stored
from anabranch.state.codecs.specs import spec_fields
from anabranch.state.topics.control import OvertakenError


class Kept(Enum):
    """That a field of the wanted state stays as it is."""

    KEPT = "kept"


KEPT: Literal[Kept.KEPT] = Kept.KEPT


@dataclass(frozen=True, slots=True)
class WantedChanges:
    """What becomes of a link's wanted state."""

    filter: PluginSpec | Kept = KEPT
    rate_limit: int | Kept | None = KEPT
    groups: GroupRules | Kept | None = KEPT
    paused: bool | Kept = KEPT

    def of(self, wanted: WantedState) -> WantedState:
        """The wanted state after the change, with the next revision."""
        spec = wanted.spec
        if self.filter is not KEPT:
            spec = replace(spec, filter=self.filter)
        if self.rate_limit is not KEPT:
            spec = replace(spec, rate_limit=self.rate_limit)
        if self.groups is not KEPT:
            spec = replace(spec, groups=self.groups)
        paused = wanted.paused if self.paused is KEPT else self.paused
        return WantedState(spec, paused, wanted.revision + 1)


PAUSE = WantedChanges(paused=True)
"""Workers stop copying; lanes and leases stay."""
RESUME = WantedChanges(paused=False)
"""Workers copy on, and lanes that had stopped try again."""


@dataclass(frozen=True, slots=True)
class ChangeLinkPlan:
    """The wanted state of a link as it is and as it would be; ``hash`` covers both."""

    link: str
    before: WantedState
    after: WantedState
    hash: str
    changes: WantedChanges = field(metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class ChangeLinkReport:
    """The wanted state that was stored."""

    link: str
    wanted: WantedState


async def plan(target: Cluster, link_id: str, changes: WantedChanges) -> ChangeLinkPlan:
    """What a change means; raises UnknownLinkError, InvalidFieldError."""
    _, record = await stored(target, link_id)
    return _plan(record, changes)


async def apply(target: Cluster, planned: ChangeLinkPlan) -> ChangeLinkReport:
    """Store the change; raises UnknownLinkError, and PlanChangedError where the link was changed since.

    Of two at once, whose looks both found the link as it was planned, the second in the log raises it.
    """
    links, record = await stored(target, planned.link)
    now = _plan(record, planned.changes)
    check_holds(f"link {planned.link!r}", planned, now, f"anabranch link show {planned.link}")
    try:
        await links.put(replace(record, wanted=now.after))
    except OvertakenError as error:
        what = f"link {planned.link!r}"
        raise PlanChangedError(what, planned.hash, "", f"anabranch link show {planned.link}") from error
    return ChangeLinkReport(planned.link, now.after)


def refiltered(
    link: str, before: PluginSpec, include: Sequence[str] | None, exclude: Sequence[str] | None
) -> PluginSpec:
    """The filter after a change; a list that is not given stays.

    Raises InvalidFieldError, also where another kind's choice would be widened.
    """
    kept = before.options if before.kind == "regex" else {}
    if before.kind != "regex" and not include:
        problem = f"the link's filter is of kind {before.kind!r}: what it selects cannot be kept"
        raise InvalidFieldError("link set", "--exclude", problem, f"anabranch link set {link} --include ...")
    given = {"include": include, "exclude": exclude}
    after = PluginSpec("regex", {**kept, **{name: list(value) for name, value in given.items() if value}})
    filters.load(after)
    return after


def _plan(record: LinkRecord, changes: WantedChanges) -> ChangeLinkPlan:
    before, after = record.wanted, changes.of(record.wanted)
    seen = before.spec.id, before.revision, record.created_at_ms
    hash_ = plan_hash(*seen, spec_fields(after.spec), after.paused)
    return ChangeLinkPlan(before.spec.id, before, after, hash_, changes)
