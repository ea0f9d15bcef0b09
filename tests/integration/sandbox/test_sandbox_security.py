"""Every kind of login works, wrong ones do not, and the authorizer denies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from anabranch.sandbox import Cluster, ClusterSpec, ListenerSecurity

from .clients import QUIET, create, numbered, produce, read

pytestmark = pytest.mark.integration

WITH_USERS = ("MTLS", "PLAIN", "SCRAM-SHA-512", "SCRAM-SHA-256", "OAUTHBEARER")
KINDS = [
    ("4.3.1", "SSL"),
    *(("4.3.1", kind) for kind in WITH_USERS),
    ("2.8.2", "SCRAM-SHA-512"),
]


@pytest.fixture(scope="module", params=KINDS, ids="-".join)
def guarded(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster of each kind, with an authorizer where it knows users."""
    version, security = request.param
    with Cluster.start(ClusterSpec("guarded", version, security=security, authorizer=security != "SSL")) as cluster:
        yield cluster


def refusal(config: dict[str, Any]) -> KafkaError | None:
    """What the cluster says to a request for its topics; None when it answers."""
    seen: list[KafkaError] = []
    admin = AdminClient(config | {"error_cb": seen.append, "socket.timeout.ms": 3000}, logger=QUIET)
    try:
        admin.list_topics(timeout=3)
    except KafkaException as error:
        causes = (KafkaError._AUTHENTICATION, KafkaError._SSL)
        return next((one for one in seen if one.code() in causes), error.args[0])
    return None


def test_the_super_user_writes_and_reads_and_alice_may_not(guarded: Cluster) -> None:
    """Admin has every right; alice logs in as herself and is denied."""
    config = guarded.client_config()
    create(config, "t")
    produce(config, "t", numbered(50))
    assert [message.value() for message in read(config, "t", 50)] == numbered(50)
    if guarded.spec.authorizer:
        with pytest.raises(KafkaException) as caught:
            create(guarded.client_config("alice"), "hers")
        assert caught.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_a_wrong_login_is_refused(guarded: Cluster) -> None:
    """A wrong password, no certificate, an authority that did not sign: none gets an answer."""
    config = guarded.client_config()
    if guarded.spec.listener is ListenerSecurity.OAUTHBEARER:
        config = {**config, "sasl.oauthbearer.config": "principal=admin lifeSeconds=1", "sasl.mechanism": "PLAIN"}
        config |= {"sasl.username": "admin", "sasl.password": "admin-secret"}
    elif guarded.spec.listener.sasl:
        config["sasl.password"] = "wrong"
    elif guarded.spec.listener is ListenerSecurity.MTLS:
        del config["ssl.certificate.location"], config["ssl.key.location"]
    else:
        del config["ssl.ca.location"]
    error = refusal(config)
    assert error is not None
