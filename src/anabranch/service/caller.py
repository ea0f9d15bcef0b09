"""Who asks, and whether the role allows it."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.model.accounts import Account, Role
from anabranch.service.errors import NotPermittedError
from anabranch.store.accounts import Token


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and from where; ``token`` is by what we know it, None where a provider has just vouched."""

    account: Account
    address: str
    token: Token | None = None


def need(caller: Caller, role: Role) -> None:
    """Raise NotPermittedError where the caller's role does not allow it."""
    if caller.account.role < role:
        raise NotPermittedError(caller.account.name, caller.account.role.word, role.word)
