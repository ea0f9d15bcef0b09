"""Who asks, and whether the role allows it."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.model.accounts import Account, Role
from anabranch.service.errors import NotPermittedError


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and from where."""

    account: Account
    address: str


def need(caller: Caller, role: Role) -> None:
    """Raise NotPermittedError where the caller's role does not allow it."""
    if caller.account.role < role:
        raise NotPermittedError(caller.account.name, caller.account.role.word, role.word)
