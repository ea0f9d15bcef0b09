"""Which tests one worker of ``-n`` runs in a row: what shares a cluster or a session, and no more."""

from __future__ import annotations

import re

# That of the cluster, among a test's parameters.
_VERSION = re.compile(r"\[(?:.*-)?(\d+\.\d+\.\d+(?:-simulated)?)[-\]]")
_PLAN = re.compile(r"\[([a-z:-]+)\]$")
_LIVES = ("tests/simulation/test_lives.py", "tests/simulation/test_more_lives.py")
_LONG_LIVES = "tests/simulation/test_long_lives.py"
_PAGES = "tests/integration/web/test_web.py"
_LINKS = (
    *("changes", "copying", "decisions", "discovered", "gaps", "groups", "groups_followed", "hanging"),
    *("identity_lanes", "leases", "maps", "mirror_answers", "spark", "starts", "stops", "versions"),
)
_STREAMS = ("changed_state", "kafka_sink", "pyspark_jobs", "refusals", "saved_checkpoints", "script", "stream_jobs")
_TOGETHER = {
    f"tests/integration/{package}/{directory}test_{name}.py": f"tests/integration/{package}"
    for package, directory, names in (
        ("links", "", _LINKS),
        ("sdk", "", ("callbacks", "coordinated", "java_example", "killed", "programs", "spark_routes", "switching")),
        ("verify", "", ("planted", "sums", "verbs")),
        ("streams", "", (*_STREAMS, "trial_rows")),
        ("streams", "sinks/", ("postgresql",)),
        ("spark", "", ("yarn", "yarn_commands")),
    )
    for name in names
}
"""Files of a package that has real clusters or a Spark for all of them: each worker that had one would start its own.

Of the tests of links these are the files that have one on real clusters; the others are spread.
"""


_BY_TEST = (_LONG_LIVES, "tests/integration/streams/test_kafka_sink_kills.py")
"""Files of which a worker may have one test, with all its parameters: alone they take longer than a chapter should."""
_KILLS = "tests/integration/kills/"
"""In CI one worker has the engines that die; what is tried on SQLite as well is for another one."""


def group(nodeid: str) -> str:
    """The facts about one Kafka version, and files, whose clusters they share; the lives of one plan; else a file.

    Lives share nothing, and take minutes a plan; nor do the files of tests in a browser, each of which is a test here.
    """
    file, _, name = nodeid.partition("::")
    if file in _LIVES and (plan := _PLAN.search(name)):
        return f"lives-{plan[1]}"
    if file == _PAGES:
        return nodeid
    if file.startswith(_KILLS) and "[sqlite" in name:
        return f"{file}-sqlite"
    if file in _BY_TEST:
        return f"{file}::{name.partition('[')[0]}"
    version = _VERSION.search(name) if file.startswith("tests/contract/") else None
    return f"contract-{version[1]}" if version else _TOGETHER.get(file, file)
