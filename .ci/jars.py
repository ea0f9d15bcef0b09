"""Bring the jars of every JVM runtime that demo, tests and benchmarks use, before something waits for one."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from anabranch.errors import AnabranchError
from anabranch.sandbox import VERSIONS
from anabranch.sandbox.jars import runtime_jars
from anabranch.testing.mm2 import RUNTIME

if __name__ == "__main__":
    runtimes = [*(version.runtime for version in VERSIONS.values()), RUNTIME]
    try:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(runtime_jars, runtimes))
    except AnabranchError as error:
        sys.exit(f"error: {error.message}\nhint: {error.hint}")
