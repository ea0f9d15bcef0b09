"""What is wrong with a function of an artifact is told before anything runs, with its place in the script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from anabranch.config.streamspec import StreamRunSpec
from anabranch.spark.streams.analysis import AnalysedScript, analyse
from anabranch.spark.streams.artifacts.environment import RunEnvironment
from anabranch.spark.streams.artifacts.errors import ArtifactClashError, NoEnvironmentError
from anabranch.spark.streams.artifacts.functions import ScriptFunctions
from anabranch.spark.streams.clusters import UnaskedClusters
from anabranch.spark.streams.kafka_tables import KafkaReading
from anabranch.spark.streams.sinks.console import console_kind
from anabranch.spark.streams.sinks.kinds import sink_kinds
from anabranch.streams.artifacts.errors import ArtifactKeptBadlyError
from anabranch.streams.artifacts.values import ArtifactPin
from anabranch.streams.errors import ScriptError
from qa.wheels import wheel
from tests.integration.streams.artifact_lab import ArtifactLab, ended

pytestmark = pytest.mark.full

TEXT = b"""
import datetime

def shout(text: str, times: int = 1) -> str | None:
    return text

def bare(x):
    return x

def now() -> datetime.datetime:
    return datetime.datetime.now()

def many(*texts: str) -> list[str]:
    return list(texts)

