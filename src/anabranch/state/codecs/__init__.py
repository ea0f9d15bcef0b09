"""The stored formats: keys and values of the compacted topics on the target, and of what is handed to tasks.

Pure: values to bytes and back.  Every value has a version; the bytes are specified in
``docs/reference/control-topics.md`` and pinned by golden files.
"""
