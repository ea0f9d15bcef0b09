"""Options of the exactly-once Kafka sink: those of Spark's own Kafka sink lead to the same cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from anabranch.config.jobspec import entry_of
from anabranch.model.cluster import (
    ClientCredentialsLogin,
    ClusterContext,
    PasswordLogin,
    SaslMechanism,
    Security,
    SecurityProtocol,
    Tls,
)
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.records.header import Codec
from anabranch.spark.streams.kafka_sink.errors import KafkaSinkOptionError
from anabranch.spark.streams.kafka_sink.settings import SinkSettings
from anabranch.spark.verify.options import TUNED, options

pytestmark = pytest.mark.unit
PASSWORD = SecretRef(SecretKind.ENV, "SINK_PASSWORD")
SERVERS = {"kafka.bootstrap.servers": "one:9092"}


@pytest.mark.parametrize(
    "security",
    [
        Security(),
        Security(SecurityProtocol.SSL, Tls("/ca.pem", "/me.pem", "/me.key", PASSWORD)),
        Security(SecurityProtocol.SASL_SSL, Tls("/ca.pem"), PasswordLogin(SaslMechanism.SCRAM_SHA_512, "me", PASSWORD)),
        Security(
            SecurityProtocol.SASL_PLAINTEXT,
            None,
            PasswordLogin(SaslMechanism.PLAIN, "me", SecretRef(SecretKind.FILE, "/run/secret")),
        ),
        Security(
            SecurityProtocol.SASL_PLAINTEXT, None, ClientCredentialsLogin("http://t/token", "me", PASSWORD, "kafka")
        ),
    ],
)
def test_options_that_lead_sparks_own_sink_to_a_cluster_lead_this_one_there(security: Security) -> None:
    """What is made of a context is read as that context."""
    context = ClusterContext("sink", ("one:9092", "[::1]:9093"), security)
    given = {name: value for name, value in options(context).items() if name not in TUNED}
    assert SinkSettings.of({**given, "topic": "t"}).context == context


def test_settings_go_to_the_coordinator_whole() -> None:
    """As JSON and back; a context may be given as such."""
    context = ClusterContext("other", ("one:9092",))
    given = {
        "context": json.dumps(entry_of(context)),
        "transactional.id": "orders",
        "kafka.compression.type": "lz4",
        "kafka.transaction.timeout.ms": "5000",
        "first.batch": "7",
        "checkpointLocation": "/tmp/c",
    }
    settings = SinkSettings.of(given)
    assert settings == SinkSettings(context, None, Codec.LZ4, "orders", 5000, 7)
    assert SinkSettings.from_fields(json.loads(json.dumps(settings.to_fields()))) == settings
    assert (settings.id_of("q"), SinkSettings.of(SERVERS).id_of("q")) == ("orders", "anabranch-sink-q")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "kafka.bootstrap.servers"),
        ({**SERVERS, "kafka.linger.ms": "5"}, "kafka.linger.ms"),
        ({**SERVERS, "topics": "t"}, "topics"),
        ({**SERVERS, "kafka.acks": "1"}, "kafka.acks"),
        ({**SERVERS, "kafka.enable.idempotence": "false"}, "kafka.enable.idempotence"),
        ({**SERVERS, "kafka.compression.type": "rar"}, "kafka.compression.type"),
        ({**SERVERS, "first.batch": "-1"}, "first.batch"),
        ({**SERVERS, "kafka.transaction.timeout.ms": "soon"}, "kafka.transaction.timeout.ms"),
        ({**SERVERS, "context": "{}"}, "context"),
        ({"context": "[]"}, "context"),
        ({**SERVERS, "kafka.ssl.truststore.type": "JKS"}, "kafka.ssl.truststore.type"),
        ({**SERVERS, "kafka.security.protocol": "SASL_SSL", "kafka.sasl.mechanism": "PLAIN"}, "kafka.sasl.jaas.config"),
        ({**SERVERS, "kafka.security.protocol": "NONE"}, "kafka.*"),
    ],
)
def test_an_option_that_is_wrong_is_named(given: dict[str, Any], named: str) -> None:
    """What is missing, unknown, or would lose records."""
    with pytest.raises(KafkaSinkOptionError) as raised:
        SinkSettings.of(given)
    assert raised.value.option == named and raised.value.hint


def test_a_secret_in_an_option_is_refused_and_not_repeated() -> None:
    """Options are shown in plans and logs."""
    given = {
        **SERVERS,
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": 'Module required username="me" password="hunter2";',
    }
    with pytest.raises(KafkaSinkOptionError) as raised:
        SinkSettings.of(given)
    assert "hunter2" not in str(raised.value) + raised.value.hint and "${env:" in raised.value.hint
