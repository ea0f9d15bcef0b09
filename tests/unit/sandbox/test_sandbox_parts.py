"""The sandbox's small parts: answers on the wire, recorded states, error texts, process identities."""

from __future__ import annotations

import os
import pickle
import struct
from pathlib import Path

import pytest

from anabranch.cli.sandbox import parse_cluster
from anabranch.errors import AnabranchError, InvalidFieldError
from anabranch.sandbox.errors import NotReadyError, SandboxProcessError, UnknownSandboxError
from anabranch.sandbox.probe import ProbeAnswer, decode_answer
from anabranch.sandbox.process import ProcessIdentity, identify, telling_lines
from anabranch.sandbox.state import Home, ProcessState, SandboxState, decode, encode

pytestmark = pytest.mark.unit


def text(value: str | None) -> bytes:
    """A string of the protocol: its length as int16, -1 for null."""
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value)) + value.encode()


def answer(racks: list[str | None], cluster_id: str | None, controller: int) -> bytes:
    """A metadata response of version 4 with brokers from 1 on and no topics."""
    brokers = b"".join(
        struct.pack(">i", node) + text("127.0.0.1") + struct.pack(">i", 9092) + text(rack)
        for node, rack in enumerate(racks, 1)
    )
    tail = text(cluster_id) + struct.pack(">i", controller) + struct.pack(">i", 0)
    return struct.pack(">iii", 1, 0, len(racks)) + brokers + tail


def test_an_answer_is_read_with_and_without_racks() -> None:
    """Null racks take two bytes, others their text too."""
    assert decode_answer(answer([None, "a", ""], "id", 2)) == ProbeAnswer("id", frozenset({1, 2, 3}), 2)
    assert decode_answer(answer([], None, -1)) == ProbeAnswer("", frozenset(), -1)


def test_a_cut_answer_is_an_error() -> None:
    """Whatever byte it ends at, an answer that is cut is not taken for a smaller cluster."""
    whole = answer(["rack"], "id", 1)[:-4]
    for end in range(8, len(whole)):
        with pytest.raises(struct.error):
            decode_answer(whole[:end])


def test_a_state_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """Also with a process that was gone when it was written."""
    processes = (
        ProcessState("broker", 1, ProcessIdentity(7, "99"), "127.0.0.1:1", "/log"),
        ProcessState("ZooKeeper", 0, None, "", "/zk"),
    )
    state = SandboxState(
        "old", "up", "4.3.1", "PLAIN", ProcessIdentity(6, "9"), processes=processes, context={"a": [1]}
    )
    assert decode(encode(state)) == state
    home = Home(tmp_path)
    home.write(state)
    assert home.read("old") == state
    assert home.names() == ("old",)
    assert [path.name for path in home.directory("old").iterdir()] == ["state.json"]


def test_a_cluster_whose_supervisor_is_gone_is_dead() -> None:
    """A process of the same number that started at another time is not the supervisor."""
    me = identify(os.getpid())
    assert me is not None and me.running
    other = ProcessIdentity(me.pid, me.started + "0")
    assert not other.running
    assert SandboxState("old", "up", "4.3.1", "PLAINTEXT", other).condition == "dead"
    assert SandboxState("old", "up", "4.3.1", "PLAINTEXT", me).condition == "up"
    gone = ProcessState("broker", 1, other, "", "")
    assert SandboxState("old", "up", "4.3.1", "PLAINTEXT", me, processes=(gone,)).condition == "degraded"


def test_the_nearest_home_above_is_used(tmp_path: Path) -> None:
    """Verbs work from any directory of a project."""
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert Home.find(deep) == Home(deep / ".anabranch")
    (tmp_path / ".anabranch" / "sandbox").mkdir(parents=True)
    assert Home.find(deep) == Home(tmp_path / ".anabranch")


def test_an_unknown_cluster_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    """The hint is a command that helps."""
    home = Home(tmp_path)
    home.write(SandboxState("old", "up", "4.3.1", "PLAINTEXT", None))
    with pytest.raises(UnknownSandboxError) as caught:
        home.read("new")
    assert "old" in caught.value.hint


def test_errors_are_told_before_the_end_of_an_output() -> None:
    """What went wrong comes first, stack frames never."""
    output = "INFO start\nERROR it broke\njava.io.IOException: why\n\tat a.B.c(B.java:1)\nINFO closing\nINFO closed\n"
    assert telling_lines(output) == "ERROR it broke\njava.io.IOException: why"
    assert telling_lines("INFO a\nINFO b\n") == "INFO a\nINFO b"


@pytest.mark.parametrize(
    ("given", "name", "version", "brokers"),
    [
        ("old", "old", "4.3.1", 1),
        ("old:3.9.1", "old", "3.9.1", 1),
        ("a:2.8.2:3", "a", "2.8.2", 3),
        ("a::2", "a", "4.3.1", 2),
    ],
)
def test_a_cluster_is_read_from_its_short_form(given: str, name: str, version: str, brokers: int) -> None:
    """Name, version and brokers, each with a default but the name."""
    spec = parse_cluster(given)
    assert (spec.name, spec.version, spec.brokers) == (name, version, brokers)


@pytest.mark.parametrize("given", ["old:4.3.1:3:1", "old:4.3.1:many", "old:4.3.1:0", ":4.3.1"])
def test_a_wrong_short_form_is_refused(given: str) -> None:
    """Nothing is started on a guess."""
    with pytest.raises(InvalidFieldError):
        parse_cluster(given)


@pytest.mark.parametrize(
    "error",
    [NotReadyError("old", 60.0, "broker 1", "/log"), SandboxProcessError("broker 1", "ended", "/log", "tail")],
)
def test_errors_pickle_whole(error: AnabranchError) -> None:
    """Fields, message and hint survive a process boundary."""
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.message, copy.hint) == (error.message, error.hint)
