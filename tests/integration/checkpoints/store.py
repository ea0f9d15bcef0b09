"""An S3 server on loopback that keeps its objects in memory, a client of it without our caches, and ways to fail."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import botocore.session
from botocore.client import BaseClient
from s3fs import S3FileSystem

from anabranch.sandbox.jars import class_path, java_program
from anabranch.sandbox.ports import lease_ports
from anabranch.sandbox.process import SupervisedProcess
from anabranch.storage.errors import StorageError
from anabranch.storage.remote import RemoteFiles
from qa.timeouts import TIMEOUT_S

RUNTIME = "s3proxy-3.1.0"
BUCKET = "checkpoints"
KEY, SECRET = "the-key-of-the-store", "the-secret-of-the-store"
_MAIN_CLASS = "org.gaul.s3proxy.Main"
_START_S = TIMEOUT_S
_LOG = """<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%level %logger %msg%n%ex</pattern>
  </encoder></appender>
  <root level="WARN"><appender-ref ref="out"/></root>
</configuration>
"""


@dataclass(frozen=True, slots=True)
class Store:
    """A running server with one bucket."""

    endpoint: str
    client: BaseClient

    @property
    def environment(self) -> dict[str, str]:
        """What the driver finds its server and its credentials by; none of the user's own."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "FSSPEC_"))}
        return {**inherited, **variables(self.endpoint)}

    def put(self, key: str, data: bytes) -> None:
        """Write an object as somebody else would."""
        self.client.put_object(Bucket=BUCKET, Key=key, Body=data)

    def put_all(self, objects: Mapping[str, bytes]) -> None:
        """Write many, some at once."""
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(self.put, objects.keys(), objects.values()))

    def upload(self, root: Path, prefix: str) -> str:
        """Bring a directory there; returns its URI."""
        files = (path for path in root.rglob("*") if path.is_file())
        self.put_all({f"{prefix}/{path.relative_to(root)}": path.read_bytes() for path in files})
        return f"s3://{BUCKET}/{prefix}"

    def snapshot(self, prefix: str, hidden: bool = True) -> Mapping[str, bytes]:
        """Every object below a prefix, by its path; backups only if they are wanted."""
        paths = [path for path in self.tags(prefix) if hidden or not path.startswith(".anabranch/")]
        with ThreadPoolExecutor(8) as pool:
            return dict(zip(paths, pool.map(lambda path: self._read(f"{prefix}/{path}"), paths), strict=True))

    def tags(self, prefix: str) -> Mapping[str, str]:
        """A digest of every object below a prefix, as the server lists it."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{prefix}/")
        found = (one for page in pages for one in page.get("Contents", ()))
        return {one["Key"].removeprefix(f"{prefix}/"): one.get("ETag", "") for one in found}

    def _read(self, key: str) -> bytes:
        data: bytes = self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return data


def variables(endpoint: str, secret: str = SECRET) -> dict[str, str]:
    """The environment variables of an S3 client."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


@contextmanager
def running_store(directory: Path) -> Iterator[Store]:
    """A server of its own until the end; its files are in ``directory``."""
    (lease,) = lease_ports(1)
    with lease:
        endpoint = f"http://127.0.0.1:{lease.port}"
        settings = {
            "s3proxy.endpoint": endpoint,
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.identity": KEY,
            "s3proxy.credential": SECRET,
            "s3proxy.ignore-unknown-headers": "true",  # the client's checksums
            "jclouds.provider": "transient-nio2",
            "jclouds.identity": "none",
            "jclouds.credential": "none",
        }
        properties, log = directory / "s3proxy.properties", directory / "logback.xml"
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        log.write_text(_LOG)
        options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"-Dlogback.configurationFile={log}"]
        command = [java_program(), *options, "-cp", class_path(RUNTIME), _MAIN_CLASS, "--properties", str(properties)]
        server = SupervisedProcess.spawn("S3 server", command, directory / "s3proxy.log")
        try:
            _await(server, lease.port)
            S3FileSystem.clear_instance_cache()  # of another module's server, which the environment named then
            client = _client(endpoint)
            client.create_bucket(Bucket=BUCKET)
            yield Store(endpoint, client)
        finally:
            server.kill()


def _await(server: SupervisedProcess, port: int) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if not server.alive:
            raise server.failure("ended at its start")
        if time.monotonic() > deadline:
            raise server.failure("did not listen")
        time.sleep(0.05)


def _client(endpoint: str) -> Any:
    return botocore.session.get_session().create_client(
        "s3",
        region_name="us-east-1",
        endpoint_url=endpoint,
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
    )


class Failing(RemoteFiles):
    """A store that refuses the write or deletion of this number and those after it, until it is mended."""

    def __init__(self, place: str, at: int | None) -> None:
        super().__init__(place, "s3", place.removeprefix("s3://"))
        self.at = at
        self.steps = 0

    def fail(self, path: str) -> None:
        """What failing is."""
        raise StorageError(self.root, path, "write", "Slow Down")

    def _step(self, path: str) -> None:
        self.steps += 1
        if self.at is not None and self.steps > self.at:
            self.fail(path)

    def _put(self, path: str, data: bytes, via: str, modified_ms: int | None) -> None:
        self._step(path)
        super()._put(path, data, via, modified_ms)

    def _delete(self, path: str) -> None:
        self._step(path)
        super()._delete(path)


class Killed(Failing):
    """The process ends there."""

    def fail(self, path: str) -> None:
        os.kill(os.getpid(), signal.SIGKILL)
