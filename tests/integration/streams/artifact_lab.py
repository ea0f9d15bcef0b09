"""Jobs whose functions come from artifacts, without a service: what is pinned lies in a directory."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyspark

from anabranch.config.catalogspec import CatalogSpec
from anabranch.config.jobspec import write_spec
from anabranch.config.streamspec import StreamRunSpec
from anabranch.storage.hashed import HashedFiles
from anabranch.storage.opening import open_files
from anabranch.streams.artifacts.values import ArtifactFile, ArtifactPin, kind_of
from anabranch.streams.events import StreamEvent, read_event
from qa.timeouts import TIMEOUT_S

JAVA = """
package acme;
public class Greet implements org.apache.spark.sql.api.java.UDF1<String, String> {
    public String call(String name) { return "%s " + name; }
}
"""


@dataclass
class ArtifactLab:
    """Files by their content, rows to read, and jobs."""

    directory: Path
    jobs: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Where artifacts are."""
        return str(self.directory / "artifacts")

    def pin(self, name: str, number: int, *files: tuple[str, bytes]) -> ArtifactPin:
        """Keep files as a version of an artifact; the first is it, others are what it needs."""
        kept = HashedFiles(open_files(self.place))
        found = [ArtifactFile(file, kept.put(data), len(data)) for file, data in files]
        return ArtifactPin(name, number, kind_of(found[0].file), found[0], tuple(found[1:]))

    def start(
        self,
        stream: str,
        script: str,
        pins: Sequence[ArtifactPin] = (),
        *more: str,
        catalog: CatalogSpec | None = None,
    ) -> subprocess.Popen[str]:
        """Start the job of a script, which may read ``src`` and write ``out``, and use a catalog."""
        home = self.directory / stream
        (home / "in").mkdir(parents=True, exist_ok=True)
        (home / "in" / "rows.json").write_text('{"name": "mei"}\n{"name": "jo"}\n', encoding="utf-8")
        tables = (
            f"CREATE TABLE src (name STRING) USING json OPTIONS (path '{home / 'in'}');"
            f"CREATE TABLE out USING json OPTIONS (path '{home / 'out'}');"
        )
        spec = StreamRunSpec(stream, 1, "run-1", 1, tables + script, str(home / "checkpoints"), trigger="availableNow")
        spec = StreamRunSpec(
            **{name: getattr(spec, name) for name in StreamRunSpec.__slots__}
            | {"artifacts": tuple(pins), "artifact_place": self.place, "catalog": catalog}
        )
        write_spec(home / "run-1.json", spec.to_json())
        command = [sys.executable, "-m", "anabranch.spark.jobs.stream", str(home / "run-1.json")]
        with (home / "log").open("wb") as log:
            job = subprocess.Popen(
                [*command, "--master", "local[1]", "--conf", "spark.driver.memory=512m", *more],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.jobs.append(job)
        return job

    def rows(self, stream: str) -> list[Any]:
        """What a job has written, in order of names."""
        files = (self.directory / stream / "out").glob("*.json")
        found = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
        return sorted(found, key=lambda row: str(row["name"]))

    def close(self) -> None:
        """End what still runs."""
        for job in self.jobs:
            if job.poll() is None:
                job.kill()
            job.communicate()


def ended(job: subprocess.Popen[str]) -> Mapping[str, Any]:
    """The last but one event of a job, once it has ended: the error of one that failed; raises AssertionError."""
    events = list(_events(job.communicate(timeout=TIMEOUT_S)[0]))
    assert events, "it has told nothing"
    failed = [one for one in events if one.kind.value == "failed"]
    return failed[0].fields if failed else {}


def _events(text: str) -> Iterator[StreamEvent]:
    for line in text.splitlines():
        event = read_event(line)
        if event is not None:
            yield event


def jar(directory: Path, word: str) -> tuple[str, bytes]:
    """A jar with the class ``acme.Greet``, compiled here."""
    return "acme.jar", compiled(directory / word, "Greet", JAVA % word)


def compiled(home: Path, name: str, source: str, libraries: Sequence[Path] = (), pom: str = "") -> bytes:
    """A jar with a class of the package ``acme``, compiled here, and with its pom where it has one."""
    home.mkdir()
    (home / f"{name}.java").write_text(source, encoding="utf-8")
    jars = Path(pyspark.__file__).parent / "jars"
    classes = ":".join(map(str, [*jars.glob("spark-sql-api_*.jar"), *libraries]))
    subprocess.run(["javac", "-cp", classes, "-d", str(home), str(home / f"{name}.java")], check=True)
    subprocess.run(["jar", "cf", str(home / "acme.jar"), "-C", str(home), "acme"], check=True)
    if pom:
        with zipfile.ZipFile(home / "acme.jar", "a") as archive:
            archive.writestr(f"META-INF/maven/acme/{name.lower()}/pom.xml", pom)
    return (home / "acme.jar").read_bytes()
