"""Functions of the catalog from their definition to a running job, through the service: grants, pins and lineage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anabranch.operations.artifacts.desk import ArtifactSettings
from anabranch.service.trial_process import start_trial
from qa.service import Served, serving, until
from tests.integration.console import console
from tests.integration.streams.test_catalog import create, do
from tests.integration.streams.test_granted_life import stream

pytestmark = pytest.mark.full

NAME = "priced"
DEFINED = """CREATE DATABASE shop;
CREATE TABLE shop.clicks USING `rate-micro-batch` OPTIONS (rowsPerBatch '5');
CREATE TABLE shop.rates (code STRING, rate DOUBLE) USING json OPTIONS (path '{rates}');
CREATE TABLE shop.out (label STRING, rate DOUBLE) USING console;
CREATE FUNCTION shop.label AS 'labels.label' USING FILE 'artifact:labels';
CREATE FUNCTION shop.rate_of(c STRING) RETURNS DOUBLE RETURN (SELECT max(r.rate) FROM shop.rates r WHERE r.code = c);
"""
SCRIPT = "INSERT INTO shop.out SELECT shop.label(value) AS label, shop.rate_of('eur') AS rate FROM STREAM shop.clicks"


def shown(served: Served) -> dict[str, object]:
    """The stream."""
    return dict(served.get(f"/api/v1/streams/{NAME}", "viewer")["stream"])


def test_a_stream_calls_functions_with_the_grants_of_its_author(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused without a grant on what a function reads, run with it, and pinned to what it was saved with."""
    (tmp_path / "rates").mkdir()
    (tmp_path / "rates" / "rows.json").write_text(json.dumps({"code": "eur", "rate": 2.5}), encoding="utf-8")
    (tmp_path / "labels.py").write_text("def label(n: int) -> str:\n    return f'n{n}'\n", encoding="utf-8")
    kept = ArtifactSettings(str(tmp_path / "kept"))
    with serving(str(tmp_path / "store.db"), {}, tmp_path, tries=start_trial, artifacts=kept) as served:
        until(lambda: served.instance.acting.acts)
        monkeypatch.setenv("ANABRANCH_SERVICE", f"http://127.0.0.1:{served.port}")
        monkeypatch.setenv("ANABRANCH_TOKEN", served.tokens["admin"])
        artifact = console({}, tmp_path, monkeypatch, capsys, "artifact")
        assert artifact("upload", "labels", str(tmp_path / "labels.py"))[0] == 0
        create(served, "admin", DEFINED.format(rates=tmp_path / "rates"))
        given = [("read", name) for name in ("shop.clicks", "shop.label", "shop.rate_of")]
        for privilege, name in (*given, ("write", "shop.out")):
            do(served, "admin", "grant", privilege=privilege, name=name, principal="user:operator")
        request = {"stream": NAME, "script": SCRIPT, "restarts": 0}
        refused = served.ask("POST", "/api/v1/streams/create/plan", request, role="operator").json
        assert (refused["status"], refused["detail"]) == (403, "operator may not read shop.rates"), refused
        assert not refused["retryable"]
        do(served, "admin", "grant", privilege="read", name="shop.rates", principal="user:operator")
        stream(served, "operator", "create", **request)
        stream(served, "operator", "start", stream=NAME)
        try:
            until(lambda: shown(served)["state"] in ("running", "failed"))
            assert shown(served)["state"] == "running", shown(served)["why"]
            until(lambda: served.ask("GET", f"/api/v1/streams/{NAME}/lineage", role="operator").status == 200)
            lineage = served.get(f"/api/v1/streams/{NAME}/lineage", "operator")
            assert lineage["functions"] == [{"function": "shop.label", "artifact": "labels@1"}]
            (insert,) = lineage["inserts"]
            assert set(insert["sources"]) == {"shop.clicks", "shop.rates"}
            code, out, _ = console({}, tmp_path, monkeypatch, capsys, "stream")("lineage", NAME)
            assert code == 0 and "it calls shop.label of artifact labels@1" in out
        finally:
            stream(served, "admin", "stop", stream=NAME)
            until(lambda: shown(served)["state"] in ("stopped", "failed"))
        do(served, "admin", "revoke", privilege="read", name="shop.label", principal="user:operator")
        stream(served, "operator", "start", stream=NAME)
        until(lambda: shown(served)["state"] == "failed")
        assert str(shown(served)["why"]).startswith("operator may not use shop.label")
