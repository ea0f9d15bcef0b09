"""The directories of a new cluster: property files and, with KRaft, formatted logs.

Kafka's StorageTool formats the first node; the others get a copy with their own ids.  That saves a JVM a node and
gives all of them the very same bootstrap records (the salts of SCRAM passwords too).
"""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import uuid
from pathlib import Path

from anabranch.jars import shared_classes
from anabranch.sandbox.errors import SandboxProcessError
from anabranch.sandbox.jars import class_path, java_program, runtime_jars
from anabranch.sandbox.layout import ClusterLayout, NodeLayout
from anabranch.sandbox.process import telling_lines
from anabranch.sandbox.properties import broker_properties, render, zookeeper_properties
from anabranch.sandbox.spec import QUICK_JVM, ClusterSpec

_FORMAT_SECONDS = 120


def new_cluster_id() -> str:
    """A fresh id as Kafka writes it: 16 random bytes in URL-safe base64, never with a leading dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def write_storage(layout: ClusterLayout, pem: Path | None) -> None:
    """Write and format everything that the cluster's processes read; raises ``SandboxProcessError``."""
    for node in layout.nodes:
        node.directory.mkdir(parents=True)
        node.properties.write_text(render(broker_properties(layout, node, pem)))
    if layout.zookeeper is not None:
        home = layout.root / "zookeeper"
        (home / "data").mkdir(parents=True)
        (home / "zookeeper.properties").write_text(render(zookeeper_properties(layout)))
        return
    first, *others = layout.nodes
    _format(layout, first)
    for node in others:
        _copy(first, node)


def scram_credential(spec: ClusterSpec, user: str) -> str:
    """A user's credential in the form of the storage tool's ``--add-scram``."""
    return f"{spec.listener.value}=[name={user},password={spec.users[user]}]"


def _format(layout: ClusterLayout, node: NodeLayout) -> None:
    spec = layout.spec
    runtime = spec.kafka.runtime
    command = [java_program(), "-Xmx256m", *QUICK_JVM, *shared_classes.using(runtime, runtime_jars(runtime))]
    command += ["-cp", class_path(runtime), "kafka.tools.StorageTool", "format"]
    command += ["--cluster-id", layout.cluster_id, "--config", str(node.properties)]
    if spec.listener.scram:
        for user in spec.users:
            command += ["--add-scram", scram_credential(spec, user)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=_FORMAT_SECONDS, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        problem = f"exited with {done.returncode}"
        tail = telling_lines(done.stdout + done.stderr)
        raise SandboxProcessError("the storage tool", problem, str(node.properties), tail)


def _copy(first: NodeLayout, node: NodeLayout) -> None:
    shutil.copytree(first.data, node.data)
    path = node.data / "meta.properties"
    text = re.sub(r"(?m)^node\.id=.*$", f"node.id={node.node_id}", path.read_text())
    path.write_text(re.sub(r"(?m)^directory\.id=.*$", f"directory.id={new_cluster_id()}", text))
