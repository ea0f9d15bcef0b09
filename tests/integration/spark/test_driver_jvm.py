"""The JVM of a link's driver: started before there is a session, and ended with it or without one."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from anabranch.jars import shared_classes
from anabranch.spark import quickjvm
from anabranch.spark.errors import SparkNotStartedError
from anabranch.spark.forkserver import ForkServer
from anabranch.spark.quickjvm import QuickJvm
from qa.timeouts import TIMEOUT_S

pytestmark = pytest.mark.test

ANSWER = r"printf '\000\000\060\071\000\000\000\003abc' > $_PYSPARK_DRIVER_CONN_INFO_PATH.part; "
ANSWER += "mv $_PYSPARK_DRIVER_CONN_INFO_PATH.part $_PYSPARK_DRIVER_CONN_INFO_PATH"
"""Port 12345 and a secret of three characters, as PythonGatewayServer writes them."""


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary directories are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    for name in (quickjvm.PORT, quickjvm.SECRET, quickjvm.OPTIONS, "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "scratch"


def submits(home: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """The ``spark-submit`` of a Spark installation."""
    program = home / "bin" / "spark-submit"
    program.parent.mkdir(parents=True)
    (home / "jars").mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("SPARK_HOME", str(home))


def test_a_jvm_that_ends_before_it_listens_is_an_error_with_its_exit_code(
    scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No Java, a master that is none, a wrong setting."""
    submits(tmp_path / "spark", monkeypatch, "exit 3")
    jvm = QuickJvm("local[1]")
    jvm.start({})
    with pytest.raises(SparkNotStartedError) as caught:
        jvm.connect()
    jvm.close()
    assert caught.value.message == (
        "Spark could not be started on local[1]: its JVM ended (exit code 3) before it listened"
    )
    assert not list(scratch.iterdir())


def test_an_installation_without_spark_submit_is_the_same_error(
    scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong SPARK_HOME."""
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "nowhere"))
    jvm = QuickJvm(None)
    jvm.start({})
    with pytest.raises(SparkNotStartedError, match="the master of spark-submit: its JVM ended before it listened"):
        jvm.connect()
    jvm.close()
    assert not list(scratch.iterdir())


def test_pyspark_gets_its_address_and_its_settings_are_those_given(
    scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings that count when a JVM starts, such as its memory, are on its command line; it ends with its input."""
    asked = tmp_path / "asked"
    submits(tmp_path / "spark", monkeypatch, f'echo "$@" > {asked}; {ANSWER}; exec cat > {tmp_path / "input"}')
    jvm = QuickJvm("local[1]")
    jvm.start({"spark.driver.memory": "700m"})
    jvm.connect()
    assert (os.environ[quickjvm.PORT], os.environ[quickjvm.SECRET]) == ("12345", "abc")
    assert asked.read_text().split() == ["--conf", "spark.driver.memory=700m", "pyspark-shell"]
    process = jvm._jvm
    assert process is not None and process.poll() is None
    jvm._made = None  # as where there is an archive already
    jvm.close()
    assert process.wait(TIMEOUT_S) == 0
    assert quickjvm.PORT not in os.environ and quickjvm.SECRET not in os.environ
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("script", ["exec sleep 1000", f"{ANSWER}; exec sleep 1000"], ids=["silent", "listening"])
def test_a_run_that_ends_before_its_session_leaves_no_jvm_and_no_archive_of_half_a_start(
    scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    """A later run would take the archive for a whole one, and start slowly for ever."""
    submits(tmp_path / "spark", monkeypatch, script)
    jvm = QuickJvm("local[1]")
    jvm.start({})
    assert jvm._made is not None
    if script.startswith("printf"):
        jvm.connect()
    jvm.close()
    process = jvm._jvm
    assert process is not None and process.wait(TIMEOUT_S) == -9
    assert not list(scratch.iterdir())


def test_what_the_jvm_of_a_killed_driver_wrote_is_removed_by_the_next_one(
    scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends with its input, writes its archive, and nobody takes it: 150 MB each; what a living run writes stays."""
    submits(tmp_path / "spark", monkeypatch, ANSWER)
    archive = tmp_path / "classes" / "spark.jsa"
    monkeypatch.setattr(shared_classes, "archive", lambda _runtime, _jars: archive)
    archive.parent.mkdir()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left, living = (archive.with_suffix(f".{pid}.part") for pid in (dead.pid, os.getppid()))
    left.touch()
    living.touch()
    jvm = QuickJvm("local[1]")
    jvm.start({})
    jvm.close()
    assert not left.exists() and living.exists()
    assert not list(scratch.iterdir())


def test_below_spark_submit_there_is_a_jvm_already(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In cluster mode it is the JVM that starts the driver."""
    monkeypatch.setenv(quickjvm.PORT, "4711")
    jvm = QuickJvm(None)
    jvm.start({})
    jvm.connect()
    jvm.close()
    assert os.environ[quickjvm.PORT] == "4711" and jvm._jvm is None and not list(scratch.iterdir())


def held(pid: int) -> set[str]:
    """What a process has open; a descriptor that it closes meanwhile is not told."""
    found = set()
    for one in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.add(os.readlink(one))
    return found


def test_a_fork_server_keeps_nothing_open_that_is_its_driver_s(tmp_path: Path) -> None:
    """Its forks would else keep the input of the JVM open, which keeps them: neither ended with a killed driver."""
    program = (
        "import os, sys, time\n"
        "from anabranch.spark.forkserver import ForkServer\n"
        "forks = ForkServer.prepare()\n"
        "ends = os.pipe()\n"
        "forks.start()\n"
        "ours = [os.readlink(f'/proc/self/fd/{end}') for end in ends]\n"
        "print(*ours, os.environ['PYSPARK_DRIVER_PYTHON'], flush=True)\n"
        "time.sleep(1000)\n"
    )
    driver = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        assert driver.stdout is not None
        *ours, python = driver.stdout.readline().split()
        assert Path(python).parent.parent == tmp_path
        (server,) = psutil.Process(driver.pid).children()
        assert ours
        deadline = time.monotonic() + TIMEOUT_S
        while held(server.pid) & set(ours):  # the driver goes on while its server begins
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        driver.kill()
        driver.wait()
    deadline = time.monotonic() + TIMEOUT_S
    while server.is_running() and server.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_temporary_directory_with_a_long_path_is_no_reason_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No socket can be there: Spark then starts its Python as ever, and nothing is left behind."""
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    assert ForkServer.prepare() is None
    assert list(deep.iterdir()) == []
