"""The command line of a link's job."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.model.runevents import LogFormat


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """What a run was asked for; ``settings`` are Spark's, ``master`` None leaves it to ``spark-submit``."""

    spec: Path
    master: str | None = None
    checkpoint: str | None = None
    slots: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    tied: bool = False
    log: Path | None = None
    log_format: LogFormat = LogFormat.TEXT

    @classmethod
    def of(cls, description: str, arguments: list[str] | None = None) -> LinkOptions:
        """Of the arguments, None is those of the process; ends it where they are wrong."""
        parser = argparse.ArgumentParser(prog="anabranch-link-job", description=description)
        parser.add_argument("spec", type=Path)
        parser.add_argument("--master")
        parser.add_argument("--checkpoint")
        parser.add_argument("--slots", type=int, help="at most so many tasks, of as many as there are cores")
        parser.add_argument("--conf", action="append", default=[], type=_setting, metavar="KEY=VALUE")
        parser.add_argument("--tied", action="store_true")
        parser.add_argument("--log", type=Path)
        parser.add_argument("--log-format", type=LogFormat, default=LogFormat.TEXT)
        given = vars(parser.parse_args(arguments))
        return cls(settings=dict(given.pop("conf")), **given)


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value
