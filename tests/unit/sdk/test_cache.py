"""Routes on disk: what is found again, for whom, and what is not written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.cluster import PasswordLogin, SaslMechanism, Security, SecurityProtocol
from anabranch.model.routing import ClientRole, Route, RouteQuery
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.sdk import cache
from anabranch.sdk.cache import RouteCache
from tests.chance import examples

pytestmark = pytest.mark.unit
LOGIN = PasswordLogin(SaslMechanism.PLAIN, "shop", SecretRef(SecretKind.ENV, "SHOP_PASSWORD"))
SECURED = Security(SecurityProtocol.SASL_PLAINTEXT, None, LOGIN)
SERVICE = "https://routes.example.com"


def route(cluster: str, topics: tuple[str, ...] = (), version: int = 1) -> Route:
    """A route that leads there."""
    names = {topic: f"{cluster}.{topic}" for topic in topics}
    return Route("orders", cluster, (f"{cluster}:9092",), SECURED, names, True, True, "", version, version)


def query(*topics: str, group: str = "g") -> RouteQuery:
    """A consumer's."""
    return RouteQuery("orders", ClientRole.CONSUMER, topics, group, "", {"site": "north"})


def test_what_was_told_is_found_with_its_age(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C3, by the wall clock, which outlives the process."""
    monkeypatch.setattr(cache, "now_ms", lambda: 1_000_000)
    RouteCache(tmp_path, SERVICE).keep(query("a"), route("old", ("a",)))
    monkeypatch.setattr(cache, "now_ms", lambda: 1_042_000)
    found = RouteCache(tmp_path, SERVICE).find(query("a"))
    assert found is not None
    assert (found.route, found.age_s) == (route("old", ("a",)), 42.0)


def test_nobody_gets_the_route_of_another(tmp_path: Path) -> None:
    """Another group, other parameters, another service, topics that were not told: none."""
    RouteCache(tmp_path, SERVICE).keep(query("a"), route("old", ("a",)))
    kept = RouteCache(tmp_path, SERVICE)
    assert kept.find(query("a", group="h")) is None
    assert kept.find(query("a", "b")) is None
    assert kept.find(query()) is None
    assert RouteCache(tmp_path, "https://elsewhere.example.com").find(query("a")) is None


def test_a_file_that_cannot_be_read_is_no_route(tmp_path: Path) -> None:
    """Torn, of another format, or of another shape: it is asked for again and written anew."""
    kept = RouteCache(tmp_path, SERVICE)
    kept.keep(query("a"), route("old", ("a",)))
    (file,) = tmp_path.iterdir()
    whole = json.loads(file.read_text())
    for text in ("", "{", "[]", '{"format": 2}', json.dumps({**whole, "answers": [{"route": {}}, 7]})):
        file.write_text(text)
        assert kept.find(query("a")) is None
    kept.keep(query("a"), route("new", ("a",)))
    assert kept.find(query("a")) is not None


def test_no_secret_is_written_and_files_are_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C4: the reference is, by which this machine finds it."""
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    where = tmp_path / "cache"
    RouteCache(where, SERVICE).keep(query("a"), route("old", ("a",)))
    (file,) = where.iterdir()
    text = file.read_text()
    assert "SHOP_PASSWORD" in text and "hunter2" not in text
    assert (file.stat().st_mode & 0o077, where.stat().st_mode & 0o077) == (0, 0)


_TOPICS = st.lists(st.sampled_from("abcd"), max_size=3, unique=True).map(tuple)
_TOLD = st.lists(st.tuples(_TOPICS, st.sampled_from(["old", "new"])), max_size=12)


@examples(150)
@given(_TOLD, _TOPICS)
def test_an_answer_is_the_newest_that_was_told_for_all_of_the_topics(
    tmp_path_factory: pytest.TempPathFactory, told: list[tuple[tuple[str, ...], str]], asked: tuple[str, ...]
) -> None:
    """C2, against what was told, the last first; what has been pushed out is none."""
    kept = RouteCache(tmp_path_factory.mktemp("cache"), SERVICE)
    for version, (topics, cluster) in enumerate(told, 1):
        kept.keep(query(*topics), route(cluster, topics, version))
    found = kept.find(query(*asked))
    fitting = [
        (version, topics, cluster)
        for version, (topics, cluster) in enumerate(told, 1)
        if (set(asked) <= set(topics) if asked else not topics)
    ]
    if not fitting:
        assert found is None
    elif found is not None:
        version, _, cluster = fitting[-1]
        assert found.route == route(cluster, asked, version)
    else:
        assert len(told) > 8
