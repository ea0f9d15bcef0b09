"""Who the claims of an ID token are of: name, role and groups, and what of them is not taken."""

from __future__ import annotations

from typing import Any

import pytest

from anabranch.model.accounts import Role
from anabranch.service.errors import LoginRefusedError
from anabranch.service.oidc import VouchedFor, vouched_by
from anabranch.service.settings import OidcSettings

pytestmark = pytest.mark.unit

ROLES = {"kafka-oncall": Role.APPROVER, "engineering": Role.VIEWER}
SETTINGS = OidcSettings("https://id.example.org", "anabranch", None, "sso", "roles", ROLES, groups_claim="groups")
CLAIMS: dict[str, Any] = {"sub": "1", "preferred_username": "mei", "roles": ["engineering", "kafka-oncall", 7]}


@pytest.mark.parametrize(
    ("claim", "groups"),
    [
        (["shop", "/emea/analysts", "shop"], ("/emea/analysts", "shop")),
        ("shop", ("shop",)),
        (None, ()),
        ({"a": 1}, ()),
        (["", "a\nb", "x" * 300, 7, None, "kept"], ("kept",)),
    ],
)
def test_groups_come_from_their_claim(claim: object, groups: tuple[str, ...]) -> None:
    """As a text or a list; one that is not there is none, and what no grant can name is left out."""
    told = {**CLAIMS} if claim is None else {**CLAIMS, "groups": claim}
    assert vouched_by(SETTINGS, told) == VouchedFor("mei", Role.APPROVER, groups)


def test_the_claim_of_groups_has_a_name_of_its_own() -> None:
    """Roles and groups may be of one claim, or of two."""
    settings = OidcSettings(
        "https://id.example.org", "anabranch", None, "sso", "roles", ROLES, "email", groups_claim="teams"
    )
    told = {"sub": "1", "email": "mei@example.org", "roles": "engineering", "groups": ["no"], "teams": ["shop"]}
    assert vouched_by(settings, told) == VouchedFor("mei@example.org", Role.VIEWER, ("shop",))


def test_groups_let_nobody_in_who_has_no_role() -> None:
    """Grants are to groups, and whether one is let in is of roles alone."""
    with pytest.raises(LoginRefusedError, match="none of the values of 'roles'"):
        vouched_by(SETTINGS, {"sub": "1", "preferred_username": "vis", "groups": ["kafka-oncall"]})


def test_a_claim_without_a_name_takes_no_groups() -> None:
    """Where the provider's names are not meant here, or people make groups there themselves."""
    settings = OidcSettings(
        "https://id.example.org", "anabranch", None, "sso", "roles", ROLES, "preferred_username", groups_claim=""
    )
    assert vouched_by(settings, {**CLAIMS, "groups": ["shop"], "": ["shop"]}).groups == ()
