"""Where Spark is installed."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path


def spark_home() -> Path:
    """As pyspark looks for it: ``SPARK_HOME``, else what came with the package, which is not imported for that."""
    return Path(os.environ.get("SPARK_HOME") or package_directory("pyspark"))


def package_directory(package: str) -> Path:
    """Where the modules of a package are; the working directory where there is no such package."""
    found = find_spec(package)
    return Path(next(iter((found and found.submodule_search_locations) or ["."])))
