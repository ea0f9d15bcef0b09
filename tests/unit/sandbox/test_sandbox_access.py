"""How clients are told to reach a sandbox cluster."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path

import pytest

from anabranch.config.contexts import read_context
from anabranch.errors import InvalidFieldError
from anabranch.sandbox.access import UserCredentials, unsigned_token
from anabranch.sandbox.layout import plan_layout, ports_needed
from anabranch.sandbox.spec import ClusterSpec, ListenerSecurity

pytestmark = pytest.mark.unit


def access_of(root: Path, security: str) -> UserCredentials:
    """The access of a cluster that is only laid out."""
    spec = ClusterSpec("old-1", security=security)
    return UserCredentials(plan_layout(spec, root, "id", list(range(20000, 20000 + ports_needed(spec)))))


@pytest.mark.parametrize("security", list(ListenerSecurity))
@pytest.mark.parametrize("secret_files", [False, True])
def test_every_context_is_one_that_the_contexts_file_takes(
    tmp_path: Path, security: ListenerSecurity, secret_files: bool
) -> None:
    """The reader of contexts files accepts it and finds the same protocol."""
    entry = access_of(tmp_path, security).context("alice", secret_files=secret_files)
    context = read_context("old", entry, "test")
    assert context.security.protocol.value == security.protocol
    assert (context.security.login is not None) == security.sasl


def test_a_context_names_its_secret_and_does_not_hold_it(tmp_path: Path) -> None:
    """The password is in the environment that the sandbox gives, under the name in the context."""
    access = access_of(tmp_path, "SCRAM-SHA-512")
    entry = access.context("alice")
    assert entry["security"]["sasl"]["password_env"] == "ANABRANCH_OLD_1_ALICE_PASSWORD"
    assert access.environment()["ANABRANCH_OLD_1_ALICE_PASSWORD"] == "alice-secret"
    assert "alice-secret" not in json.dumps(entry)


def test_secret_files_are_for_this_user_alone(tmp_path: Path) -> None:
    """Nobody else may read a password."""
    access = access_of(tmp_path, "PLAIN")
    access.write_secrets()
    path = Path(access.context("admin", secret_files=True)["security"]["sasl"]["password_file"])
    assert path.read_text() == "admin-secret"
    assert path.stat().st_mode & 0o077 == 0


def test_an_unknown_user_is_refused(tmp_path: Path) -> None:
    """The error lists the users that there are."""
    with pytest.raises(InvalidFieldError, match="mallory") as caught:
        access_of(tmp_path, "PLAIN").client_config("mallory")
    assert "alice" in caught.value.hint


def test_an_unsigned_token_names_its_user_and_has_not_expired() -> None:
    """Three parts, the last one empty, as Kafka's unsecured validator wants."""
    head, body, signature = unsigned_token("alice").split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    assert json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))) == {"alg": "none"}
    assert claims["sub"] == "alice"
    assert claims["iat"] < time.time() < claims["exp"]
    assert signature == ""
