"""A user with no more rights than the reference lists compares clusters that ask for a password or a certificate."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from anabranch.config.verifyspec import ReaderKind, VerifyOptions
from anabranch.operations.jobs.readerjob import ReaderJob
from anabranch.operations.verify.start import launch
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa import comparing as engine
from qa.brokers import STEADY
from qa.verify_lab import connector_settings
from tests.integration.kafka.security import context_of
from tests.integration.links.guarded import Grant, grant
from tests.integration.links.lab import link
from tests.integration.links.topics import create, fresh, numbered, produce

pytestmark = pytest.mark.full

USERS = {"admin": "admin-secret", "auditor": "a-secret"}


def source_needs(topics: str) -> tuple[Grant, ...]:
    """What docs/reference/permissions.md says of the source, for topics with a prefix."""
    return tuple((ResourceType.TOPIC, topics, one) for one in (AclOperation.READ, AclOperation.DESCRIBE_CONFIGS))


def target_needs(topics: str) -> tuple[Grant, ...]:
    """What it says of the target."""
    verified = [(ResourceType.TOPIC, "__anabranch_verified", one) for one in (AclOperation.CREATE, AclOperation.WRITE)]
    return (*source_needs(topics), (ResourceType.TOPIC, "__anabranch_", AclOperation.READ), *verified)


@pytest.fixture(scope="module")
def guarded() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """A source with passwords and a target with certificates, both over TLS and with the standard authorizer."""
    here, there = start_clusters(
        [
            ClusterSpec(name, security=security, authorizer=True, users=USERS, overrides=STEADY)
            for name, security in (("audit-old", "PLAIN"), ("audit-new", "MTLS"))
        ]
    )
    with here, there:
        grant(here, "auditor", source_needs("secured"))
        grant(there, "auditor", target_needs("secured"))
        yield here, there


@pytest.mark.parametrize("reader", [ReaderKind.RECORDS, ReaderKind.BATCHES])
def test_an_auditor_compares(
    guarded: tuple[SandboxCluster, SandboxCluster], tmp_path: Path, reader: ReaderKind
) -> None:
    """Passwords come from the environment and keys from files, in Python and in the JVM alike."""
    old, new = guarded
    topic = create(old, fresh("secured"))
    produce(old, topic, numbered(300))
    with link(old, new, topic) as made:
        with made.running():
            made.await_position(topic, 300)
        both = context_of(old, "auditor"), context_of(new, "auditor")
        spec = engine.plan(*both, made.id, VerifyOptions(reader)).spec(*both)
        assert "a-secret" not in spec.to_json()
        job = ReaderJob(*both, "local[1]", tmp_path, connector_settings())
        done = asyncio.run(launch(spec, job, job.arguments()).job.ended())
        told = (tmp_path / f"{spec.run}.log").read_text()
        assert done == 0, told
        assert "a-secret" not in told
        report = json.loads((tmp_path / f"{spec.run}.report.json").read_text())
        assert report["lanes"][0]["source"]["records"] == report["lanes"][0]["target"]["records"] == 300
        assert engine.show(context_of(new, "auditor"), made.id).own_report == report
