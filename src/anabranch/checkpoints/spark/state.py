"""Stateful operators, by listing: state itself is never opened, whatever its size."""

from __future__ import annotations

import re
from collections.abc import Mapping

from anabranch.checkpoints.job import OperatorPage
from anabranch.checkpoints.ports import Files
from anabranch.checkpoints.spark.errors import MalformedError
from anabranch.checkpoints.spark.layout import STATE, Layout
from anabranch.checkpoints.spark.strict_json import Json, parse
from anabranch.errors import AnabranchError

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_NUMBER = re.compile(r"[0-9]{1,9}")
_MOST_FILES = 200_000
_MAX_METADATA_BYTES = 256 * 1024


def operators(files: Files, conf: Mapping[str, str]) -> tuple[OperatorPage, ...]:
    """Every operator with state, in the order of the plan."""
    kind = conf.get(PROVIDER, "").rpartition(".")[2]
    numbers = sorted(int(entry.name) for entry in files.list(STATE) if entry.is_directory and _is_number(entry.name))
    return tuple(_operator(files, number, kind) for number in numbers)


def newest_write_ms(files: Files, layout: Layout) -> int:
    """When the engine last wrote: a log, or a partition's directory of state, which a long batch fills by and by."""
    operators = [entry.name for entry in files.list(STATE) if entry.is_directory and _is_number(entry.name)]
    times = (entry.modified_ms for name in operators for entry in files.list(f"{STATE}/{name}"))
    return max((*times, layout.newest_ms))


def _operator(files: Files, number: int, kind: str) -> OperatorPage:
    root = f"{STATE}/{number}"
    partitions = [entry.name for entry in files.list(root) if entry.is_directory and _is_number(entry.name)]
    size, left = 0, _MOST_FILES
    directories = [f"{root}/{name}" for name in partitions]
    while directories and left > 0:
        directory = directories.pop()
        for entry in files.list(directory):
            left -= 1
            if entry.is_directory:
                directories.append(f"{directory}/{entry.name}")
            else:
                size += entry.size
    return OperatorPage(str(number), _name(files, root), kind, len(partitions), size if left > 0 else None)


def _name(files: Files, root: str) -> str:
    """What the engine calls the operator, since Spark 4.0; empty where it does not say."""
    paths = [f"{root}/_metadata/metadata"]
    newest = [int(entry.name) for entry in files.list(f"{root}/_metadata/v2") if _is_number(entry.name)]
    if newest:
        paths.insert(0, f"{root}/_metadata/v2/{max(newest)}")
    for path in paths:
        if files.stat(path) is None:
            continue
        try:
            tree = parse(files.read(path, _MAX_METADATA_BYTES).decode(errors="replace").partition("\n")[2], path)
        except (AnabranchError, MalformedError):
            continue
        return _operator_name(tree)
    return ""


def _operator_name(tree: Json) -> str:
    info = tree.get("operatorInfo") if isinstance(tree, dict) else None
    name = info.get("operatorName") if isinstance(info, dict) else None
    return name[:80] if isinstance(name, str) else ""


def _is_number(name: str) -> bool:
    return _NUMBER.fullmatch(name) is not None
