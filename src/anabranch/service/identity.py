"""Who asks: a bearer token, or the cookie of a browser that has signed in, which is a token too.

A browser sends its cookie also for a page of another site, so with a cookie only the service's own pages may change
anything: the browser says which page asks (Fetch Metadata, ``Origin``), and who does not say is refused.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime

from anabranch.model.accounts import Role
from anabranch.model.clock import now_ms
from anabranch.service.caller import Caller
from anabranch.service.errors import CrossSiteError, NotSignedInError
from anabranch.service.limits import RateLimit
from anabranch.service.shared_looks import SharedLooks
from anabranch.service.stored import Stored
from anabranch.store.accounts import is_token

COOKIE = "anabranch"
SESSION_S = 12 * 3600
"""How long a browser keeps its login."""
_SAFE = frozenset({"GET", "HEAD"})
_ATTEMPTS_PER_S, _ATTEMPTS = 0.2, 20


class Identity:
    """The accounts of a store, as who asks; counts requests of each, and failed attempts of each address.

    An application's account, of the role client, may have thousands of clients: its limit is one of its own.
    """

    def __init__(self, stored: Stored, requests: RateLimit, of_clients: RateLimit) -> None:
        self._stored = stored
        self._looks = SharedLooks(
            lambda text: stored.ask(lambda: stored.accounts.of_token(text, now_ms())),
        )
        self._requests = requests
        self._of_clients = of_clients
        self._attempts = RateLimit(_ATTEMPTS_PER_S, _ATTEMPTS)

    async def caller(
        self, method: str, headers: Mapping[str, str], cookies: Mapping[str, str], address: str, origin: str
    ) -> Caller:
        """Who asks; raises NotSignedInError, CrossSiteError, TooManyRequestsError, StoreError.

        ``origin`` is the service's own, as the request addressed it.
        """
        text = _bearer(headers.get("authorization"))
        if text is None and COOKIE in cookies:
            text = cookies[COOKIE]
            if method not in _SAFE:
                check_site(headers, origin, must_say=True)
        if text is None:
            raise NotSignedInError("the request has no token")
        return await self.of_token(text, address)

    async def of_token(self, text: str, address: str) -> Caller:
        """Whose token this is; raises NotSignedInError, TooManyRequestsError, StoreError.

        Wrong ones of an address are soon told to wait; a right one never is, since others may share its address.
        """
        # Each is looked up, also one that is then told to wait, so a guesser learns from the answer whether it was
        # right. That is no oracle: a token has 256 random bits, which no rate of guessing finds. Nor is the time that
        # it takes: the store compares the SHA-256 of the text, whose first digits nobody can choose. And it is cheap: a
        # read by an index, and none at all for what has not the form of a token.
        found = None
        if is_token(text):
            found = await self._looks.of(text)
        now = time.monotonic()
        if found is None:
            self._attempts.take(address, now)
            raise NotSignedInError(await self._why_nobody(text))
        account, token = found
        limit = self._of_clients if account.role is Role.CLIENT else self._requests
        limit.take(account.name, now)
        return Caller(account, address, token)

    async def _why_nobody(self, text: str) -> str:
        """Why a token is taken for nobody's.

        Whoever has one that has expired had it from its account, and may know that.  All else is told alike: who was
        shut out is not told whether there is still such a token, or such an account.
        """
        accounts = self._stored.accounts
        ended = await self._stored.ask(lambda: accounts.expired(text, now_ms())) if is_token(text) else None
        if ended is None or ended.expires_at is None:
            return "the token is nobody's, was revoked, or its account is disabled"
        at = datetime.fromtimestamp(ended.expires_at / 1000, UTC)
        return f"the token of account {ended.account} expired {at:%Y-%m-%d %H:%M:%S} UTC"


def _bearer(value: str | None) -> str | None:
    if value is None:
        return None
    scheme, _, text = value.partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise NotSignedInError("the Authorization header is not `Bearer TOKEN`")
    return text.strip()


def check_site(headers: Mapping[str, str], origin: str, *, must_say: bool) -> None:
    """Raise CrossSiteError where another site's page asks, or nobody says whose it is that ``must_say``."""
    site, asked = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None and site not in {"same-origin", "none"}:
        raise CrossSiteError(asked or f"a {site} site")
    if asked is not None and asked != origin:
        raise CrossSiteError(asked)
    if must_say and site is None and asked is None:
        raise CrossSiteError("an unknown site")
