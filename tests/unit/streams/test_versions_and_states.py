"""What differs between two versions of a stream is told, and which states a failed one comes to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.streams.artifacts.values import ArtifactFile, ArtifactKind, ArtifactPin, PinnedFunction
from anabranch.streams.states import StreamState, StreamStateError, check_follows
from anabranch.streams.versions import StreamVersion, diff

pytestmark = pytest.mark.unit

CLEAN = PinnedFunction("clean", "CREATE FUNCTION clean\n  AS 'text.clean'")
PIN = ArtifactPin("text", 1, ArtifactKind.PYTHON, ArtifactFile("text.py", "a" * 64, 7), functions=(CLEAN,))
FIRST = StreamVersion(1, 1, "mei", "", "SELECT 1", artifacts=(PIN,))


def test_another_function_by_the_same_name_is_another_version() -> None:
    """The script that calls it is the same, and so is the file that it comes from."""
    other = replace(CLEAN, statement="CREATE FUNCTION clean AS 'text.strip'")
    second = replace(FIRST, number=2, artifacts=(replace(PIN, functions=(other,)),))
    changed = [line for line in diff(FIRST, second)[2:] if line.startswith(("+", "-"))]
    assert changed == [
        "--- function clean: CREATE FUNCTION clean AS 'text.clean'",
        "+-- function clean: CREATE FUNCTION clean AS 'text.strip'",
    ]
    assert list(diff(FIRST, replace(FIRST, number=2))) == []


@pytest.mark.parametrize("after", StreamState)
def test_a_failed_stream_is_left_by_a_person_alone(after: StreamState) -> None:
    """L2: it is started, or noted as stopped; what is still heard of its run brings it nowhere."""
    if after in (StreamState.FAILED, StreamState.STARTING, StreamState.STOPPED):
        check_follows(StreamState.FAILED, after)
        return
    with pytest.raises(StreamStateError, match=f"a stream that is failed cannot become {after.value}"):
        check_follows(StreamState.FAILED, after)
