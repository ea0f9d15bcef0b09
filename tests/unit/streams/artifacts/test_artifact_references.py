"""Which artifacts a script names."""

from __future__ import annotations

import pytest

from anabranch.errors import InvalidFieldError
from anabranch.streams.artifacts.errors import TwoArtifactVersionsError
from anabranch.streams.artifacts.references import (
    ArtifactReference,
    FunctionHandler,
    handler,
    reference,
    references,
    resources,
)

pytestmark = pytest.mark.unit

SCRIPT = """
-- CREATE FUNCTION a AS 'x' USING JAR 'artifact:comment'
CREATE OR REPLACE TEMPORARY FUNCTION `using` AS 'text.clean' USING
    FILE 'artifact:text@2', /* jar 'artifact:b' */ FILE 'b.py';
create function shout as "acme.Shout" using jar "artifact:acme";
CREATE FUNCTION plus(x INT) RETURNS STRING RETURN 'USING JAR';
CREATE FUNCTION IF NOT EXISTS again AS 'text.other' USING FILE 'artifact:text@2';
SELECT 'USING JAR', JAR 'artifact:select' FROM t
"""


def test_functions_name_their_resources() -> None:
    """Comments, texts and other statements name none; each is named once."""
    assert resources(SCRIPT) == ("artifact:text@2", "b.py", "artifact:acme")
    assert references(SCRIPT) == (ArtifactReference("text", 2), ArtifactReference("acme"))


def test_two_versions_of_one_artifact_are_refused() -> None:
    """Also where one of them is the newest: a process has one."""
    with pytest.raises(TwoArtifactVersionsError):
        references(
            "CREATE FUNCTION a AS 'x.y' USING FILE 'artifact:t@1'; CREATE FUNCTION b AS 'x.z' USING FILE 'artifact:t'"
        )


@pytest.mark.parametrize("text", ["artifact:", "artifact:A", "artifact:a@0", "artifact:a@x", "artifact:../a", "a"])
def test_what_names_no_artifact_is_refused(text: str) -> None:
    """Names are lower case, versions are from 1."""
    with pytest.raises(InvalidFieldError):
        reference(text)


def test_a_function_may_say_what_it_returns() -> None:
    """After its name, as SQL writes it."""
    assert handler("text.clean") == FunctionHandler("text.clean")
    assert handler(" text.clean  returns DECIMAL(10, 2) ") == FunctionHandler("text.clean", "DECIMAL(10, 2)")
    assert str(reference("artifact:a.b-c@12")) == "artifact:a.b-c@12"
    with pytest.raises(InvalidFieldError):
        handler("text clean")