NUMBER = 7
"""
BROKEN = b"print('loud')\nimport not_to_be_found_anywhere\n\ndef one() -> int: ...\n"
CREATE = "CREATE TEMPORARY FUNCTION f AS '{}' USING FILE 'artifact:text';\n"
TABLE = "CREATE TABLE src USING rate OPTIONS (rowsPerSecond '1');\n"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[ArtifactLab]:
    """Where artifacts are."""
    made = ArtifactLab(tmp_path)
    yield made
    made.close()


def spec(lab: ArtifactLab, script: str, *pins: ArtifactPin, files: str = "") -> StreamRunSpec:
    """Of a script with its pins."""
    return StreamRunSpec("s", 1, "run-1", 1, script, "", artifacts=pins, artifact_place=lab.place, files=files)


def analysed(spark: SparkSession, given: StreamRunSpec, directory: Path) -> AnalysedScript:
    """A script in a session of its own."""
    environment = RunEnvironment.of(given, directory)
    kinds = sink_kinds((console_kind(lambda *_: None),))
    kafka = KafkaReading(UnaskedClusters(), looks_up=False)
    return analyse(given.script, spark.newSession(), kinds, kafka, functions=ScriptFunctions(environment))


@pytest.mark.parametrize(
    ("handler", "call", "problem"),
    [
        ("text.shout", "f('a', 2)", ""),
        ("text.now", "f()", ""),
        ("text.many", "f('a', 'b', 'c')", ""),
        ("text.bare RETURNS DECIMAL(10, 2)", "f(1)", ""),
        ("text.bare", "f(1)", "statement 1, line 1, column 33: nothing says which type text.bare returns"),
        ("text.bare RETURNS NONSENSE", "f(1)", "statement 1, line 1"),
        ("text.none", "f(1)", "function f cannot be imported from artifact:text: module text has no 'none'"),
        ("text.NUMBER", "f(1)", "text.NUMBER is no function"),
        ("other.none", "f(1)", "No module named 'other'"),
        ("os.path.join", "f(1)", "module os is in none of its files"),
        ("shout", "f(1)", "'shout' names no function of a module"),
        ("text.shout", "f()", "function f is called with 0 arguments, and text.shout takes 1 to 2"),
        ("text.shout", "f('a', 1, 2)", "statement 3, line 3, column 8: function f is called with 3 arguments"),
    ],
)
def test_a_function_of_python_is_held_to_what_it_is(
    spark: SparkSession, lab: ArtifactLab, tmp_path: Path, handler: str, call: str, problem: str
) -> None:
    """C1, C3: whether it can be imported, what it returns, and how it is called."""
    script = f"{CREATE.format(handler)}{TABLE}SELECT {call} FROM STREAM src"
    given = spec(lab, script, lab.pin("text", 1, ("text.py", TEXT)))
    if problem:
        with pytest.raises(ScriptError) as refused:
            analysed(spark, given, tmp_path / "run")
        assert problem in refused.value.message
    else:
        assert len(analysed(spark, given, tmp_path / "run").selects[3].columns) == 1


def test_a_function_that_fails_to_import_is_told_with_the_last_line(
    spark: SparkSession, lab: ArtifactLab, tmp_path: Path
) -> None:
    """And what it prints meanwhile disturbs nobody."""
    script = "CREATE FUNCTION f AS 'broken.one' USING FILE 'artifact:b@3'"
    with pytest.raises(ScriptError) as refused:
        analysed(spark, spec(lab, script, lab.pin("b", 3, ("broken.py", BROKEN))), tmp_path / "run")
    assert refused.value.problem == (
        "function f cannot be imported from artifact:b@3: "
        "ModuleNotFoundError: No module named 'not_to_be_found_anywhere'"
    )


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("CREATE FUNCTION f AS 'text.shout' USING FILE 'artifact:text@2'", "artifact:text@2 is not there"),
        ("CREATE FUNCTION f AS 'text.shout' USING FILE 'artifact:Text'", "'artifact:Text' names no artifact"),
        (
            "CREATE FUNCTION f AS 'text.shout' USING FILE 'text.py'",
            "'text.py' is a path, and this script may name none",
        ),
        ("CREATE FUNCTION f AS 'text shout' USING FILE 'artifact:text'", "'text shout' names no function"),
        ("CREATE FUNCTION upper AS 'text.shout' USING FILE 'artifact:text'", "there is a function 'upper' already"),
    ],
)
def test_a_script_has_what_was_pinned_and_nothing_else(
    spark: SparkSession, lab: ArtifactLab, tmp_path: Path, script: str, problem: str
) -> None:
    """C2."""
    with pytest.raises(ScriptError) as refused:
        analysed(spark, spec(lab, script, lab.pin("text", 1, ("text.py", TEXT))), tmp_path / "run")
    assert problem in refused.value.message


@pytest.mark.parametrize("name", ["java.lang.Thread", "no.Such"])
def test_a_class_that_is_none_of_sparks_functions_is_told(
    spark: SparkSession, lab: ArtifactLab, tmp_path: Path, name: str
) -> None:
    """Before a query."""
    script = f"CREATE FUNCTION f AS '{name}' USING JAR 'artifact:a'"
    with pytest.raises(ScriptError) as refused:
        analysed(spark, spec(lab, script, lab.pin("a", 1, ("a.jar", b"bytes"))), tmp_path / "run")
    assert "function f cannot be loaded from artifact:a" in refused.value.message and name in refused.value.message


def test_a_script_of_the_command_line_may_name_files(spark: SparkSession, lab: ArtifactLab, tmp_path: Path) -> None:
    """Relative to its own directory."""
    (tmp_path / "text.py").write_bytes(TEXT)
    script = "CREATE FUNCTION f AS 'text.shout' USING FILE './text.py'"
    assert analysed(spark, spec(lab, script, files=str(tmp_path)), tmp_path / "run").statements
    with pytest.raises(Exception, match="No such file"):
        analysed(spark, spec(lab, script.replace("text.py", "gone.py"), files=str(tmp_path)), tmp_path / "run")


def test_bytes_of_another_hash_end_a_run_before_spark_starts(lab: ArtifactLab) -> None:
    """V1: a file that was changed, and one that is gone."""
    pin = lab.pin("text", 1, ("text.py", TEXT))
    file = Path(lab.place) / pin.content.sha256
    file.write_bytes(TEXT + b"#")
    told = ended(lab.start("changed", CREATE.format("text.shout"), [pin]))
    assert told["exit_code"] == 5 and "text.py of artifact text@1 is not what was uploaded" in told["error"]
    file.unlink()
    with pytest.raises(ArtifactKeptBadlyError):
        RunEnvironment.of(spec(lab, "", pin), lab.directory / "run")


def test_two_wheels_of_one_run_may_share_what_is_equal_and_nothing_else(lab: ArtifactLab, tmp_path: Path) -> None:
    """V3: nothing is left of a run that was refused."""
    one, two = (wheel("base", version, {"base.py": f"V = {version}"}) for version in ("1.0", "2.0"))
    users = [("one.py", b""), ("two.py", b"")]
    same = [lab.pin(name, 1, file, one) for name, file in zip("ab", users, strict=True)]
    assert RunEnvironment.of(spec(lab, "", *same), tmp_path / "good").python.is_dir()
    others = [lab.pin(name, 1, file, base) for name, file, base in zip("ab", users, (one, two), strict=True)]
    with pytest.raises(ArtifactClashError) as refused:
        RunEnvironment.of(spec(lab, "", *others), tmp_path / "bad")
    assert refused.value.message == "artifact a@1 and artifact b@1 both bring base.py, and they differ"
    assert not (tmp_path / "bad").exists()


def test_nothing_is_taken_away_that_no_run_has_laid_out(lab: ArtifactLab, tmp_path: Path) -> None:
    """V4: what a killed run left is laid out again; a directory of somebody else is refused, and stays."""
    given = spec(lab, "", lab.pin("text", 1, ("text.py", TEXT)))
    left = RunEnvironment.of(given, tmp_path / "run").python / "other.py"
    left.touch()
    RunEnvironment.of(given, tmp_path / "run").remove()
    assert not left.exists() and not (tmp_path / "run").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(NoEnvironmentError):
        RunEnvironment.of(given, tmp_path / "mine")
    RunEnvironment.of(spec(lab, ""), tmp_path / "mine").remove()
    assert (tmp_path / "mine" / "file").exists()
