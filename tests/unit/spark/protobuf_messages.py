"""A set of descriptors as protoc writes it, made without protoc."""

from __future__ import annotations

from google.protobuf import descriptor_pb2, timestamp_pb2, wrappers_pb2


def descriptors() -> bytes:
    """``shop.View`` with a field of each kind, ``shop.Tree`` that holds itself."""
    files = descriptor_pb2.FileDescriptorSet()
    for module in (timestamp_pb2, wrappers_pb2):
        files.file.add().ParseFromString(module.DESCRIPTOR.serialized_pb)
    file = files.file.add(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.extend(["google/protobuf/timestamp.proto", "google/protobuf/wrappers.proto"])
    kinds = descriptor_pb2.FieldDescriptorProto
    colour = file.enum_type.add(name="Colour")
    for number, name in enumerate(("NONE", "RED")):
        colour.value.add(name=name, number=number)
    inner = file.message_type.add(name="Inner")
    inner.field.add(name="x", number=1, type=kinds.TYPE_DOUBLE, label=kinds.LABEL_OPTIONAL)
    view = file.message_type.add(name="View")
    entry = view.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=kinds.TYPE_STRING, label=kinds.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=kinds.TYPE_INT64, label=kinds.LABEL_OPTIONAL)
    for number, (name, kind, of, label) in enumerate(
        (
            ("page", kinds.TYPE_STRING, "", kinds.LABEL_OPTIONAL),
            ("n", kinds.TYPE_INT64, "", kinds.LABEL_OPTIONAL),
            ("at", kinds.TYPE_MESSAGE, ".google.protobuf.Timestamp", kinds.LABEL_OPTIONAL),
            ("maybe", kinds.TYPE_MESSAGE, ".google.protobuf.Int64Value", kinds.LABEL_OPTIONAL),
            ("raw", kinds.TYPE_BYTES, "", kinds.LABEL_OPTIONAL),
            ("colour", kinds.TYPE_ENUM, ".shop.Colour", kinds.LABEL_OPTIONAL),
            ("inner", kinds.TYPE_MESSAGE, ".shop.Inner", kinds.LABEL_OPTIONAL),
            ("tags", kinds.TYPE_STRING, "", kinds.LABEL_REPEATED),
            ("counts", kinds.TYPE_MESSAGE, ".shop.View.CountsEntry", kinds.LABEL_REPEATED),
            ("big", kinds.TYPE_UINT64, "", kinds.LABEL_OPTIONAL),
            ("small", kinds.TYPE_UINT32, "", kinds.LABEL_OPTIONAL),
            ("yes", kinds.TYPE_BOOL, "", kinds.LABEL_OPTIONAL),
        ),
        1,
    ):
        view.field.add(name=name, number=number, type=kind, label=label, type_name=of or None)
    tree = file.message_type.add(name="Tree")
    tree.field.add(name="left", number=1, type=kinds.TYPE_MESSAGE, type_name=".shop.Tree", label=kinds.LABEL_OPTIONAL)
    return files.SerializeToString()
