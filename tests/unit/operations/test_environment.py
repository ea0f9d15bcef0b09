"""The archive for machines that have nothing but Python."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from anabranch.operations.jobs import environment

pytestmark = pytest.mark.unit


class Package:
    """One that is installed, with a single file."""

    def __init__(self, root: Path, name: str, requires: list[str], groups: tuple[str, ...] = (), url: str = "") -> None:
        self.name, self.version, self.requires = name, "1", requires
        self.entry_points = [SimpleNamespace(group=group) for group in groups]
        self._url = url
        (root / f"{name}.py").write_text(f"NAME = {name!r}\n")
        (root / f"{name}-1.dist-info").mkdir()
        (root / f"{name}-1.dist-info" / "METADATA").write_text("x")
        paths = (f"{name}.py", f"{name}-1.dist-info/METADATA", "../../../bin/tool", f"__pycache__/{name}.pyc")
        self.files = [self._path(root, path) for path in paths]

    def read_text(self, _: str) -> str:
        return self._url

    @staticmethod
    def _path(root: Path, name: str) -> Any:
        path = metadata.PackagePath(name)
        path.dist = SimpleNamespace(locate_file=root.joinpath)  # type: ignore[assignment]
        return path


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Package]:
    """What this machine has."""
    root = tmp_path / "site-packages"
    root.mkdir()
    needs = ["kafka_x>=3", 'pyspark; extra == "spark"', 'arrow; extra == "spark"', 'web; extra == "service"', "gone<2"]
    made = {
        "anabranch": Package(root, "anabranch", needs, ("anabranch.naming",)),
        "kafka-x": Package(root, "kafka_x", []),
        "pyspark": Package(root, "pyspark", ["py4j"]),
        "arrow": Package(root, "arrow", []),
        "web": Package(root, "web", []),
        "names": Package(root, "names", ["deep"], ("anabranch.naming",)),
        "deep": Package(root, "deep", []),
    }

    def find(name: str) -> Package:
        try:
            return made[name.replace("_", "-").lower()]
        except KeyError:
            raise metadata.PackageNotFoundError(name) from None

    monkeypatch.setattr(metadata, "distribution", find)
    monkeypatch.setattr(metadata, "distributions", made.values)
    (root / "anabranch").mkdir()
    (root / "anabranch" / "__init__.py").write_text("")
    monkeypatch.setattr(environment, "anabranch", SimpleNamespace(__file__=str(root / "anabranch" / "__init__.py")))
    return made


def test_it_has_what_links_need_and_the_plugins_and_neither_spark_nor_other_extras(
    installed: dict[str, Package],
) -> None:
    """A naming that a person installed is needed by the workers, too."""
    assert [one.name for one in environment.wanted()] == ["anabranch", "arrow", "deep", "kafka_x", "names"]


@pytest.mark.test
def test_its_python_runs_with_its_packages(installed: dict[str, Package], tmp_path: Path) -> None:
    """From whatever directory, by a relative path as Spark does; equal installations make equal archives."""
    packed = environment.build(tmp_path / "a.tar.gz", os.path.realpath(sys.executable))
    environment.build(tmp_path / "b.tar.gz", os.path.realpath(sys.executable))
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()
    assert packed.size == (tmp_path / "a.tar.gz").stat().st_size
    with tarfile.open(packed.path) as archive:
        names = archive.getnames()
        archive.extractall(tmp_path / "environment", filter="data")
    assert {"lib/kafka_x.py", "lib/anabranch/__init__.py", "lib/anabranch-1.dist-info/METADATA"} < set(names)
    assert not any("pyc" in name or "bin/tool" in name for name in names)
    command = ["./environment/bin/python", "-S", "-c", "import kafka_x; print(kafka_x.NAME)"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "kafka_x\n"


@pytest.mark.test
def test_a_machine_without_that_python_says_so(installed: dict[str, Package], tmp_path: Path) -> None:
    """In the two lines of each error."""
    packed = environment.build(tmp_path / "a.tar.gz", "python0.1")
    with tarfile.open(packed.path) as archive:
        archive.extractall(tmp_path / "environment", filter="data")
    done = subprocess.run([tmp_path / "environment/bin/python"], capture_output=True, text=True, check=False)
    assert done.returncode == 127
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["error", "hint"]


def test_a_package_that_is_a_link_to_its_sources_is_refused(
    installed: dict[str, Package], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are not where packages are; nothing is left half written."""
    monkeypatch.setattr(installed["names"], "_url", '{"dir_info": {"editable": true}}')
    with pytest.raises(environment.EditablePackageError, match="names is installed as editable"):
        environment.build(tmp_path / "a.tar.gz", "python3")
    assert not list(tmp_path.glob("*.gz*"))
