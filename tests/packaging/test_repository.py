"""The repository's face: what a stranger reads and runs."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))
_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_of_a_page_leads_somewhere(page: Path) -> None:
    """No page sends its reader to a file that is not there."""
    links = [link for link in _LINK.findall(page.read_text()) if "://" not in link and not link.startswith("mailto:")]
    missing = [link for link in links if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("lock", ["base.txt", "dev.txt"])
def test_locks_pin_every_package_with_hashes_and_name_no_host(lock: str) -> None:
    """Each line with a package has one version and at least one hash; where it came from is the installer's matter."""
    text = (ROOT / "requirements" / lock).read_text()
    packages = re.findall(r"^[a-z0-9].*$", text, flags=re.MULTILINE)
    assert packages
    assert [line for line in packages if not re.match(r"[a-z0-9._-]+(\[[a-z,]+\])?==\S+", line)] == []
    assert text.count("--hash=sha256:") >= len(packages)
    assert "://" not in text
    assert "--index-url" not in text


def test_the_lock_of_the_pages_pins_every_package_with_a_hash_and_names_no_registry() -> None:
    """As npm's own lock file has it, with versions that are exact in package.json, too."""
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text())
    packages = {name: one for name, one in lock["packages"].items() if name}
    assert packages
    assert [name for name, one in packages.items() if "resolved" in one] == []
    assert [name for name, one in packages.items() if "version" not in one or "integrity" not in one] == []
    wanted = json.loads((ROOT / "web" / "package.json").read_text())
    versions = [*wanted["dependencies"].values(), *wanted["devDependencies"].values()]
    assert [one for one in versions if not re.fullmatch(r"\d+\.\d+\.\d+", one)] == []


@pytest.mark.test
def test_the_two_commands_of_the_readme_exist() -> None:
    """``make demo`` and ``make test`` are in the README and in the Makefile."""
    readme = (ROOT / "README.md").read_text()
    shown = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    offered = set(re.findall(r"make (\w+)", shown.stdout))
    assert {"demo", "test"} <= set(re.findall(r"make (\w+)", readme)) <= offered
    assert {"help", "lint", "bench", "soak", "lock", "clean"} <= offered
