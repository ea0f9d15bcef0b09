"""A certificate authority for one cluster, its brokers' certificate and one certificate a user.

Keys are P-256, made anew for each cluster and kept below its root; a broker's certificate is good for 127.0.0.1 and
localhost.  The brokers' key is kept as PKCS #12, because Kafka 2.8 takes no PEM key without a password.  The
``cryptography`` package is imported when a cluster with TLS is made and not before.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.jars.errors import MissingProgramError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

STORE_PASSWORD = "anabranch-sandbox"

_LIFE = timedelta(days=30)


def write_certificates(directory: Path, users: Iterable[str]) -> None:
    """Write ``ca.pem``, ``broker.p12`` and ``USER.pem`` with ``USER-key.pem`` into the directory.

    Raises ``MissingProgramError`` when ``cryptography`` is not installed.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        fix = "pip install cryptography"
        raise MissingProgramError("the Python package cryptography", "a sandbox with TLS", fix) from error
    directory.mkdir(parents=True, exist_ok=True)
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca = _certificate("anabranch-sandbox-ca", ca_key, None, ca_key, [])
    (directory / "ca.pem").write_bytes(_pem(ca))
    names: list[x509.GeneralName] = [
        x509.DNSName("localhost"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    ]
    key = ec.generate_private_key(ec.SECP256R1())
    store = _key_store(key, _certificate("broker", key, ca, ca_key, names), ca)
    _write_secret(directory / "broker.p12", store)
    for user in users:
        key = ec.generate_private_key(ec.SECP256R1())
        (directory / f"{user}.pem").write_bytes(_pem(_certificate(user, key, ca, ca_key, [])))
        _write_secret(directory / f"{user}-key.pem", _key_pem(key))


def _certificate(
    common_name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    issuer_key: ec.EllipticCurvePrivateKey,
    alternatives: list[x509.GeneralName],
) -> x509.Certificate:
    """A certificate of ``key``; without an issuer it is its own authority."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    now = datetime.now(UTC)
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # An hour back, for clocks that differ between machines and containers.
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + _LIFE)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(authority, critical=False)
    )
    if issuer is None:
        builder = builder.add_extension(
            x509.KeyUsage(
                digital_signature=True,
                key_cert_sign=True,
                crl_sign=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _key_store(key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate, ca: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
    from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

    encryption = BestAvailableEncryption(STORE_PASSWORD.encode())
    return serialize_key_and_certificates(b"broker", key, certificate, [ca], encryption)


def _write_secret(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
