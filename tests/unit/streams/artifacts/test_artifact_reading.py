"""What uploads hold is read and never run; what could take another's place is refused."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from anabranch.streams.artifacts.class_files import java_class
from anabranch.streams.artifacts.errors import NotAnArtifactError
from anabranch.streams.artifacts.reading import read
from anabranch.streams.artifacts.values import ArtifactKind, kind_of
from qa.wheels import wheel

pytestmark = pytest.mark.unit

SOURCE = """
# /// script
# dependencies = ["idna>=3"]
# ///
raise SystemExit("nobody runs this")
from datetime import date

def shout(text: str, times: int = 1, *, mark: "str | None" = "!") -> str | None:
    return text

def days(since: date, *more) -> dict[str, list[float]]:
    return {}

def bare(x):
    return x

def _hidden() -> int:
    return 1

class Other:
    def inner(self) -> int:
        return 1
"""


def test_functions_of_python_are_read_with_their_types() -> None:
    """U1: from annotations, also those in quotes; what is not known is empty, and nothing is run."""
    found = read("text_lib.py", SOURCE.encode())
    assert found.kind is ArtifactKind.PYTHON
    assert [str(one) for one in found.functions] == [
        "text_lib.shout(text STRING, times BIGINT, mark STRING) RETURNS STRING",
        "text_lib.days(since DATE, *more) RETURNS MAP<STRING, ARRAY<DOUBLE>>",
        "text_lib.bare(x)",
    ]
    assert [one.optional for one in found.functions[0].arguments] == [False, True, True]
    assert found.requires == ("idna>=3",)


def test_a_wheel_is_read_without_being_installed() -> None:
    """Its modules by the names that they are imported by, also those of ``.data``; and what it requires."""
    files = {
        "acme/__init__.py": "def one() -> int:\n    return 1\n",
        "acme/text/clean.py": "def strip(text: str) -> str:\n    return text\n",
        "acme/broken.py": "def (",
        "acme-1.0.data/purelib/other.py": "def two() -> bool: ...\n",
        "acme-1.0.data/scripts/run.py": "def three(): ...\n",
    }
    found = read(*wheel("acme", "1.0", files, ["idna>=3", "rich; extra == 'x'"]))
    assert [one.name for one in found.functions] == ["acme.one", "acme.text.clean.strip", "other.two"]
    assert (found.modules, found.requires) == (("acme", "other"), ("idna>=3", "rich; extra == 'x'"))


@pytest.mark.parametrize(
    ("file", "data", "problem"),
    [
        ("a.txt", b"", "its name ends with none of .jar, .whl, .py"),
        ("my lib.py", b"", "its name has other characters"),
        ("my-lib.py", b"", "'my-lib' is no name of a module"),
        ("json.py", b"", "its module json would take the place of Python's own"),
        ("pyspark.py", b"", "its module pyspark would take the place of the one that every job has"),
        ("lib.py", b"a = 1\ndef f(:\n", "line 2: "),
        ("lib.py", b"\xff", "it is not UTF-8"),
        ("lib.py", b"# /// script\n# dependencies = 1\n# ///\n", "its dependencies are no list"),
        ("lib.py", b"# /// script\n# dependencies = [\n", "has no end"),
        ("lib.jar", b"no archive", "it is no archive that can be read"),
        ("lib.whl", wheel("lib", "1", {})[1], "its name is none of a wheel"),
        (*wheel("lib", "1", {"json/__init__.py": ""}), "its module json would take the place"),
        (*wheel("lib", "1", {"../lib.py": ""}), "may lead out of its directory"),
        (*wheel("lib", "1", {"lib-0.dist-info/METADATA": ""}), "it has 2 files METADATA"),
    ],
)
def test_what_cannot_be_an_artifact_is_refused_with_its_reason(file: str, data: bytes, problem: str) -> None:
    """U2, U3: as it is uploaded."""
    with pytest.raises(NotAnArtifactError) as found:
        read(file, data)
    assert problem in found.value.message


def test_the_kind_is_told_by_the_end_of_the_name() -> None:
    """Whatever its case."""
    assert [kind_of(name) for name in ("a.JAR", "b.whl", "c.py")] == list(ArtifactKind)


def text(value: str) -> bytes:
    """A constant of a class file."""
    data = value.encode()
    return struct.pack(">BH", 1, len(data)) + data


def class_file(name: str, parent: str, interface: str, signature: str, flags: int = 0x21) -> bytes:
    """A class without fields and methods, as a compiler writes it."""
    constants = [text(name), b"\x07\0\x01", text(parent), b"\x07\0\x03", text(interface), b"\x07\0\x05"]
    constants += [text("Signature"), text(signature), struct.pack(">Bq", 5, 1), b"\x08\0\x01"]
    head = struct.pack(">IHHH", 0xCAFEBABE, 0, 61, len(constants) + 2)  # a long has two places
    body = struct.pack(">HHH", flags, 2, 4) + struct.pack(">HH", 1, 6) + struct.pack(">HH", 0, 0)
    return head + b"".join(constants) + body + struct.pack(">HHIH", 1, 7, 2, 8)


def jar(**classes: bytes) -> bytes:
    """An archive of classes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in classes.items():
            archive.writestr(f"{name}.class", data)
    return made.getvalue()


UDF = "org/apache/spark/sql/api/java/UDF"
GENERIC = f"Ljava/lang/Object;L{UDF}2<Ljava/lang/String;Ljava/util/List<Ljava/lang/Long;>;[B>;"


def test_functions_of_a_jar_are_its_classes_that_spark_can_call() -> None:
    """With the types of their parameters; abstract ones are none, and one may have its parent's interface."""
    classes = {
        "A": class_file("acme/Shout", "java/lang/Object", f"{UDF}2", GENERIC),
        "B": class_file("acme/Louder", "acme/Shout", "java/io/Serializable", ""),
        "C": class_file("acme/Base", "java/lang/Object", f"{UDF}1", "", 0x421),
        "D": class_file("acme/Other", "java/lang/Object", "java/lang/Runnable", ""),
    }
    found = read("acme.jar", jar(**classes))
    assert [str(one) for one in found.functions] == ["acme.Louder(_1, _2)", "acme.Shout(_1 STRING, _2) RETURNS BINARY"]
    one = java_class(classes["A"])
    assert one is not None and (one.name, one.parent, one.major) == ("acme/Shout", "java/lang/Object", 61)


def test_what_is_no_class_file_is_no_class() -> None:
    """However it is cut; a jar without a class is refused."""
    whole = class_file("acme/Shout", "java/lang/Object", f"{UDF}2", GENERIC)
    assert all(java_class(whole[:size]) is None for size in range(len(whole)))
    with pytest.raises(NotAnArtifactError):
        read("empty.jar", jar(A=b"\xca\xfe"))
