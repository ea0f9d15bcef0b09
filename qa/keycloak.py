"""A real OpenID provider on this machine, for as long as a block lasts: Keycloak, brought by Maven."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from anabranch.jars.cache import cache_directory
from anabranch.sandbox.ports import lease_ports
from qa.timeouts import LONG_TIMEOUT_S, SCALE

VERSION = "26.4.2"
SHA256 = "2a30e4602d63d4501a4a8263bfa4e14cbd5970b4116c618ea28f339b16190233"
ARTIFACT = f"org.keycloak:keycloak-quarkus-dist:{VERSION}:zip"
REALM, CLIENT, SECRET = "platform", "anabranch", "a-secret-of-the-tests"
JAVA = "-Xms64m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_ANSWER_S = 5.0 * SCALE
_STOPS_S = 30.0 * SCALE
"""Then it is killed."""


@dataclass(frozen=True, slots=True)
class Keycloak:
    """A provider that runs."""

    issuer: str
    pid: int


def distribution() -> Path:
    """Where the unpacked program is; brought once, by its checksum."""
    place = cache_directory().parent / f"keycloak-{VERSION}"
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{place}.lock"):
        if not place.exists():
            with tempfile.TemporaryDirectory(dir=place.parent) as work:
                _bring(Path(work))
                os.replace(Path(work) / f"keycloak-{VERSION}", place)
    return place


def _bring(work: Path) -> None:
    maven = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={work}"]
    subprocess.run(maven, check=True, stdin=subprocess.DEVNULL)
    packed = work / f"keycloak-quarkus-dist-{VERSION}.zip"
    with packed.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == SHA256, f"{packed.name} is another file"
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(work)


def prepared() -> Path:
    """Where the program is as its first start leaves it, most of which is building and making tables; made once."""
    program = distribution()
    place = program.with_name(f"{program.name}-started")
    with FileLock(f"{place}.lock"):
        if not place.exists():
            with tempfile.TemporaryDirectory(dir=place.parent) as work:
                home = Path(work) / "keycloak"
                shutil.copytree(program, home)
                with _running(home, "master"):
                    pass
                os.replace(home, place)
    return place


@contextmanager
def keycloak(directory: Path, users: Mapping[str, Sequence[str]]) -> Iterator[Keycloak]:
    """A provider with these users and their groups; a user's password is ``NAME-password``."""
    home = directory / "keycloak"
    shutil.copytree(prepared(), home)
    (home / "data" / "import").mkdir(parents=True)
    (home / "data" / "import" / "realm.json").write_text(json.dumps(_realm(users)), encoding="utf-8")
    with _running(home, REALM, "--import-realm") as made:
        yield made


@contextmanager
def _running(home: Path, realm: str, *more: str) -> Iterator[Keycloak]:
    """The program with its data below ``home``, and its log beside it, once it answers for the realm."""
    held = lease_ports(2)
    port, management = (one.port for one in held)
    command = ["bash", str(home / "bin" / "kc.sh"), "start-dev", "--cache=local", *more]
    command += ["--http-host=127.0.0.1", f"--http-port={port}", f"--http-management-port={management}"]
    issuer = f"http://127.0.0.1:{port}/realms/{realm}"
    log = home.with_name("keycloak.log")
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            env={**os.environ, "JAVA_OPTS": JAVA},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        try:
            _await(process, issuer, log)
            yield Keycloak(issuer, process.pid)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(_STOPS_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            for one in held:
                one.release()


def _await(process: subprocess.Popen[bytes], issuer: str, log: Path) -> None:
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while True:
        try:
            with urllib.request.urlopen(f"{issuer}/.well-known/openid-configuration", timeout=_ANSWER_S):
                return
        except OSError:
            assert process.poll() is None, log.read_text(encoding="utf-8")[-3000:]
            assert time.monotonic() < deadline, log.read_text(encoding="utf-8")[-3000:]
            time.sleep(0.2)


def _realm(users: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    groups = sorted({group for has in users.values() for group in has})
    mapper = {
        "name": "groups",
        "protocol": "openid-connect",
        "protocolMapper": "oidc-group-membership-mapper",
        "config": {"claim.name": "groups", "full.path": "false", "id.token.claim": "true"},
    }
    return {
        "realm": REALM,
        "enabled": True,
        "sslRequired": "none",
        "groups": [{"name": group} for group in groups],
        "clients": [
            {
                "clientId": CLIENT,
                "secret": SECRET,
                "protocol": "openid-connect",
                "publicClient": False,
                "standardFlowEnabled": True,
                "redirectUris": ["http://127.0.0.1:*"],
                "attributes": {"pkce.code.challenge.method": "S256"},
                "protocolMappers": [mapper],
            }
        ],
        "users": [
            {
                "username": name,
                "enabled": True,
                "email": f"{name}@example.com",
                "emailVerified": True,
                "firstName": name,
                "lastName": "Tester",
                "credentials": [{"type": "password", "value": f"{name}-password"}],
                "groups": list(has),
            }
            for name, has in users.items()
        ],
    }
