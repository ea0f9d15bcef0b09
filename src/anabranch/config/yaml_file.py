"""One YAML file: read with named errors, checked against a pydantic model, written whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from anabranch.errors import ConfigError, InvalidFieldError

M = TypeVar("M", bound="FileShape")

#: Fields that would hold a secret itself; each has ``_env`` and ``_file`` forms that hold a reference.
SECRET_FIELDS = ("password", "key_password", "client_secret", "token")


@dataclass(eq=False)
class UnreadableFileError(ConfigError):
    """A file that is not there, may not be read or written, or is not YAML."""

    path: str
    problem: str
    fix: str = ""

    _message = "{path}: {problem}"
    _hint = "{fix}"


@dataclass(eq=False)
class LiteralSecretError(ConfigError):
    """A secret stands in a file where only its reference may; the secret is not repeated here."""

    path: str
    field: str

    _message = "{path}: {field}: a secret must not stand in this file"

    @property
    def hint(self) -> str:
        name = self.field.rpartition(".")[2]
        return f"write {name}_env: NAME and export NAME, or {name}_file: PATH; then change the secret, it was exposed"


#: Parts of an error's path that name a form of a field, not a field.
_UNION_TAG = re.compile(r"str|constrained-str|int|datetime|\w+Shape|\[key\]")


class FileShape(BaseModel):
    """The base of all file models: unknown fields are refused, texts are not numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


def read(path: Path) -> dict[str, Any]:
    """The mapping that a file holds; raises ``UnreadableFileError``, ``LiteralSecretError``."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UnreadableFileError(str(path), f"cannot read it: {reason}") from error
    try:
        value = _value(text)
        refuse_secrets(str(path), value, "")
    except RecursionError:
        raise UnreadableFileError(str(path), "it is nested too deep, or holds itself") from None
    except (ValueError, KeyError, AttributeError):  # whose words would repeat what may be a secret
        raise UnreadableFileError(str(path), "not YAML: a value that is not of its kind, such as a date") from None
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark is not None else ""
        raise UnreadableFileError(str(path), f"not YAML: {line}{error.problem}") from None
    except yaml.YAMLError as error:
        raise UnreadableFileError(str(path), f"not YAML: {error}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UnreadableFileError(str(path), "a mapping of fields is wanted at the top")
    return value


def _value(text: str) -> object:
    """The document's value; a name that is given twice is refused, YAML would keep the last."""
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _refuse_twice(node, set())
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _refuse_twice(node: yaml.Node, seen: set[int]) -> None:
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for inner in node.value:
            _refuse_twice(inner, seen)
    if isinstance(node, yaml.MappingNode):
        names: set[tuple[str, str]] = set()
        for name, inner in node.value:
            if isinstance(name, yaml.ScalarNode) and (name.tag, name.value) in names:
                raise yaml.MarkedYAMLError(problem=f"{name.value!r} is given twice", problem_mark=name.start_mark)
            names.add((name.tag, str(name.value)))
            _refuse_twice(inner, seen)


def refuse_secrets(place: str, value: object, at: str) -> None:
    """Raise ``LiteralSecretError`` for the first field that would hold a secret itself."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name in SECRET_FIELDS and not isinstance(inner, Mapping):
                raise LiteralSecretError(place, f"{at}{name}")
            refuse_secrets(place, inner, f"{at}{name}.")
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, inner in enumerate(value):
            refuse_secrets(place, inner, f"{at}{index}.")


def check(model: type[M], value: Mapping[str, Any], place: str) -> M:
    """The value as a model; the first of its faults, without the input, as ``InvalidFieldError``."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise _first_fault(model, error, place) from None


def _first_fault(model: type[FileShape], error: ValidationError, place: str) -> InvalidFieldError:
    faults = error.errors(include_input=False, include_url=False)
    paths = [".".join(str(part) for part in fault["loc"] if not _UNION_TAG.fullmatch(str(part))) for fault in faults]
    first, path = faults[0], paths[0] or "(top)"
    if first["type"] == "extra_forbidden":
        there, _ = _at(model, first["loc"][:-1])
        return InvalidFieldError(place, path, "unknown field", f"known fields there: {_fields(there)}")
    there, field = _at(model, first["loc"])
    if first["type"] == "model_type":
        return InvalidFieldError(place, path, "not a mapping", f"write its fields below it: {_fields(there)}")
    problem = "none of its forms" if paths.count(paths[0]) > 1 else first["msg"]
    if field is None:
        return InvalidFieldError(place, path, problem)
    is_usual = first["type"] == "string_type" and isinstance(field.default, str) and field.default
    usual = f"as text, with its unit if it has one, such as {field.default}; " if is_usual else ""
    return InvalidFieldError(place, path, problem, f"{usual}{field.description or ''}")


def _fields(models: Sequence[type[BaseModel]]) -> str:
    """The names of all fields of some models, as files have them."""
    return ", ".join(sorted({field.alias or name for one in models for name, field in one.model_fields.items()}))


def _at(model: type[BaseModel], path: Sequence[int | str]) -> tuple[list[type[BaseModel]], FieldInfo | None]:
    """The models that a value may be of at a path of an error, and the last field on it.

    Parts of such a path are also items of lists, and forms of a field.
    """
    found: list[type[BaseModel]] = [model]
    last: FieldInfo | None = None
    for part in path:
        fields = [field for one in found for name, field in one.model_fields.items() if part in (name, field.alias)]
        last = fields[0] if fields else last
        inner = [one for field in fields for one in _models(field.annotation)]
        found = inner or [one for one in found if one.__name__ == part] or found
    return found, last


def _models(annotation: object) -> list[type[BaseModel]]:
    """The models that an annotation names, however deep."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for inner in get_args(annotation) for model in _models(inner)]


def write(path: Path, value: Mapping[str, Any]) -> None:
    """Replace a file at once: a reader sees the old one or the new one; the old one is kept as ``<name>.bak``.

    The new file is on the disk before it takes the name, and only its owner may read it.  Raises
    ``UnreadableFileError``.
    """
    text = yaml_text(value)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _check_regular(path)
        if path.exists():
            _put(path.with_name(path.name + ".bak"), path.read_bytes())
        _put(path, text.encode("utf-8"))
    except OSError as error:
        raise UnreadableFileError(str(path), f"cannot write it: {error.strerror}") from error


def yaml_text(value: Mapping[str, Any]) -> str:
    """A mapping as the text of a file, its fields in their order."""
    return yaml.safe_dump(dict(value), sort_keys=False, allow_unicode=True)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, over one that is there; raises ``UnreadableFileError``."""
    try:
        _put(path, data)
    except OSError as error:
        raise not_writable(path, error) from error


def check_replaceable(path: Path) -> None:
    """Raise UnreadableFileError where ``replace_file`` would: for who works for hours before it."""
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        _check_regular(path)
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise not_writable(path, error) from error


def not_writable(path: Path, error: OSError) -> UnreadableFileError:
    """The error of a file that cannot be written."""
    fix = "name a file in a directory that is there and that you may write"
    return UnreadableFileError(str(path), f"cannot write it: {error.strerror or error}", fix)


def _check_regular(path: Path) -> None:
    """Raise OSError for a terminal, a pipe or a directory: reading one may take for ever, and none can be replaced."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no regular file")


def _put(path: Path, data: bytes) -> None:
    _check_regular(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
