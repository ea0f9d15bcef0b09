"""Functions of artifacts in the lineage of a stream: which version of what they are."""

from __future__ import annotations

import pytest
from rich.console import Console

from anabranch.cli.streams.render_lineage import stream
from anabranch.operations.documents import plain
from anabranch.service.lineage_answers import LineageFunction, stream_lineage
from anabranch.streams.artifacts.values import ArtifactFile, ArtifactKind, ArtifactPin, PinnedFunction
from anabranch.streams.lineage.document import StoredLineage, VersionLineage

pytestmark = pytest.mark.unit


def test_lineage_names_the_functions_that_artifacts_bring() -> None:
    """With the version of the artifact that runs; what a script names itself is in its text."""
    content = ArtifactFile("text.py", "0f" * 32, 5)
    called = PinnedFunction("shop.clean", "CREATE FUNCTION shop.clean AS 'text.clean' USING FILE 'artifact:text'")
    pins = (
        ArtifactPin("text", 2, ArtifactKind.PYTHON, content, (), (called,)),
        ArtifactPin("own", 1, ArtifactKind.PYTHON, content),
    )
    told = stream_lineage(StoredLineage("counts", 3, 5, {}), VersionLineage(()), lambda _: True, pins)
    assert told.functions == (LineageFunction("shop.clean", "text@2"),)
    console = Console(width=100)
    with console.capture() as shown:
        console.print(stream(plain(told), None))
    assert "it calls shop.clean of artifact text@2" in shown.get()
