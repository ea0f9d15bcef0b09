"""Connections of every supported security, and refusals that name who, how and where."""

import asyncio
import pickle
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from anabranch.kafka.admin import cluster_operations, create_topic, topic_configs
from anabranch.kafka.cluster import Cluster as Client
from anabranch.kafka.errors import AuthenticationError, PermissionDeniedError, UnreachableError
from anabranch.kafka.partitions import write_marker
from anabranch.model.acls import AclOperation
from anabranch.model.cluster import PasswordLogin, SaslMechanism, Security, SecurityProtocol, Tls
from anabranch.sandbox import ClusterSpec, ListenerSecurity, SandboxCluster
from qa.brokers import STEADY, await_topics
from qa.inconclusive import InconclusiveError
from qa.timeouts import SCALE, TIMEOUT_S
from tests.chance import conclusive
from tests.integration.kafka.security import ask, context_of, with_password
from tests.integration.links.topics import fresh
from tests.integration.sandbox.clients import QUIET, create, numbered, produce, read

pytestmark = pytest.mark.test

WITH_PASSWORDS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
WITH_LOGIN = (*WITH_PASSWORDS, "OAUTHBEARER")
BRIEF = {"connections.max.reauth.ms": "3000"}
"""How long a login holds where it is not for ever."""
MARGIN_S = 3.0 * 0.05
"""A login is renewed so long before its end, at least."""
WITH_USERS = ("MTLS", *WITH_PASSWORDS, "OAUTHBEARER")
WITH_TLS = ("SSL", *WITH_USERS)
KINDS = ("PLAINTEXT", *WITH_TLS)
OLDEST = "SCRAM-SHA-512 on 2.8.2"
LATER = {"PLAINTEXT", "PLAIN", "SSL", "SCRAM-SHA-256", OLDEST}
"""Others show what these do: most clusters of the tests have no security, MTLS is TLS with one certificate more, and
one kind of password is as the next."""
EVERY = [pytest.param(kind, marks=[pytest.mark.full] if kind in LATER else []) for kind in (*KINDS, OLDEST)]


@pytest.fixture(scope="module", params=EVERY)
def cluster(request: pytest.FixtureRequest) -> Iterator[SandboxCluster]:
    """A cluster of one kind of security; with an authorizer where it knows users."""
    kind, _, version = request.param.partition(" on ")
    authorizer = kind in WITH_USERS
    settings = {**STEADY, **(BRIEF if kind in WITH_LOGIN else {})}
    newest = ClusterSpec(name=f"secure-{kind.lower()}", security=kind, authorizer=authorizer, overrides=settings)
    with SandboxCluster.start(replace(newest, version=version, overrides={}) if version else newest) as running:
        yield running


def test_a_topic_is_made_and_read_back_over_every_kind_of_security(cluster: SandboxCluster) -> None:
    """The administrator connects, is believed, and does something that needs a right."""

    async def question(client: Client) -> tuple[str, str | None]:
        assert await create_topic(client, "made", 1, 1, {"retention.ms": "12345"})
        async with asyncio.timeout(TIMEOUT_S):  # the controller answers before its brokers have read of the topic
            while (await client.metadata(["made"])).topics["made"].error:
                await asyncio.sleep(0.05)
        configs = await topic_configs(client, ["made"])
        return await client.cluster_id(), configs["made"]["retention.ms"].value

    assert ask(context_of(cluster), question) == (cluster.cluster_id, "12345")


@pytest.mark.security(*WITH_LOGIN)
def test_a_connection_outlives_its_login(cluster: SandboxCluster) -> None:
    """KIP-368: asked again and again, the broker keeps the one connection for several lives of its login."""
    if cluster.spec.kafka.number == "2.8.2":
        pytest.skip("its logins hold for ever here")

    async def question(client: Client) -> tuple[bool, float]:
        connection = await client.any_connection()
        renewals, timer, longest = 0, connection._renewal, 0.0
        async with asyncio.timeout(TIMEOUT_S):
            while renewals < 3 and connection.closed is None:
                began = time.monotonic()
                await asyncio.gather(*(client.metadata([]) for _ in range(5)))
                if connection._renewal is not timer:
                    renewals, timer = renewals + 1, connection._renewal
                await asyncio.sleep(0.005)
                longest = max(longest, time.monotonic() - began)
        return connection.closed is None and await client.any_connection() is connection, longest

    def attempt(_: int) -> bool:
        outlived, longest = ask(context_of(cluster), question)
        if not outlived and longest > MARGIN_S:
            raise InconclusiveError(f"the machine stood still for {longest:.2f} s: a login may end meanwhile")
        return outlived

    assert conclusive(attempt)


