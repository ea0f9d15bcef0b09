"""Which of a source's quotas are carried over: those of a wave's users and client ids, never those of everybody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.migration.access.scope import AccessScope
from anabranch.migration.access.values import QuotaKey
from anabranch.model.quotas import CLIENT_ID, IP, USER, QuotaEntity, quota_entity

_USER = "User:"
_ALL = "it is for all clients that have none of their own, also those of others"
_ADDRESS = "it is for an address, from which others may come, too"
_KIND = "it is for something that is not known here"
_NO_USER = "the user is mapped to a principal that is no user"
_DIFFER = "several users become one, and their quotas differ"


@dataclass(frozen=True, slots=True)
class QuotaNotCarried:
    """A value of the source's that a person should look at."""

    why: str
    quota: QuotaKey
    value: float


@dataclass(frozen=True, slots=True)
class QuotasFound:
    """The quotas that the target is to have, those of the source that it is not, and those that are not the wave's."""

    wanted: Mapping[QuotaKey, float] = field(default_factory=dict, hash=False)
    refused: tuple[QuotaNotCarried, ...] = ()
    left: tuple[QuotaKey, ...] = ()


def carried_quotas(quotas: Mapping[QuotaKey, float], scope: AccessScope, users: frozenset[str]) -> QuotasFound:
    """What becomes of a source's quotas."""
    sources: dict[QuotaKey, list[QuotaKey]] = {}
    refused, left = [], []
    for key in sorted(quotas, key=str):
        fate = _fate(key.entity, scope, users)
        if isinstance(fate, str):
            refused.append(QuotaNotCarried(fate, key, quotas[key]))
        elif fate is None:
            left.append(key)
        else:
            sources.setdefault(QuotaKey(fate, key.name), []).append(key)
    wanted = {}
    for new, former in sources.items():
        if len({quotas[key] for key in former}) == 1:
            wanted[new] = quotas[former[0]]
        else:
            refused += [QuotaNotCarried(_DIFFER, key, quotas[key]) for key in former]
    return QuotasFound(wanted, tuple(refused), tuple(left))


def _fate(entity: QuotaEntity, scope: AccessScope, users: frozenset[str]) -> QuotaEntity | str | None:
    """The entity on the target, None for one that is not the wave's; or why it is not carried over."""
    names = dict(entity)
    if IP in names:
        return _ADDRESS
    if not names.keys() <= {USER, CLIENT_ID}:
        return _KIND
    user, client = names.get(USER), names.get(CLIENT_ID)
    if user is None and client is None:
        return _ALL
    if user is None:
        return entity if client in scope.clients else None
    if _USER + user not in users:
        return None
    new = scope.principal(_USER + user)
    if not new.startswith(_USER):
        return _NO_USER
    return quota_entity({**names, USER: new.removeprefix(_USER)})
