"""Completion in a real bash, by the script that the command line gives it: names, or nothing, and never a word more."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from anabranch.model.groups import Commit
from qa.timeouts import TIMEOUT_S
from tests.unit.link_lab import LINK, A, Lab, lab

pytestmark = [
    pytest.mark.test,
    pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash"),
]

Offer = Callable[..., list[str]]
_PROGRAM = 'import sys; sys.argv[0] = "anabranch"; from anabranch.cli.main import main; main()'


@pytest.fixture(scope="module")
def both() -> Iterator[Lab]:
    """Two clusters, a link between them, and a group."""
    with lab() as made:
        made.commit(made.source, "shop", {A: Commit(12)})
        yield made


@pytest.fixture
def offered(both: Lab, tmp_path: Path) -> Iterator[Offer]:
    """What a bash offers for a line whose last word is being typed; it must be said on standard output alone."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()  # and never answers
        contexts = {
            "old": {"bootstrap": list(both.source.bootstrap)},
            "new": {"bootstrap": list(both.target.bootstrap)},
            "mute": {"bootstrap": [f"127.0.0.1:{silent.getsockname()[1]}"]},
        }
        (tmp_path / "anabranch.yaml").write_text(yaml.safe_dump({"contexts": contexts, "target": "new"}))
        program = tmp_path / "anabranch"
        program.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c '{_PROGRAM}' \"$@\"\n")
        program.chmod(0o755)
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        environment.pop("ANABRANCH_CONTEXTS", None)
        environment["_ANABRANCH_COMPLETE"] = "source_bash"
        script = subprocess.run([str(program)], env=environment, capture_output=True, text=True, check=True).stdout
        del environment["_ANABRANCH_COMPLETE"]

        def offer(*words: str, directory: Path = tmp_path) -> list[str]:
            line = " ".join(map(shlex.quote, ("anabranch", *words)))
            asking = f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}\n_anabranch_completion anabranch\n"
            done = subprocess.run(
                ["bash", "-c", f"{asking}printf '%s\\n' \"${{COMPREPLY[@]}}\""],
                cwd=directory,
                env=environment,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=True,
            )
            assert done.stderr == ""
            return [one for one in done.stdout.splitlines() if one]

        yield offer


def test_contexts_links_topics_and_groups_are_offered(offered: Offer) -> None:
    """From the file, from the target that is the default or was typed, and from the source of a link."""
    assert sorted(offered("context", "show", "")) == ["mute", "new", "old"]
    assert offered("link", "show", "") == [LINK]
    assert offered("link", "show", "--target", "ne") == ["new"]
    assert offered("offsets", "ranges", LINK, "orders-") == ["orders-0", "orders-1"]
    assert offered("link", "create", "--source", "old", "--include", "o") == ["orders"]
    assert offered("groups", "show", LINK, "s") == ["shop"]


def test_a_shell_is_never_held_up_and_never_written_to(offered: Offer, tmp_path: Path) -> None:
    """A cluster that does not answer, a link that is not there, a broken file and no file at all offer nothing."""
    assert offered("link", "show", "--target", "mute", "") == []
    assert offered("offsets", "ranges", "nowhere", "") == []
    (tmp_path / "anabranch.yaml").write_text("contexts: [")
    assert offered("link", "show", "") == []
    assert offered("context", "show", "") == []