@pytest.mark.security(*WITH_PASSWORDS)
def test_a_wrong_password_names_the_user_and_the_mechanism(
    cluster: SandboxCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal is an AuthenticationError at once, and not one of many failed addresses."""
    monkeypatch.setenv("WRONG", "not-the-password")
    with pytest.raises(AuthenticationError) as raised:
        ask(with_password(context_of(cluster), "WRONG"), Client.cluster_id)
    assert (raised.value.principal, raised.value.mechanism) == ("User:admin", cluster.spec.listener.value)
    assert "not-the-password" not in str(raised.value)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


@pytest.mark.security(*WITH_PASSWORDS)
def test_a_mechanism_that_the_listener_has_not_is_refused_with_those_that_it_has(cluster: SandboxCluster) -> None:
    """The error says what the listener offers."""
    context = context_of(cluster)
    login = context.security.login
    assert isinstance(login, PasswordLogin)
    other = SaslMechanism.PLAIN if login.mechanism is not SaslMechanism.PLAIN else SaslMechanism.SCRAM_SHA_512
    changed = replace(context.security, login=replace(login, mechanism=other))
    with pytest.raises(AuthenticationError, match=f"the listener offers {login.mechanism}"):
        ask(replace(context, security=changed), Client.cluster_id)


@pytest.mark.security(*WITH_TLS)
def test_an_authority_that_did_not_sign_the_broker_is_refused(cluster: SandboxCluster) -> None:
    """Without the right authorities the certificate is not believed, and the error says which host's."""
    context = context_of(cluster)
    assert context.security.tls is not None
    changed = replace(context.security, tls=replace(context.security.tls, ca_file=None))
    with pytest.raises(AuthenticationError, match=r"certificate of 127\.0\.0\.1:\d+") as raised:
        ask(replace(context, security=changed), Client.cluster_id)
    assert raised.value.mechanism == "TLS"
    assert "--ca-file" in raised.value.hint


@pytest.mark.security("MTLS")
def test_mtls_without_a_certificate_is_refused(cluster: SandboxCluster) -> None:
    """The broker's demand for a certificate is told as what it is."""
    context = context_of(cluster)
    assert context.security.tls is not None
    bare = Security(SecurityProtocol.SSL, Tls(context.security.tls.ca_file))
    with pytest.raises(AuthenticationError, match="certificate"):
        ask(replace(context, security=bare), Client.cluster_id)


@pytest.mark.security(*WITH_USERS)
def test_a_missing_permission_names_operation_resource_and_user(cluster: SandboxCluster) -> None:
    """What alice may not do is told in words that an operator can grant."""
    with pytest.raises(PermissionDeniedError) as raised:
        ask(context_of(cluster, "alice"), lambda client: create_topic(client, "denied", 1, 1, {}))
    error = raised.value
    assert (error.operation, error.resource) == ("Create", "topic denied")
    if isinstance(context_of(cluster).security.login, PasswordLogin):
        assert error.principal == "User:alice"
        assert "User:alice may not Create on topic denied" in str(error)
        assert "--allow-principal User:alice --operation Create" in error.hint


@pytest.mark.security(*WITH_USERS)
def test_allowed_operations_tell_what_a_user_may_do(cluster: SandboxCluster) -> None:
    """The administrator may alter the cluster; alice may not, and may not write a marker either."""
    assert AclOperation.ALTER.allowed_by(ask(context_of(cluster), cluster_operations))

    async def alices(client: Client) -> tuple[bool, int]:
        connection = await client.any_connection()
        return (
            AclOperation.ALTER.allowed_by(await cluster_operations(client)),
            await write_marker(connection, "made", 0, 1),
        )

    assert ask(context_of(cluster, "alice"), alices) == (False, 31)


@pytest.mark.security(*WITH_TLS)
def test_plain_text_to_a_tls_listener_is_told_as_a_wrong_protocol(cluster: SandboxCluster) -> None:
    """A context without TLS ends with the address and a reason, not in a wait."""
    context = context_of(cluster)
    with pytest.raises(UnreachableError) as raised:
        ask(replace(context, security=Security()), Client.cluster_id)
    assert cluster.bootstrap in str(raised.value)
    assert "may be one with TLS" in str(raised.value)


# -- the sandbox itself, by a client that is not ours ---------------------------------------------------


ANSWER_S = 3.0 * SCALE
TOLD_S = 10.0 * SCALE
"""How long a cause is waited for: a broker that closes the connection tells none."""
CAUSES = (KafkaError._AUTHENTICATION, KafkaError._SSL)


def refusal(config: dict[str, Any], causes: Collection[int] = CAUSES) -> KafkaError | None:
    """Why the cluster does not answer: by login or certificate, where it is that; None when it answers.

    No other cause is waited for where the client's own error is one of ``causes``.
    """
    seen: list[KafkaError] = []
    admin = AdminClient(config | {"error_cb": seen.append, "socket.timeout.ms": int(ANSWER_S * 1000)}, logger=QUIET)
    try:
        admin.list_topics(timeout=ANSWER_S)
    except KafkaException as error:
        if error.args[0].code() in causes:
            return cast(KafkaError, error.args[0])
        deadline = time.monotonic() + TOLD_S
        while not any(one.code() in CAUSES for one in seen) and time.monotonic() < deadline:
            admin.poll(0.1)  # what happened on its connections is told here only
        return next((one for one in seen if one.code() in CAUSES), error.args[0])
    return None


@pytest.mark.security(*WITH_TLS, OLDEST)
def test_the_super_user_writes_and_reads_and_alice_may_not(cluster: SandboxCluster) -> None:
    """Admin has every right; alice logs in as herself and is denied."""
    config = cluster.client_config()
    topic = fresh("t")
    create(config, topic)
    await_topics(cluster, {topic: 1})  # else a producer's first request may be answered that there is none
    produce(config, topic, numbered(50))
    assert [message.value() for message in read(config, topic, 50)] == numbered(50)
    if cluster.spec.authorizer:
        with pytest.raises(KafkaException) as caught:
            create(cluster.client_config("alice"), "hers")
        assert caught.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.security(*WITH_TLS, OLDEST)
def test_a_wrong_login_is_refused(cluster: SandboxCluster) -> None:
    """A wrong password, no certificate, an authority that did not sign: each is refused for that, and the right one is
    answered."""
    config = cluster.client_config()
    assert refusal(config) is None
    causes = {KafkaError._AUTHENTICATION if cluster.spec.listener.sasl else KafkaError._SSL}
    if cluster.spec.listener is ListenerSecurity.MTLS:
        causes = {*causes, KafkaError._TRANSPORT}  # with TLS 1.3 the broker judges after the handshake, and closes
    if cluster.spec.listener is ListenerSecurity.OAUTHBEARER:
        config = {**config, "sasl.oauthbearer.config": "principal=admin lifeSeconds=1", "sasl.mechanism": "PLAIN"}
        config |= {"sasl.username": "admin", "sasl.password": "admin-secret"}
    elif cluster.spec.listener.sasl:
        config["sasl.password"] = "wrong"
    elif cluster.spec.listener is ListenerSecurity.MTLS:
        del config["ssl.certificate.location"], config["ssl.key.location"]
    else:
        del config["ssl.ca.location"]
    error = refusal(config, causes)
    assert error is not None
    assert error.code() in causes, error


# -- the last, as a broker is busy for a while with so many partitions --------------------------------


def test_large_answers_arrive_whole_over_every_kind_of_security(cluster: SandboxCluster) -> None:
    """Metadata of a topic of 2,000 partitions is longer than any one read of a socket or TLS record."""

    async def question(client: Client) -> int:
        await create_topic(client, "wide", 2000, 1, {})
        async with asyncio.timeout(TIMEOUT_S):
            while len((await client.metadata(["wide"])).topics["wide"].partitions) < 2000:
                await asyncio.sleep(0.05)
        return len((await client.metadata(["wide"])).topics["wide"].partitions)

    assert ask(context_of(cluster), question) == 2000
