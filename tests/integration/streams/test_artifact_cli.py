"""`anabranch artifact` against a service, as it is typed; streams are saved with what their scripts name."""

from __future__ import annotations

import http.client
import json
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from anabranch.operations.artifacts.desk import ArtifactSettings
from qa.service import Served, serving, until
from qa.stream_lab import stand_ins
from qa.timeouts import TIMEOUT_S
from qa.wheels import wheel
from tests.integration.console import Run, console

SQL = """CREATE TEMPORARY FUNCTION shout AS 'text.shout' USING FILE 'artifact:text';
INSERT INTO out SELECT shout(name) FROM STREAM src
"""
FIRST = "def shout(name: str, times: int = 1) -> str:\n    return name.upper() * times\n"
SECOND = FIRST + "def quiet(name: str) -> str:\n    return name.lower()\n"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A service without clusters, and with small uploads."""
    kept = ArtifactSettings(str(tmp_path / "kept"), most=100_000)
    with serving(str(tmp_path / "store.db"), {}, tmp_path, artifacts=kept) as made:
        until(lambda: made.instance.acting.acts)
        yield made


@pytest.fixture
def typed(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where an admin types."""
    monkeypatch.setenv("ANABRANCH_SERVICE", f"http://127.0.0.1:{served.port}")
    monkeypatch.setenv("ANABRANCH_TOKEN", served.tokens["admin"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "job.sql").write_text(SQL, encoding="utf-8")
    (tmp_path / "text.py").write_text(FIRST, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(typed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`anabranch artifact`."""
    return console({}, typed / "mine", monkeypatch, capsys, "artifact")


@pytest.fixture
def stream(typed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`anabranch stream`."""
    return console({}, typed / "mine", monkeypatch, capsys, "stream")


def pins(served: Served, number: int) -> list[Any]:
    """What a version of the stream runs with."""
    found = served.get(f"/api/v1/streams/counts/versions/{number}")["artifacts"]
    return [(one["artifact"], one["number"], one["content"]["sha256"]) for one in found]


@pytest.mark.test
def test_a_stream_keeps_what_it_was_saved_with_whatever_is_uploaded_later(
    served: Served, run: Run, stream: Run, tmp_path: Path
) -> None:
    """Uploaded, shown, pinned, downloaded; in use it is not deleted, and afterwards it is."""
    assert stream("create", "counts", "job.sql")[0] == 3  # there is no such artifact
    code, out, err = run("upload", "text", "text.py", "--description", "for names", "--note", "the first")
    assert code == 0 and "text.shout" in out and "[times BIGINT]" in out and "'artifact:text@1'" in out, err
    assert "for names" in run("list")[1]
    code, _, err = stream("create", "counts", "job.sql")
    assert code == 0, err
    code, _, err = run("upload", "text", "text.py")
    assert code == 3 and "version 1 of artifact 'text' has these bytes already" in err
    (tmp_path / "text.py").write_text(SECOND, encoding="utf-8")
    assert run("upload", "text", "text.py")[0] == 0
    assert stream("edit", "counts", "--trigger", "5 seconds")[0] == 0  # the script stays, and what it runs with
    assert stream("edit", "counts", "job.sql")[0] == 0
    first, second, third = (pins(served, number)[0] for number in (1, 2, 3))
    assert (first[:2], second, third[:2]) == (("text", 1), first, ("text", 2))
    shown = json.loads(run("show", "text", "-o", "json")[1])
    assert [one["uses"] for one in shown["versions"]] == [
        ["stream counts version 3"],
        ["stream counts version 1", "stream counts version 2"],
    ]
    assert run("download", "text", "--version", "1", "--out", "old.py")[0] == 0
    assert (tmp_path / "old.py").read_text(encoding="utf-8") == FIRST
    code, _, err = run("delete", "text", "--version", "1", "--execute")
    assert code == 3 and "stream counts version 1, stream counts version 2" in err
    assert stream("delete", "counts", "--execute")[0] == 0
    for file in (tmp_path / "kept").iterdir():
        os.utime(file, (1, 1))
    assert run("delete", "text", "--execute")[0] == 0
    assert list((tmp_path / "kept").iterdir()) == [] and "text" not in run("list")[1].split()


@pytest.mark.test
def test_a_function_of_the_catalog_keeps_the_version_that_it_was_saved_with(
    served: Served,
    run: Run,
    stream: Run,
    typed: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Pinned with a version of a stream that calls it, with its statement; its artifact stays while it is named."""
    catalog = console({}, typed / "mine", monkeypatch, capsys, "catalog")
    made = "CREATE DATABASE IF NOT EXISTS shop; CREATE OR REPLACE FUNCTION shop.shout AS 'text.shout' USING FILE '{}'"
    script = "INSERT INTO out SELECT shop.shout(name) FROM STREAM src"
    (typed / "job.sql").write_text(script, encoding="utf-8")

    def define(resource: str) -> tuple[int, str]:
        (typed / "shop.sql").write_text(made.format(resource), encoding="utf-8")
        code, _, err = catalog("create", "shop.sql", "--execute")
        return code, err

    code, err = define("artifact:text")
    assert code == 3 and "there is no artifact 'text'" in err
    assert define("/tmp/text.py")[0] == 2
    assert run("upload", "text", "text.py")[0] == 0
    assert define("artifact:text") == (0, "")
    assert stream("create", "counts", "job.sql")[0] == 0
    (typed / "text.py").write_text(SECOND, encoding="utf-8")
    assert run("upload", "text", "text.py")[0] == 0
    assert define("artifact:text@2") == (0, "")
    code, out, _ = stream("edit", "counts", "--trigger", "5 seconds")
    assert code == 0 and "it runs with text@1 (shop.shout)" in out
    (typed / "job.sql").write_text(script + " -- again", encoding="utf-8")
    code, out, _ = stream("edit", "counts", "job.sql")
    assert code == 0 and "it runs with text@2 (shop.shout)" in out
    assert "+-- function shop.shout: CREATE OR REPLACE FUNCTION" in out.replace("\n", " ")
    found = [served.get(f"/api/v1/streams/counts/versions/{number}")["artifacts"] for number in (1, 2, 3)]
    assert [[one["number"] for one in each] for each in found] == [[1], [1], [2]]
    statements = [each[0]["functions"][0] for each in found]
    assert [one["name"] for one in statements] == ["shop.shout"] * 3
    assert ["@2" in one["statement"] for one in statements] == [False, False, True]
    code, out, _ = catalog("drop", "shop.shout")
    assert code == 0 and "counts" in out
    assert stream("delete", "counts", "--execute")[0] == 0
    assert "counts" not in catalog("drop", "shop.shout")[1]
    code, _, err = run("delete", "text", "--version", "2", "--execute")
    assert code == 3 and "artifact 'text' is used by function shop.shout" in err
    assert run("delete", "text", "--version", "1", "--execute")[0] == 0


@pytest.mark.full
def test_what_a_wheel_needs_is_brought_as_it_is_uploaded_or_it_is_refused_by_name(
    served: Served, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From where pip finds wheels; what every job has is not brought a second time, and no other version of it."""
    (tmp_path / "wheels").mkdir()
    for name, version in (("base", "1.0"), ("base", "2.0")):
        file, data = wheel(name, version, {"base/__init__.py": ""})
        (tmp_path / "wheels" / file).write_bytes(data)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    tried = {
        "good": (["base<2", "pandas", "pyspark>=4"], ""),
        "missing": (["nowhere-to-be-found>=3"], "there is no wheel for nowhere-to-be-found>=3"),
        "another": (["pandas<1"], "every job has pandas=="),
        "direct": (["base @ http://127.0.0.1/base.whl"], "names an address"),
    }
    for name, (requires, problem) in tried.items():
        file, data = wheel(name, "1.0", {f"{name}.py": "def one() -> int: ..."}, requires)
        (tmp_path / file).write_bytes(data)
        code, out, err = run("upload", name, file)
        assert (code, problem in err) == (3 if problem else 0, True), (out, err)
    versions = served.get("/api/v1/artifacts/good")["versions"]
    assert [one["file"] for one in versions[0]["version"]["dependencies"]] == ["base-1.0-py3-none-any.whl"]


@pytest.mark.full
def test_a_service_that_brings_nothing_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wheel that needs nothing is saved; one that does is refused."""
    kept = ArtifactSettings(str(tmp_path / "kept"), dependencies=False)
    with serving(str(tmp_path / "store.db"), {}, tmp_path, artifacts=kept) as made:
        until(lambda: made.instance.acting.acts)
        monkeypatch.setenv("ANABRANCH_SERVICE", f"http://127.0.0.1:{made.port}")
        monkeypatch.setenv("ANABRANCH_TOKEN", made.tokens["admin"])
        monkeypatch.chdir(tmp_path)
        run = console({}, tmp_path, monkeypatch, capsys, "artifact")
        for name, requires, code in (("alone", [], 0), ("needy", ["idna>=3"], 3)):
            file, data = wheel(name, "1.0", {f"{name}.py": ""}, requires)
            Path(file).write_bytes(data)
            found = run("upload", name, file)
            assert found[0] == code, found
        assert "no wheel for idna>=3" in found[2] and "artifacts.dependencies: false" in found[2]


@pytest.mark.full
def test_uploads_are_an_admins_and_hold_what_they_may(served: Served, run: Run, tmp_path: Path) -> None:
    """No other role; nothing that is too large, is of another kind, or was not uploaded; nothing is left of it."""
    path, headers = "/api/v1/artifacts/text?file=text.py", {"Content-Type": "application/octet-stream"}
    for role in ("viewer", "operator", "approver"):
        assert served.ask("POST", path, b"x", role=role, headers=headers).status == 403
    assert served.ask("POST", path, b"x", role="admin").status == 415
    assert served.ask("POST", path, b"x" * 100_001, role="admin", headers=headers).status == 413
    assert served.ask("POST", path.replace(".py", ".txt"), b"x", role="admin", headers=headers).status == 422
    assert not (tmp_path / "kept").exists()
    request = {"artifact": "text", "file": "text.py", "sha256": "0" * 64}
    assert served.ask("POST", "/api/v1/artifacts/save/plan", request, role="admin").status == 409
    (tmp_path / "text.py").write_text("def (", encoding="utf-8")
    code, _, err = run("upload", "text", "text.py")
    assert code == 2 and "text.py cannot be an artifact: line 1" in err
    code, _, err = run("upload", "text", "text.py", "--sha256", "0" * 64)
    assert code == 2 and "--sha256" in err
    assert run("show", "text")[0] == 3
    assert served.ask("GET", "/api/v1/artifacts/text").status == 404


@pytest.mark.full
def test_bytes_that_were_changed_on_the_disk_are_never_handed_out(served: Served, run: Run, tmp_path: Path) -> None:
    """H2: the download is refused."""
    assert run("upload", "text", "text.py")[0] == 0
    (file,) = (tmp_path / "kept").iterdir()
    file.write_text(SECOND, encoding="utf-8")
    code, _, err = run("download", "text", "--out", "text2.py")
    assert code == 5 and "has other bytes" in err
    assert not (tmp_path / "text2.py").exists()


def spooled(pid: int) -> int:
    """How many bytes are in the largest file without a name that a process has open."""
    sizes = [0]
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # it was closed meanwhile
            if str(descriptor.readlink()).endswith("(deleted)"):
                sizes.append(descriptor.stat().st_size)
    return max(sizes)


@pytest.mark.full
def test_a_service_that_is_killed_in_an_upload_leaves_nothing_of_it(tmp_path: Path) -> None:
    """H1: the next one has no file of it, and takes the whole."""
    with stand_ins(tmp_path) as lab:
        store = str(tmp_path / "store.db")
        service = lab.serve(store)
        head = (
            f"POST /api/v1/artifacts/text?file=text.py HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n"
            f"Authorization: Bearer {service.token}\r\nContent-Type: application/octet-stream\r\n"
            "Content-Length: 50000000\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(head.encode())
            for _ in range(40):
                connection.sendall(b"#" * 1_000_000)
            until(lambda: spooled(service.process.pid) > 1_000_000)
            service.kill()
            with suppress(OSError):
                connection.sendall(b"#")
        assert not any("artifacts" in path.parts for path in tmp_path.rglob("*"))
        again = lab.serve(store)
        assert again.get("/api/v1/artifacts") == []
        whole = http.client.HTTPConnection("127.0.0.1", again.port, timeout=TIMEOUT_S)
        headers = {"Authorization": f"Bearer {again.token}", "Content-Type": "application/octet-stream"}
        whole.request("POST", "/api/v1/artifacts/text?file=text.py", FIRST.encode(), headers)
        answer = whole.getresponse()
        assert (answer.status, json.loads(answer.read())["size"]) == (200, len(FIRST))
        whole.close()


@pytest.mark.full
def test_each_start_is_told_what_its_version_was_saved_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also a start after a newer upload; another version of the stream has the newer one."""
    with stand_ins(tmp_path) as lab:
        service = lab.serve(str(tmp_path / "store.db"))
        monkeypatch.setenv("ANABRANCH_SERVICE", f"http://127.0.0.1:{service.port}")
        monkeypatch.setenv("ANABRANCH_TOKEN", service.token)
        monkeypatch.chdir(tmp_path)
        run = console({}, tmp_path, monkeypatch, capsys, "artifact")
        for source in (FIRST, SECOND):
            (tmp_path / "text.py").write_text(source, encoding="utf-8")
            assert run("upload", "text", "text.py")[0] == 0
            if source == FIRST:
                service.done("create", stream="counts", script="-- run\n" + SQL)
            service.done("restart" if source == SECOND else "start", stream="counts")
            until(lambda fence=2 if source == SECOND else 1: service.is_in("counts", "running", fence))  # type: ignore[misc]
        service.done("edit", stream="counts", script="-- run\n" + SQL)
        service.done("publish", stream="counts", version=2)
        service.done("restart", stream="counts")
        until(lambda: service.is_in("counts", "running", 3))
        told = [json.loads(file.read_text(encoding="utf-8")) for file in tmp_path.rglob("run-*.json")]
        found = {spec["fence"]: [(one["artifact"], one["number"]) for one in spec["artifacts"]] for spec in told}
        assert found == {1: [("text", 1)], 2: [("text", 1)], 3: [("text", 2)]}
        kept = {path.name for path in Path(told[0]["artifact_place"]).iterdir()}
        assert {one["content"]["sha256"] for spec in told for one in spec["artifacts"]} == kept
