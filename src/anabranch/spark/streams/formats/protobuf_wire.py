"""Messages of Protobuf as JSON text and back, by a set of descriptors; runs where Spark's Python workers run."""

from __future__ import annotations

import base64
import json
from functools import lru_cache
from typing import Any

_TIMESTAMP, _DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"
_WRAPPED = tuple(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
_MOST_DEEP = 20


class UnknownMessageError(ValueError):
    """A set of descriptors that cannot be read, or has no message of that name; the text says which there are."""


@lru_cache(maxsize=32)
def message_class(descriptors: bytes, name: str) -> Any:
    """The class of a message; raises UnknownMessageError."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # type: ignore[import-untyped]
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(descriptors)
    except DecodeError as error:
        raise UnknownMessageError("it is no set of descriptors") from error
    pool = descriptor_pool.DescriptorPool()
    known: list[str] = []
    try:
        for file in files.file:
            pool.Add(file)
            prefix = f"{file.package}." if file.package else ""
            known += [prefix + one.name for one in file.message_type]
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    except KeyError:
        raise UnknownMessageError(f"it has no message {name!r}, but {', '.join(known) or 'none'}") from None
    except TypeError as error:  # a file that another one imports is not in the set
        raise UnknownMessageError(f"it is not whole (protoc --include_imports): {error}") from error


def to_text(descriptors: bytes, name: str, value: bytes | None) -> str | None:
    """A message as JSON; None for what is none."""
    from google.protobuf.message import DecodeError

    if value is None:
        return None
    try:
        return json.dumps(_plain(message_class(descriptors, name).FromString(bytes(value))))
    except (DecodeError, UnicodeDecodeError):
        return None


def to_bytes(descriptors: bytes, name: str, text: str | None) -> bytes | None:
    """The message of a JSON object; raises ParseError for a value that its field cannot have."""
    from google.protobuf import json_format

    if text is None:
        return None
    found: bytes = json_format.Parse(text, message_class(descriptors, name)()).SerializeToString(deterministic=True)
    return found


def spark_type(descriptor: Any, depth: int = 0) -> str:
    """The type of a message as Spark's SQL writes it; raises UnknownMessageError for one that holds itself."""
    if depth > _MOST_DEEP:
        raise UnknownMessageError(f"message {descriptor.full_name} holds itself: name the columns that are wanted")
    fields = ", ".join(f"`{field.name}`: {_field_type(field, depth)}" for field in descriptor.fields)
    return f"STRUCT<{fields}>"


def columns_of_message(descriptor: Any) -> list[tuple[str, str]]:
    """Name and type of each field of a message."""
    return [(field.name, _field_type(field, 0)) for field in descriptor.fields]


def _field_type(field: Any, depth: int) -> str:
    if _is_map(field):
        key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
        return f"MAP<{_one_type(key, depth)}, {_one_type(value, depth)}>"
    return f"ARRAY<{_one_type(field, depth)}>" if field.is_repeated else _one_type(field, depth)


def _one_type(field: Any, depth: int) -> str:
    if field.message_type is not None:
        name = field.message_type.full_name
        if name == _TIMESTAMP:
            return "TIMESTAMP"
        if name == _DURATION:
            return "STRING"
        if name in _WRAPPED:
            return _one_type(field.message_type.fields_by_name["value"], depth)
        return spark_type(field.message_type, depth + 1)
    if field.cpp_type == field.CPPTYPE_UINT32:
        return "BIGINT"
    return {
        field.CPPTYPE_INT32: "INT",
        field.CPPTYPE_INT64: "BIGINT",
        field.CPPTYPE_UINT64: "DECIMAL(20,0)",
        field.CPPTYPE_DOUBLE: "DOUBLE",
        field.CPPTYPE_FLOAT: "FLOAT",
        field.CPPTYPE_BOOL: "BOOLEAN",
        field.CPPTYPE_ENUM: "STRING",
        field.CPPTYPE_STRING: "BINARY" if field.type == field.TYPE_BYTES else "STRING",
    }[field.cpp_type]


def _plain(message: Any) -> Any:
    name = message.DESCRIPTOR.full_name
    if name in (_TIMESTAMP, _DURATION):
        return message.ToJsonString()
    if name in _WRAPPED:
        return _value(message.DESCRIPTOR.fields_by_name["value"], message.value)
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if _is_map(field):
            kind = field.message_type.fields_by_name["value"]
            found[field.name] = {_key(key): _value(kind, one) for key, one in value.items()}
        elif field.is_repeated:
            found[field.name] = [_value(field, one) for one in value]
        elif field.has_presence and not message.HasField(field.name):
            found[field.name] = None
        else:
            found[field.name] = _value(field, value)
    return found


def _value(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return _plain(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else known.name
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value


def _key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _is_map(field: Any) -> bool:
    kind = field.message_type
    return kind is not None and bool(kind.GetOptions().map_entry)
