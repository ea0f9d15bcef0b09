"""What an import loads: the SDK's ground must stay light."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.test

HEAVY = ("pyspark", "pyarrow", "pandas", "numpy", "kafka", "confluent_kafka", "typer", "rich", "pydantic", "yaml")


@pytest.mark.parametrize("module", ["anabranch", "anabranch.errors", "anabranch.model", "anabranch.offsets"])
def test_the_ground_imports_nothing_but_the_standard_library(module: str) -> None:
    """Neither Spark nor a client nor a web of dependencies comes with these packages and their modules."""
    program = (
        f"import importlib, pkgutil, sys, {module} as package\n"
        "path = getattr(package, '__path__', None) if package.__name__ != 'anabranch' else None\n"
        "for found in pkgutil.iter_modules(path or [], package.__name__ + '.'):\n"
        "    importlib.import_module(found.name)\n"
        f"print(*(name for name in {HEAVY!r} if name in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_command_line_starts_without_spark_and_without_a_kafka_client() -> None:
    """``--help`` and completion stay quick: verbs import the engine when they run."""
    program = "import sys, anabranch.cli.app; print(*(n for n in ('pyspark', 'pyarrow', 'kafka') if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
