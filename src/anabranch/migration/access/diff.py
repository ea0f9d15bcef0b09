"""What makes a target's access rules and quotas those that a wave is to have there.

Invariants, of what is planned for a wave
    A1  what is deleted was made for this wave, is not wanted for it any more, and was made for no other one.
    A2  a quota is changed or taken away only from a value that was made here; any other value stays.
    A3  once it is applied, the same question is answered by nothing to do.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.migration.access.values import Access, Made, QuotaKey
from anabranch.model.acls import Acl
from anabranch.model.quotas import QuotaEntity


@dataclass(frozen=True, slots=True)
class QuotaChange:
    """A value of a quota on the target: ``before`` is what it has, ``value`` what it is to have; None for none."""

    entity: QuotaEntity
    name: str
    before: float | None
    value: float | None

    @property
    def key(self) -> QuotaKey:
        """Which value it is."""
        return QuotaKey(self.entity, self.name)


@dataclass(frozen=True, slots=True)
class AccessDiff:
    """What is done, and what was found.

    ``adopt`` are wanted rules that were made for another wave, and are this one's, too, from now on, ``quotas_adopted``
    the same of quotas.  ``forget`` are rules that are not this wave's any more; ``delete`` are those of them that are
    taken away, also where the target does not tell them: a broker may not know yet what was made just now.
    ``conflicts`` are quotas that somebody else gave another value, which stays.
    """

    create: tuple[Acl, ...] = ()
    delete: tuple[Acl, ...] = ()
    there: tuple[Acl, ...] = ()
    adopt: tuple[Acl, ...] = ()
    forget: tuple[Acl, ...] = ()
    quotas: tuple[QuotaChange, ...] = ()
    quotas_there: tuple[QuotaKey, ...] = ()
    quotas_adopted: tuple[QuotaChange, ...] = ()
    quotas_forgotten: tuple[QuotaKey, ...] = ()
    conflicts: tuple[QuotaChange, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether there is something to do, on the target or in the record."""
        rules = self.create or self.adopt or self.forget
        return bool(rules or self.quotas or self.quotas_adopted or self.quotas_forgotten)


def diff(wanted: Access, target: Access, own: Made, others: Made) -> AccessDiff:
    """What is to be done on a target; ``own`` was made for the wave, ``others`` for all other ones."""
    forget = own.rules - wanted.rules
    quotas, there, conflicts = _wanted_quotas(wanted, target, own | others)
    adopted = [change for change in there if change.value in _new(own, others, change.key)]
    removed, forgotten = _former_quotas(wanted, target, own, others)
    forgotten += [change.key for change in conflicts if change.key in own.quotas]
    return AccessDiff(
        create=tuple(sorted(wanted.rules - target.rules)),
        delete=tuple(sorted(forget - others.rules)),
        there=tuple(sorted(wanted.rules & target.rules)),
        adopt=tuple(sorted((wanted.rules & target.rules & others.rules) - own.rules)),
        forget=tuple(sorted(forget)),
        quotas=_in_order([*quotas, *removed]),
        quotas_there=tuple(change.key for change in _in_order(there)),
        quotas_adopted=_in_order(adopted),
        quotas_forgotten=tuple(sorted(forgotten, key=str)),
        conflicts=_in_order(conflicts),
    )


def _in_order(changes: list[QuotaChange]) -> tuple[QuotaChange, ...]:
    return tuple(sorted(changes, key=lambda change: str(change.key)))


def _new(own: Made, others: Made, key: QuotaKey) -> frozenset[float]:
    """The values that were made for others alone."""
    return others.quotas.get(key, frozenset()) - own.quotas.get(key, frozenset())


def _wanted_quotas(wanted: Access, target: Access, made: Made) -> tuple[list[QuotaChange], ...]:
    """Those to set or to change, those that are there, and those that somebody else gave another value."""
    changes: list[QuotaChange] = []
    there: list[QuotaChange] = []
    conflicts: list[QuotaChange] = []
    for key, value in wanted.quotas.items():
        before = target.quotas.get(key)
        change = QuotaChange(key.entity, key.name, before, value)
        if before == value:
            there.append(change)
        elif before is None or before in made.quotas.get(key, ()):
            changes.append(change)
        else:
            conflicts.append(change)
    return changes, there, conflicts


def _former_quotas(wanted: Access, target: Access, own: Made, others: Made) -> tuple[list[QuotaChange], list[QuotaKey]]:
    """Those to take away, and all that are wanted no more, whatever became of their values."""
    forgotten = [key for key in own.quotas if key not in wanted.quotas]
    removed = [
        QuotaChange(key.entity, key.name, target.quotas[key], None)
        for key in forgotten
        if target.quotas.get(key) in own.quotas[key] and key not in others.quotas
    ]
    return removed, forgotten


def while_made(own: Made, planned: AccessDiff) -> Made:
    """The wave's record before anything is done: what may be there from then on."""
    quotas = dict(own.quotas)
    for change in (*planned.quotas, *planned.quotas_adopted):
        if change.value is not None:
            quotas[change.key] = quotas.get(change.key, frozenset()) | {change.value}
    return Made(own.rules | {*planned.create, *planned.adopt}, quotas)


def refused(own: Made, planned: AccessDiff, target: Access) -> Made:
    """The wave's record once the target refused some of it: what was in it before, and what the target has of the rest.

    What is made by hand instead of what was refused is then somebody else's.
    """
    wanted = while_made(own, planned)
    quotas = {
        key: own.quotas.get(key, frozenset()) | (values & {target.quotas.get(key)})
        for key, values in wanted.quotas.items()
    }
    rules = own.rules | (wanted.rules & target.rules)
    return Made(rules, {key: values for key, values in quotas.items() if values})


def once_made(own: Made, planned: AccessDiff) -> Made:
    """The wave's record once all is done."""
    quotas = {key: values for key, values in own.quotas.items() if key not in planned.quotas_forgotten}
    settled = (*planned.quotas, *planned.quotas_adopted)
    quotas |= {change.key: frozenset({change.value}) for change in settled if change.value is not None}
    return Made((own.rules | {*planned.create, *planned.adopt}) - {*planned.forget}, quotas)


def changed(target: Access, planned: AccessDiff) -> Access:
    """What the target has once all is done."""
    quotas = dict(target.quotas)
    for change in planned.quotas:
        if change.value is None:
            quotas.pop(change.key, None)
        else:
            quotas[change.key] = change.value
    return Access((target.rules | {*planned.create}) - {*planned.delete}, quotas)
