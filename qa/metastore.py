"""A real metastore of Hive's, of the jars that pyspark brings, on loopback."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

SOURCE = Path(__file__).parent / "hive" / "Metastore.java"


@contextmanager
def metastore(directory: Path) -> Iterator[str]:
    """Its address, while it runs; its database and its log are in the directory."""
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    with (directory / "metastore.log").open("wb") as log:
        words = ["java", "-cp", str(jars), str(SOURCE), str(directory)]
        process = subprocess.Popen(words, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith(b"port "):
                    yield f"thrift://127.0.0.1:{int(line.split()[1])}"
                    return
            raise RuntimeError((directory / "metastore.log").read_text(encoding="utf-8")[-2000:])
        finally:
            process.kill()
            process.wait()
