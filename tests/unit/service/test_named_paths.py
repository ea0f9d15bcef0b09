"""Paths that a request names: below what is open, or refused; no path is an error of the service's own."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from anabranch.service.errors import PathNotOpenError
from anabranch.service.job_settings import JobSettings
from anabranch.service.reach import Reach

pytestmark = pytest.mark.unit


def reach_of(root: Path) -> Reach:
    """What verbs are handed, with nothing but the paths that may be named."""
    given: dict[str, Any] = dict.fromkeys((one.name for one in fields(Reach)), None)
    given |= {"roots": (str(root / "open"),), "jobs": JobSettings("local[2]", "local[2]", root / "jobs")}
    return Reach(**given)


def test_a_place_below_what_is_open_is_told_without_its_links(tmp_path: Path) -> None:
    """As it is opened."""
    (tmp_path / "open" / "there").mkdir(parents=True)
    os.symlink(tmp_path / "open" / "there", tmp_path / "link")
    assert reach_of(tmp_path).place(str(tmp_path / "link" / "cp")) == str(tmp_path / "open" / "there" / "cp")


@pytest.mark.parametrize("name", ["\0", "a\0b", "~\0/a", "s3://bucket/a\0b", "itself", "../closed"])
def test_a_path_that_leads_nowhere_is_not_opened(tmp_path: Path, name: str) -> None:
    """Whatever a path may hold, it is a refusal: by the place of a checkpoint, and of a file of maps."""
    (tmp_path / "open").mkdir()
    os.symlink(tmp_path / "open" / "itself", tmp_path / "open" / "itself")
    path = name if name.startswith(("~", "s3:")) else f"{tmp_path}/open/{name}"
    with pytest.raises(PathNotOpenError):
        reach_of(tmp_path).place(path)
    with pytest.raises(PathNotOpenError):
        reach_of(tmp_path).maps_file(path)
