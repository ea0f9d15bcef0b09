"""The import contracts leave out no package: each list holds all that there are, but for those that it is about."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

import pytest

import anabranch

pytestmark = pytest.mark.unit
ROOT = Path(__file__).parents[3]
PACKAGES = {
    path.stem
    for path in Path(anabranch.__path__[0]).iterdir()
    if (path / "__init__.py").exists() or path.suffix == ".py"
} - {"__init__", "__main__"}
"""Packages and modules at the top; ``__main__`` is the command line's."""
BUT = {
    ("product", "source_modules"): {"cli", "sandbox"},
    ("spark", "source_modules"): {"spark"},
    ("kafka-client", "source_modules"): {"kafka"},
    ("database", "source_modules"): {"store"},
    ("web", "source_modules"): {"service"},
    ("apart", "source_modules"): {"sdk"},
    ("sandbox", "forbidden_modules"): {"sandbox", "model", "errors", "jars"},
    ("sdk", "forbidden_modules"): {"sdk", "model", "errors", "offsets"},
}
"""Lists of all packages, by contract; and whom each is not for."""


def contracts() -> ConfigParser:
    """The file."""
    found = ConfigParser()
    found.read(ROOT / ".importlinter", encoding="utf-8")
    return found


@pytest.mark.parametrize(("contract", "field"), BUT, ids=str)
def test_each_package_stands_in_each_list(contract: str, field: str) -> None:
    """A new one is held by what holds all others."""
    listed = contracts()[f"importlinter:contract:{contract}"][field].split()
    ours = [name.removeprefix("anabranch.") for name in listed if name.startswith("anabranch.")]
    assert len(ours) == len(set(ours)), "one stands there twice"
    assert {name for name in ours if "." not in name} == PACKAGES - BUT[contract, field]


def test_each_package_has_a_layer() -> None:
    """The linter itself refuses one that has none."""
    layers = contracts()["importlinter:contract:layers"]
    assert layers.getboolean("exhaustive") and layers["exhaustive_ignores"].split() == ["__main__"]
    assert {name for name in layers["layers"].split() if name not in {"|", ":"}} == PACKAGES


def test_the_picture_of_the_layers_is_that_of_the_contract() -> None:
    """Each layer is a line, in the same order."""
    picture = (ROOT / "docs" / "concepts.md").read_text("utf-8").partition("## Layers of the code\n")[2]
    lines = [line.strip() for line in picture.partition("\nImports go down")[0].splitlines()]
    drawn = [line.partition("   ")[0] for line in lines if line.partition(" ")[0] in PACKAGES]
    layers = contracts()["importlinter:contract:layers"]["layers"].strip().replace(":", "|").splitlines()
    assert drawn == [line.strip() for line in layers]
