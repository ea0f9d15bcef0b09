"""Clusters, their security, and secrets."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from anabranch.errors import InvalidFieldError
from anabranch.model.cluster import (
    ClusterContext,
    PasswordLogin,
    SaslMechanism,
    Security,
    SecurityProtocol,
    Tls,
    UnsupportedSecurityError,
    parse_mechanism,
    parse_protocol,
)
from anabranch.model.secrets import MissingSecretError, Secret, SecretKind, SecretRef

pytestmark = pytest.mark.unit

PASSWORD = SecretRef(SecretKind.ENV, "PASSWORD")
LOGIN = PasswordLogin(SaslMechanism.PLAIN, "ann", PASSWORD)


@pytest.mark.parametrize("name", ["GSSAPI", "AWS_MSK_IAM", "KERBEROS", ""])
def test_another_mechanism_is_refused_by_its_name(name: str) -> None:
    """What is not spoken is named, with all that is."""
    with pytest.raises(UnsupportedSecurityError) as caught:
        parse_mechanism(name)
    assert repr(name) in caught.value.message
    assert all(m.value in caught.value.hint for m in SaslMechanism)
    assert caught.value.exit_code == 2


def test_another_protocol_is_refused_by_its_name() -> None:
    """A protocol that Kafka does not have is named, with the four it has."""
    with pytest.raises(UnsupportedSecurityError, match="'HTTPS'"):
        parse_protocol("HTTPS")
    assert parse_protocol("sasl_ssl") is SecurityProtocol.SASL_SSL


def test_a_login_belongs_to_sasl_and_tls_to_encryption() -> None:
    """Settings that the protocol would ignore are refused, and those it needs are asked for."""
    with pytest.raises(InvalidFieldError, match="SASL_SSL needs sasl"):
        Security(SecurityProtocol.SASL_SSL)
    with pytest.raises(InvalidFieldError, match="SSL takes no sasl"):
        Security(SecurityProtocol.SSL, None, LOGIN)
    with pytest.raises(InvalidFieldError, match="not encrypted"):
        Security(SecurityProtocol.SASL_PLAINTEXT, Tls(), LOGIN)
    assert Security(SecurityProtocol.SSL).tls == Tls()


def test_a_certificate_needs_its_key() -> None:
    """Half of a client certificate is refused, naming the other half."""
    with pytest.raises(InvalidFieldError, match="key_file: missing"):
        Tls(cert_file="c.pem")
    with pytest.raises(InvalidFieldError, match="cert_file: missing"):
        Tls(key_file="k.pem")


@pytest.mark.parametrize("address", ["localhost", "localhost:", "localhost:0", "localhost:65536", ":9092", "a b:1"])
def test_an_address_is_host_and_port(address: str) -> None:
    """A bootstrap server without a usable port is refused as it was written."""
    with pytest.raises(InvalidFieldError, match="not host:port"):
        ClusterContext("a", (address,))


def test_addresses_may_be_ipv6() -> None:
    """Brackets keep the colons of an address from the port's."""
    assert ClusterContext("a", ("[::1]:9092", "h:1")).bootstrap == ("[::1]:9092", "h:1")


@pytest.mark.parametrize("name", ["", "Old", "a/b", "a" * 64, "-a"])
def test_a_context_name_is_plain(name: str) -> None:
    """Names go into topic names and file keys, so they are plain."""
    with pytest.raises(InvalidFieldError, match="not a legal context name"):
        ClusterContext(name, ("h:1",))


def test_a_context_without_bootstrap_is_refused() -> None:
    """A cluster that cannot be reached is no context."""
    with pytest.raises(InvalidFieldError, match="bootstrap: empty"):
        ClusterContext("a", ())


def test_contexts_pickle_and_hold_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """A context goes to Spark workers whole, and its bytes and its text hold only the reference."""
    monkeypatch.setenv("PASSWORD", "hunter2")
    context = ClusterContext("a", ("h:1",), Security(SecurityProtocol.SASL_SSL, None, LOGIN))
    data = pickle.dumps(context)
    assert pickle.loads(data) == context
    assert b"hunter2" not in data
    assert "hunter2" not in repr(context)


def test_a_secret_is_masked_and_stays_here() -> None:
    """A resolved secret shows in no text and refuses to be pickled or copied."""
    secret = Secret("hunter2")
    assert secret.reveal() == "hunter2"
    for text in (repr(secret), str(secret), f"{secret}", repr([secret])):
        assert "hunter2" not in text
    with pytest.raises(TypeError, match="SecretRef"):
        pickle.dumps(secret)
    with pytest.raises(TypeError, match="SecretRef"):
        copy.copy(secret)


def test_secrets_come_from_the_environment_or_a_file(tmp_path: Path) -> None:
    """A variable is taken as it is, a file without its trailing newline."""
    assert PASSWORD.resolve({"PASSWORD": " s "}).reveal() == " s "
    file = tmp_path / "secret"
    file.write_text("s3cret\r\n")
    assert SecretRef(SecretKind.FILE, str(file)).resolve().reveal() == "s3cret"


def test_a_missing_secret_names_its_reference_and_the_fix(tmp_path: Path) -> None:
    """Unset, unreadable and empty are told apart."""
    with pytest.raises(MissingSecretError, match="env:PASSWORD: the environment variable is not set") as caught:
        PASSWORD.resolve({})
    assert "export PASSWORD=" in caught.value.hint
    with pytest.raises(MissingSecretError, match="it is empty"):
        PASSWORD.resolve({"PASSWORD": ""})
    with pytest.raises(MissingSecretError, match="No such file") as caught:
        SecretRef(SecretKind.FILE, str(tmp_path / "none")).resolve()
    assert "chmod 600" in caught.value.hint
    (tmp_path / "raw").write_bytes(b"\xff")
    with pytest.raises(MissingSecretError, match="not UTF-8"):
        SecretRef(SecretKind.FILE, str(tmp_path / "raw")).resolve()
