"""Wheels as an author's build makes them: archives with modules and metadata."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence


def wheel(name: str, version: str, files: Mapping[str, str], requires: Sequence[str] = ()) -> tuple[str, bytes]:
    """(name of the file, its bytes) of a wheel of pure Python; the same each time."""
    info = f"{name}-{version}.dist-info"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"]
    metadata += [f"Requires-Dist: {one}\n" for one in requires]
    members = {
        **files,
        f"{info}/METADATA": "".join(metadata),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: qa\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    members[f"{info}/RECORD"] = "".join(f"{member},,\n" for member in (*members, f"{info}/RECORD"))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for member, text in members.items():
            archive.writestr(zipfile.ZipInfo(member), text)
    return f"{name}-{version}-py3-none-any.whl", made.getvalue()
