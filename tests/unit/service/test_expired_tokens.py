"""Tokens that are taken for nobody's, and what whoever sends one is told."""

from __future__ import annotations

import asyncio

import pytest

from anabranch.model.accounts import Role
from anabranch.service import identity
from anabranch.service.errors import NotSignedInError
from anabranch.service.identity import Identity
from anabranch.service.limits import RateLimit
from anabranch.service.stored import Stored

pytestmark = pytest.mark.unit
AT = 1_800_000_000_000


def test_an_application_whose_token_has_expired_is_told_that_and_no_other_is(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one that was revoked, of a disabled account and of a guess all is told alike."""
    accounts, clock = stored.accounts, [AT]
    monkeypatch.setattr(identity, "now_ms", lambda: clock[0])
    accounts.add("shop", Role.CLIENT, AT)
    accounts.add("till", Role.CLIENT, AT)
    text, _ = accounts.issue("shop", "a", AT, AT + 60_000)
    revoked, kept = accounts.issue("shop", "b", AT, AT + 60_000)
    disabled, _ = accounts.issue("till", "c", AT, AT + 60_000)
    accounts.revoke(kept.id, AT)
    accounts.set("till", AT, disabled=True)
    who = Identity(stored, RateLimit(100, 100), RateLimit(100, 100))

    async def told(token: str) -> str:
        try:
            return (await who.of_token(token, "10.0.0.1")).account.name
        except NotSignedInError as error:
            return error.message

    async def run() -> None:
        assert await told(text) == "shop"
        clock[0] = AT + 60_000
        assert await told(text) == "not signed in: the token of account shop expired 2027-01-15 08:01:00 UTC"
        others = {await told(one) for one in (revoked, disabled, text[:-1] + ("A" if text[-1] != "A" else "B"), "no")}
        assert others == {"not signed in: the token is nobody's, was revoked, or its account is disabled"}

    asyncio.run(run())
