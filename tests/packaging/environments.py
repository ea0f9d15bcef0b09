"""Environments with the built wheel and one of its extras."""

from __future__ import annotations

import re
import venv
from pathlib import Path

from tests.packaging.test_wheel import ROOT, run


def with_extra(home: Path, wheel: Path, extra: str) -> Path:
    """Make one in a directory, of the locked versions; its ``bin`` directory."""
    venv.create(home, with_pip=True)
    locked = re.findall(
        r"^([A-Za-z0-9_.-]+)(?:\[.*?\])?(==[^\\\n]+)", (ROOT / "requirements" / "dev.txt").read_text(), re.M
    )
    versions = home / "versions.txt"
    versions.write_text("".join(f"{name}{version}\n" for name, version in locked))
    pip = [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--retries", "10", "--timeout", "60", "-c", versions, f"{wheel}[{extra}]"]
    done = run(*pip, cwd=home)
    assert done.returncode == 0, done.stderr
    return home / "bin"
