"""A saved version with another grouping key, tried by the service on its stream's checkpoints, with real Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.service.trial_process import start_trial
from qa.service import Served, serving, until
from tests.integration.console import console
from tests.integration.streams.test_granted_life import stream

pytestmark = pytest.mark.full

NAME = "buckets"
SCRIPT = """CREATE TABLE numbers USING `rate-micro-batch` OPTIONS (rowsPerBatch '5');
CREATE TABLE shown USING console OPTIONS (output.mode 'update');
INSERT INTO shown SELECT {key} AS bucket, count(*) AS c FROM STREAM numbers GROUP BY {key};
"""
KEYS = ("value % 3", "value % 5", "CAST(value % 3 AS STRING)")


def first(served: Served) -> dict[str, object]:
    """The stream's only query, as its open run has told of it."""
    (found,) = served.get(f"/api/v1/streams/{NAME}", "viewer")["stream"]["queries"] or [{}]
    return dict(found)


def test_a_version_with_another_key_is_told_in_words_what_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While the stream runs: what would mean something else, what Spark refuses, and what is as it was."""
    with serving(str(tmp_path / "store.db"), {}, tmp_path, tries=start_trial) as served:
        until(lambda: served.instance.acting.acts)
        stream(served, "admin", "create", stream=NAME, script=SCRIPT.format(key=KEYS[0]), restarts=0)
        stream(served, "admin", "start", stream=NAME)
        try:
            until(lambda: int(str(first(served).get("batch") or 0)) >= 1)
            for key in KEYS[1:]:
                stream(served, "admin", "edit", stream=NAME, script=SCRIPT.format(key=key))
            monkeypatch.setenv("ANABRANCH_SERVICE", f"http://127.0.0.1:{served.port}")
            monkeypatch.setenv("ANABRANCH_TOKEN", served.tokens["operator"])
            run = console({}, tmp_path, monkeypatch, capsys, "stream")
            told = {number: run("try", f"{NAME}@{number}") for number in (1, 2, 3)}
        finally:
            stream(served, "admin", "stop", stream=NAME)
            until(lambda: served.get(f"/api/v1/streams/{NAME}", "viewer")["stream"]["state"] in ("stopped", "failed"))
    words = {number: " ".join(out.split()) for number, (_, out, _) in told.items()}
    assert [told[number][0] for number in (1, 2, 3)] == [0, 3, 3], told
    assert "is what ran last" in words[1]
    assert "would go on, and mean something else" in words[2]
    assert "key numbers.value % CAST(3 AS long) became numbers.value % CAST(5 AS long)" in words[2], words[2]
    assert "does not go on" in words[3] and "aggregation: key" in words[3], words[3]
