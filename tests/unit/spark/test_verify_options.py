"""What Kafka's Java client is given of a context, and what it would fail at much later."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.model.cluster import ClusterContext, Security, SecurityProtocol, Tls
from anabranch.spark.verify.options import UnreadableByJvmError, options

pytestmark = pytest.mark.unit


def context(key: Path) -> ClusterContext:
    """A cluster that asks for a certificate."""
    tls = Tls(ca_file="ca.pem", cert_file="me.pem", key_file=str(key))
    return ClusterContext("new", ("127.0.0.1:9",), Security(SecurityProtocol.SSL, tls))


@pytest.mark.parametrize("kind", ["RSA", "EC"])
def test_a_key_that_java_does_not_read_is_refused_with_the_command_that_mends_it(tmp_path: Path, kind: str) -> None:
    """Before a task fails at it with a page of Java."""
    key = tmp_path / "key.pem"
    key.write_text(f"-----BEGIN {kind} PRIVATE KEY-----\nMII=\n-----END {kind} PRIVATE KEY-----\n")
    with pytest.raises(UnreadableByJvmError) as told:
        options(context(key))
    assert str(key) in told.value.message
    assert told.value.hint.startswith("openssl pkcs8 -topk8 -nocrypt -in ")


def test_other_keys_and_keys_of_another_machine_are_named(tmp_path: Path) -> None:
    """Where it is no file here, an executor has it."""
    key = tmp_path / "key.pem"
    absent = options(context(key))["kafka.ssl.keystore.key"]
    key.write_text("-----BEGIN PRIVATE KEY-----\nMII=\n-----END PRIVATE KEY-----\n")
    assert options(context(key))["kafka.ssl.keystore.key"] == absent


def test_a_file_that_was_sent_along_is_in_the_working_directory_of_each_process(tmp_path: Path) -> None:
    """Its path on the driver's machine is no path of an executor's."""
    found = options(context(tmp_path / "key.pem"))
    assert found["kafka.ssl.truststore.location"] == "ca.pem"
    assert found["kafka.ssl.keystore.certificate.chain"] == "${dir:.:me.pem}"
    assert found["kafka.ssl.keystore.key"] == f"${{dir:{tmp_path}:key.pem}}"
