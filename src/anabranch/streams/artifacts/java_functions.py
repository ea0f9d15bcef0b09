"""The functions of a jar: its classes that implement Spark's interfaces ``UDF0`` to ``UDF22``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from anabranch.streams.artifacts.class_files import JavaClass
from anabranch.streams.artifacts.values import ArtifactArgument, ArtifactFunction

_UDF = re.compile(r"org/apache/spark/sql/api/java/UDF(?P<count>\d+)")
_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "Ljava/lang/String;": "STRING",
        "Ljava/lang/Integer;": "INT",
        "Ljava/lang/Long;": "BIGINT",
        "Ljava/lang/Short;": "SMALLINT",
        "Ljava/lang/Byte;": "TINYINT",
        "Ljava/lang/Boolean;": "BOOLEAN",
        "Ljava/lang/Float;": "FLOAT",
        "Ljava/lang/Double;": "DOUBLE",
        "Ljava/math/BigDecimal;": "DECIMAL(38,18)",
        "Ljava/sql/Date;": "DATE",
        "Ljava/time/LocalDate;": "DATE",
        "Ljava/sql/Timestamp;": "TIMESTAMP",
        "Ljava/time/Instant;": "TIMESTAMP",
        "Ljava/time/LocalDateTime;": "TIMESTAMP_NTZ",
        "[B": "BINARY",
    }
)


def functions(classes: Mapping[str, JavaClass]) -> Iterator[ArtifactFunction]:
    """The functions among the classes of a jar, which are given by their names; by name."""
    for name in sorted(classes):
        one = classes[name]
        count = _count(one, classes) if one.is_usable else None
        if count is not None:
            *arguments, returns = _types(one.signature, count)
            shown = tuple(ArtifactArgument(f"_{at}", text) for at, text in enumerate(arguments, 1))
            yield ArtifactFunction(name.replace("/", "."), shown, returns)


def _count(one: JavaClass | None, classes: Mapping[str, JavaClass]) -> int | None:
    """How many arguments the function of a class takes, its own or that of a parent; None where it is none."""
    seen: set[str] = set()
    while one is not None and one.name not in seen:
        seen.add(one.name)
        found = next(filter(None, map(_UDF.fullmatch, one.interfaces)), None)
        if found is not None:
            return int(found["count"])
        one = classes.get(one.parent)
    return None


def _types(signature: str, count: int) -> list[str]:
    """The types of the arguments and of the result; empty ones where the class itself does not say them."""
    found = re.search(rf"Lorg/apache/spark/sql/api/java/UDF{count}<", signature)
    if found is None:
        return [""] * (count + 1)
    types: list[str] = []
    at = found.end()
    while signature[at : at + 1] not in ("", ">"):
        end = _past(signature, at)
        types.append(_TYPES.get(signature[at:end], ""))
        at = end
    return types if len(types) == count + 1 else [""] * (count + 1)


def _past(signature: str, at: int) -> int:
    """Where the type ends that begins there."""
    while signature[at] in "[+-":
        at += 1
    if signature[at] == "T":
        return signature.index(";", at) + 1
    if signature[at] != "L":
        return at + 1
    depth = 0
    while signature[at] != ";" or depth:
        depth += {"<": 1, ">": -1}.get(signature[at], 0)
        at += 1
    return at + 1
