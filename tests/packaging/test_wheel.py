"""The built wheel, installed bare from the lock: what users without Spark get."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from anabranch import __version__
from qa.timeouts import LONG_TIMEOUT_S

pytestmark = [pytest.mark.test, pytest.mark.timeout(1800)]

ROOT = Path(__file__).resolve().parents[2]
CONTEXTS = """\
version: 1
target: new
contexts:
  old: {bootstrap: [127.0.0.1:1]}
  new: {bootstrap: [127.0.0.1:1]}
"""


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run with an environment that leads to no work tree."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ANABRANCH"))}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=1.5 * LONG_TIMEOUT_S,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this work tree."""
    output = tmp_path_factory.mktemp("dist")
    done = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", output, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (built,) = output.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """The ``bin`` directory of an environment with the wheel and its locked requirements, and nothing else."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home, with_pip=True)
    pip = [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--retries", "10", "--timeout", "60"]  # an index may be away for a moment
    for arguments in (["--require-hashes", "-r", ROOT / "requirements" / "base.txt"], ["--no-deps", wheel]):
        done = run(*pip, *arguments, cwd=home)
        assert done.returncode == 0, done.stderr
    return home / "bin"


def test_a_bare_install_answers_help_and_version(bare: Path, tmp_path: Path) -> None:
    """The console script works without Spark, and says which version it is."""
    shown = run(bare / "anabranch", "--help", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "link" in shown.stdout
    assert "context" in shown.stdout
    assert run(bare / "anabranch", "--version", cwd=tmp_path).stdout == f"anabranch {__version__}\n"


@pytest.mark.parametrize(
    "module", ["pyspark", "pyarrow", "pandas", "numpy", "confluent_kafka", "sqlalchemy", "fastapi"]
)
def test_a_bare_install_has_no_module_of_the_extras(bare: Path, tmp_path: Path, module: str) -> None:
    """What belongs to Spark, to the service or to the tests is not among the requirements of the bare install."""
    assert "ModuleNotFoundError" in run(bare / "python", "-c", f"import {module}", cwd=tmp_path).stderr


def test_every_module_but_those_of_the_extras_imports_in_a_bare_install(bare: Path, tmp_path: Path) -> None:
    """No module needs at import what the bare install does not have."""
    program = (
        "import importlib, pkgutil, anabranch\n"
        "for found in pkgutil.walk_packages(anabranch.__path__, 'anabranch.'):\n"
        "    if found.name.split('.')[1] not in ('spark', 'store', 'service', 'sdk', '__main__'):\n"
        "        importlib.import_module(found.name)\n"
    )
    done = run(bare / "python", "-c", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_running_a_link_without_spark_names_the_extra_to_install(bare: Path, tmp_path: Path) -> None:
    """The launcher refuses before it starts anything, with exit code 2 and the command that mends it."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from anabranch.cli.jobs import report\n"
        "from anabranch.config import contexts\n"
        "from anabranch.operations.jobs.launcher import start_link\n"
        "from anabranch.operations.jobs.submission import Submission\n"
        "from anabranch.errors import AnabranchError\n"
        "known = contexts.load(contexts.locate(Path('contexts.yaml'), {}, Path.cwd()))\n"
        "try:\n"
        "    start_link(known.get('new'), known.get('old'), 'old-new', Submission('local[1]'), 60, Path('logs'))\n"
        "except AnabranchError as error:\n"
        "    sys.exit(report(error))\n"
    )
    (tmp_path / "contexts.yaml").write_text(CONTEXTS)
    done = run(bare / "python", "-c", program, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "no pyspark" in done.stderr
    assert "pip install 'anabranch[spark]'" in done.stderr


def test_the_wheel_holds_the_package_and_its_license_and_no_test(wheel: Path) -> None:
    """Types are published (``py.typed``), poms and pages are inside, tests and examples are not."""
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"anabranch", f"anabranch-{__version__}.dist-info"}
    assert "anabranch/py.typed" in names
    assert "anabranch/sandbox/poms/kafka-4.3.1.xml" in names
    assert "anabranch/service/static/index.html" in names  # `make web` builds it, which `make test` does first
    assert not [name for name in names if "node_modules" in name]
    assert "anabranch/store/migrations/versions/0001_the_first_tables.py" in names
    for end in ("xml", "sha256"):
        assert f"anabranch/jars/poms/spark-kafka-4.1.3.{end}" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
