"""A real REST catalog of Iceberg, of Iceberg's own classes, on loopback."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from anabranch.sandbox.jars import class_path, java_program

RUNTIME = "iceberg-rest-1.11.0"
SOURCE = Path(__file__).parent / "iceberg" / "RestCatalog.java"


@contextmanager
def rest_catalog(directory: Path, database: str, user: str) -> Iterator[str]:
    """Its address, while it runs, of what is in a PostgreSQL; its tables and its log are in the directory."""
    hadoop = sorted((Path(pyspark.__file__).parent / "jars").glob("hadoop-client-*.jar"))
    classes = ":".join([class_path(RUNTIME), class_path("postgresql-42.7.8"), *map(str, hadoop)])
    with (directory / "rest-catalog.log").open("wb") as log:
        words = [java_program(), "-cp", classes, str(SOURCE), str(directory / "warehouse"), database, user]
        process = subprocess.Popen(words, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith(b"port "):
                    yield f"http://127.0.0.1:{int(line.split()[1])}"
                    return
            raise RuntimeError((directory / "rest-catalog.log").read_text(encoding="utf-8")[-2000:])
        finally:
            process.kill()
            process.wait()
