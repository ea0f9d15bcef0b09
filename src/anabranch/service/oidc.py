"""Signing in through an OpenID Connect provider: the authorization code flow with PKCE.

What a login needs until it comes back is in a cookie of that browser alone, so that any instance can finish it.  The
ID token's signature, issuer, audience, expiry and nonce are checked (OpenID Connect Core 1.0, 3.1.3.7; RFC 7636).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import secrets
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt

from anabranch.model.accounts import Role
from anabranch.service.errors import LoginRefusedError, ProviderError
from anabranch.service.settings import OidcSettings
from anabranch.streams.grants import is_group

LOGIN_S = 600
"""How long a login may take."""
_TIMEOUT_S = 10.0
_LARGEST = 1 << 20
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_LEEWAY_S = 60


@dataclass(frozen=True, slots=True)
class Begun:
    """A login that began: where the browser goes, and what it brings back in its cookie."""

    location: str
    cookie: str


@dataclass(frozen=True, slots=True)
class VouchedFor:
    """Somebody whom the provider vouches for, with the groups of now."""

    name: str
    role: Role
    groups: tuple[str, ...] = ()


class Oidc:
    """One provider."""

    def __init__(self, settings: OidcSettings) -> None:
        self.settings = settings
        self._known: Mapping[str, Any] | None = None
        self._keys: jwt.PyJWKClient | None = None

    async def begin(self, redirect: str) -> Begun:
        """Begin a login that comes back to ``redirect``; raises ProviderError."""
        known = await self._discovered()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": redirect,
            "scope": " ".join(self.settings.scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        cookie = ".".join((state, nonce, verifier))
        return Begun(f"{known['authorization_endpoint']}?{urllib.parse.urlencode(query)}", cookie)

    async def finish(self, redirect: str, cookie: str, answer: Mapping[str, str]) -> VouchedFor:
        """Who came back; raises LoginRefusedError, ProviderError."""
        parts = cookie.split(".")
        if len(parts) != 3:
            raise LoginRefusedError("this browser has begun no login, or more than ten minutes ago")
        state, nonce, verifier = parts
        if not secrets.compare_digest(answer.get("state", ""), state):
            raise LoginRefusedError("the answer belongs to another login")
        if "error" in answer:
            raise LoginRefusedError(f"the provider says {answer['error'][:100]!r}")
        if not answer.get("code"):
            raise LoginRefusedError("the provider sent no code")
        fields = {
            "grant_type": "authorization_code",
            "code": answer["code"],
            "redirect_uri": redirect,
            "client_id": self.settings.client_id,
            "code_verifier": verifier,
        }
        known = await self._discovered()
        tokens = await asyncio.to_thread(self._exchange, known["token_endpoint"], fields)
        token = tokens.get("id_token")
        if not isinstance(token, str):
            raise LoginRefusedError("the provider sent no ID token")
        claims = await asyncio.to_thread(self._claims, known, token)
        if claims.get("nonce") != nonce:
            raise LoginRefusedError("the ID token belongs to another login")
        return vouched_by(self.settings, claims)

    def _claims(self, known: Mapping[str, Any], token: str) -> Mapping[str, Any]:
        if self._keys is None:
            self._keys = jwt.PyJWKClient(known["jwks_uri"], timeout=int(_TIMEOUT_S))
        try:
            key = self._keys.get_signing_key_from_jwt(token)
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=list(_ALGORITHMS),
                audience=self.settings.client_id,
                issuer=known["issuer"],
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except jwt.PyJWKClientConnectionError as error:
            raise ProviderError(self.settings.issuer, "its keys cannot be read") from error
        except jwt.PyJWTError as error:
            raise LoginRefusedError(f"the ID token is not valid: {error}") from error
        return claims

    async def _discovered(self) -> Mapping[str, Any]:
        """The provider's endpoints, read once; raises ProviderError."""
        if self._known is None:
            where = self.settings.issuer.rstrip("/") + "/.well-known/openid-configuration"
            found = await asyncio.to_thread(self._read, urllib.request.Request(where))
            missing = [
                name
                for name in ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
                if not isinstance(found.get(name), str)
            ]
            if missing:
                raise ProviderError(self.settings.issuer, f"its configuration has no {', '.join(missing)}")
            if found["issuer"].rstrip("/") != self.settings.issuer.rstrip("/"):
                raise ProviderError(self.settings.issuer, f"it calls itself {found['issuer']}")
            self._known = found
        return self._known

    def _exchange(self, endpoint: str, fields: Mapping[str, str]) -> Mapping[str, Any]:
        request = urllib.request.Request(endpoint, urllib.parse.urlencode(fields).encode())
        if self.settings.client_secret is not None:
            quote = urllib.parse.quote
            secret = self.settings.client_secret.resolve().reveal()
            pair = f"{quote(self.settings.client_id, safe='')}:{quote(secret, safe='')}"
            request.add_header("Authorization", "Basic " + base64.b64encode(pair.encode()).decode())
        return self._read(request)

    def _read(self, request: urllib.request.Request) -> Mapping[str, Any]:
        """A JSON object of the provider; raises ProviderError, LoginRefusedError where it refuses the code."""
        if urllib.parse.urlsplit(request.full_url).scheme not in {"http", "https"}:
            raise ProviderError(self.settings.issuer, "its address is not one of HTTP")
        request.add_header("Accept", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
                found = json.loads(answer.read(_LARGEST))
        except urllib.error.HTTPError as error:
            with error:
                why = _told(error)
            if error.code == 400:
                raise LoginRefusedError(f"the provider does not take the code: {why}") from error
            raise ProviderError(self.settings.issuer, f"it answers {error.code}: {why}") from error
        except (OSError, ValueError) as error:
            raise ProviderError(self.settings.issuer, str(getattr(error, "reason", error))) from error
        if not isinstance(found, dict):
            raise ProviderError(self.settings.issuer, "it answers with no JSON object")
        return found


def vouched_by(settings: OidcSettings, claims: Mapping[str, Any]) -> VouchedFor:
    """Who the claims of an ID token are of; raises LoginRefusedError.

    A claim of groups that is not there is none, so who is in no group any more keeps none.  A value that cannot be a
    group of a grant is left out.
    """
    name = claims.get(settings.name_claim) or claims.get("sub")
    if not isinstance(name, str) or not 0 < len(name) <= 200:
        raise LoginRefusedError(f"the ID token has no usable {settings.name_claim}")
    roles = [settings.roles[one] for one in _values(claims, settings.claim) if one in settings.roles]
    if not roles:
        raise LoginRefusedError(f"{name} has none of the values of {settings.claim!r} that give a role")
    groups = [one for one in _values(claims, settings.groups_claim) if is_group(one)]
    return VouchedFor(name, max(roles), tuple(sorted(set(groups))))


def _values(claims: Mapping[str, Any], claim: str) -> list[str]:
    """The texts of a claim, which has one or a list of them; none of a claim without a name."""
    found = claims.get(claim) if claim else None
    values = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    return [one for one in values if isinstance(one, str)]


def _told(error: urllib.error.HTTPError) -> str:
    """The provider's own word for what is wrong, which is no secret."""
    try:
        found = json.loads(error.read(_LARGEST))
        return str(found.get("error_description") or found.get("error") or error.reason)[:200]
    except (OSError, ValueError, AttributeError):
        return str(error.reason)
