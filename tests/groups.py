"""Which tests one worker of ``-n`` runs in a row: what shares a cluster or a session, and no more."""

from __future__ import annotations

import re

# That of the cluster, among a test's parameters.
_VERSION = re.compile(r"\[(?:.*-)?(\d+\.\d+\.\d+(?:-simulated)?)[-\]]")
_PLAN = re.compile(r"\[([a-z-]+)\]$")
_LIVES = "tests/simulation/test_lives.py"
_LONG_LIVES = "tests/simulation/test_long_lives.py"
_PAGES = "tests/integration/web/test_web.py"
_TOGETHER = {
    f"tests/integration/{package}/test_{name}.py": f"tests/integration/{package}"
    for package, names in (
        ("sdk", ("callbacks", "coordinated", "java_example", "killed", "programs", "spark_routes", "switching")),
        ("verify", ("planted", "sums", "verbs")),
        ("streams", ("refusals", "script", "stream_jobs")),
    )
    for name in names
}
"""Files of a package that has two real clusters for all of them: each worker that had one would start its own."""


def group(nodeid: str) -> str:
    """The facts about one Kafka version, and files, whose clusters they share; the lives of one plan; else a file.

    Lives share nothing, and take minutes a plan; nor do the files of tests in a browser, each of which is a test here.
    """
    file, _, name = nodeid.partition("::")
    if file == _LIVES and (plan := _PLAN.search(name)):
        return f"lives-{plan[1]}"
    if file == _PAGES:
        return nodeid
    if file == _LONG_LIVES:
        return f"{file}::{name.partition('[')[0]}"
    version = _VERSION.search(name) if file.startswith("tests/contract/") else None
    return f"contract-{version[1]}" if version else _TOGETHER.get(file, file)
