"""A certificate authority for one cluster, its brokers' certificate and one certificate a user.

Keys are P-256, new for each cluster and kept below its root; a broker's certificate is good for 127.0.0.1 and
localhost.  The brokers' key is kept as PKCS #12, because Kafka 2.8 takes no PEM key without a password.  The
``trustme`` package is imported when a cluster with TLS is made and not before.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.jars.errors import MissingProgramError

if TYPE_CHECKING:
    from trustme import CA, LeafCert

STORE_PASSWORD = "anabranch-sandbox"


def write_certificates(directory: Path, users: Iterable[str]) -> None:
    """Write ``ca.pem``, ``broker.p12`` and ``USER.pem`` with ``USER-key.pem`` into the directory.

    Raises ``MissingProgramError`` when ``trustme`` is not installed.
    """
    try:
        from trustme import CA, KeyType
    except ImportError as error:
        fix = "pip install trustme"
        raise MissingProgramError("the Python package trustme", "a sandbox with TLS", fix) from error
    directory.mkdir(parents=True, exist_ok=True)
    ca = CA(organization_name="anabranch-sandbox", key_type=KeyType.ECDSA)
    ca.cert_pem.write_to_path(directory / "ca.pem")
    broker = ca.issue_cert("localhost", "127.0.0.1", common_name="broker", key_type=KeyType.ECDSA)
    _write_secret(directory / "broker.p12", _key_store(broker, ca))
    for user in users:
        # With an address: Java refuses a certificate whose alternative names are there and empty.
        theirs = ca.issue_cert(f"{user}@localhost", common_name=user, key_type=KeyType.ECDSA)
        theirs.cert_chain_pems[0].write_to_path(directory / f"{user}.pem")
        _write_secret(directory / f"{user}-key.pem", _pkcs8(theirs))


def _key_store(certificate: LeafCert, ca: CA) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key
    from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
    from cryptography.x509 import load_pem_x509_certificate

    key = load_pem_private_key(certificate.private_key_pem.bytes(), None)
    assert isinstance(key, EllipticCurvePrivateKey)
    own, authority = (load_pem_x509_certificate(pem.bytes()) for pem in (certificate.cert_chain_pems[0], ca.cert_pem))
    return serialize_key_and_certificates(
        b"broker", key, own, [authority], BestAvailableEncryption(STORE_PASSWORD.encode())
    )


def _pkcs8(certificate: LeafCert) -> bytes:
    """The key as Kafka's Java client reads it too."""
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )

    key = load_pem_private_key(certificate.private_key_pem.bytes(), None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _write_secret(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
