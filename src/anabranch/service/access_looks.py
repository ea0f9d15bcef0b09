"""What rounds came to that carry access rules over, by wave, as it is kept and shown."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from anabranch.migration.access.diff import AccessDiff, QuotaChange
from anabranch.model.acls import Acl
from anabranch.operations.migrations.access import AccessReport

Came = AccessReport | str
"""What a round came to for a wave: what it did on the target, or why it failed."""


@dataclass(frozen=True, slots=True)
class AccessLook:
    """What rounds came to for a wave: when the last one ended (``at_ms``), and the last good one (``good_ms``).

    ``why`` is why the last one failed, empty where it did not.  ``changed_ms`` is when one changed something last: how
    many rules it made and deleted, and how many quotas it changed.
    """

    at_ms: int
    good_ms: int | None = None
    why: str = ""
    changed_ms: int | None = None
    created: int = 0
    deleted: int = 0
    quotas: int = 0

    def after(self, came: Came, at_ms: int) -> AccessLook:
        """The look after one more round."""
        if isinstance(came, str):
            return replace(self, at_ms=at_ms, why=came)
        good = replace(self, at_ms=at_ms, good_ms=at_ms, why="")
        if not has_changed(came):
            return good
        made, deleted, quotas = len(came.created), len(came.deleted), len(came.quotas)
        return replace(good, changed_ms=at_ms, created=made, deleted=deleted, quotas=quotas)


def looks_of(kept: Mapping[str, Any]) -> dict[str, AccessLook]:
    """Looks as they were kept, by wave."""
    known = [one.name for one in fields(AccessLook)]
    return {wave: AccessLook(**{name: one[name] for name in known if name in one}) for wave, one in kept.items()}


def look_fields(looks: Mapping[str, AccessLook]) -> dict[str, Any]:
    """Looks as they are kept."""
    return {wave: asdict(one) for wave, one in looks.items()}


def looks_after(
    before: Mapping[str, AccessLook], waves: Collection[str], came: Mapping[str, Came], at_ms: int
) -> dict[str, AccessLook]:
    """The looks of waves after a round; one that it left alone keeps its own."""
    found = {wave: before[wave] for wave in waves if wave in before}
    return found | {wave: before.get(wave, AccessLook(at_ms)).after(one, at_ms) for wave, one in came.items()}


def last_good(looks: Mapping[str, AccessLook], waves: Collection[str]) -> int | None:
    """Since when (ms) each of these waves has been carried over; None where one never was, or there are none."""
    times = [looks[wave].good_ms if wave in looks else None for wave in waves]
    known = [at_ms for at_ms in times if at_ms is not None]
    return min(known) if known and len(known) == len(times) else None


def has_changed(report: AccessReport) -> bool:
    """Whether anything was done on the target; what was merely written down is nothing."""
    return bool(report.created or report.deleted or report.quotas)


def done_words(report: AccessReport) -> list[str]:
    """Each rule that was made or deleted, and each quota that was changed."""
    return _words("made", report.created, "deleted", report.deleted, report.quotas)


def planned_words(changes: AccessDiff) -> list[str]:
    """Each rule that is to be made or deleted, and each quota that is to be changed."""
    return _words("make", changes.create, "delete", changes.delete, changes.quotas)


def _words(
    make: str, created: Iterable[Acl], delete: str, deleted: Iterable[Acl], quotas: Iterable[QuotaChange]
) -> list[str]:
    sets = (f"set {one.key} to {'none' if one.value is None else f'{one.value:,.15g}'}" for one in quotas)
    return [*(f"{make} {rule}" for rule in created), *(f"{delete} {rule}" for rule in deleted), *sets]
