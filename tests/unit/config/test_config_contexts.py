"""Contexts files: which one, what stands in it, and how it is changed."""

from __future__ import annotations

import os
import stat
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from anabranch.config import context_file, yaml_file
from anabranch.config import contexts as store
from anabranch.config.contexts import (
    ContextExistsError,
    Contexts,
    Location,
    NoTargetError,
    UnknownContextError,
    context_fields,
    read_context,
)
from anabranch.config.yaml_file import LiteralSecretError, UnreadableFileError
from anabranch.errors import ConfigError, InvalidFieldError
from anabranch.model.cluster import (
    ClientCredentialsLogin,
    ClusterContext,
    PasswordLogin,
    SaslMechanism,
    Security,
    SecurityProtocol,
    Tls,
    TokenLogin,
    UnsupportedSecurityError,
)
from anabranch.model.secrets import SecretKind, SecretRef

pytestmark = pytest.mark.unit

FILE = """
version: 1
target: new
contexts:
  old:
    bootstrap: [old-1:9092, old-2:9092]
  new:
    bootstrap: [new:9093]
    security:
      protocol: SASL_SSL
      tls: {ca_file: ca.pem, cert_file: me.pem, key_file: me.key, key_password_file: key.secret}
      sasl: {mechanism: SCRAM-SHA-512, username: ann, password_env: NEW_PASSWORD}
  cloud:
    bootstrap: [cloud:9093]
    security:
      protocol: SASL_SSL
      sasl:
        mechanism: OAUTHBEARER
        token_url: https://login/token
        client_id: us
        client_secret_env: CLOUD_SECRET
        scope: kafka
  token:
    bootstrap: [cloud:9093]
    security:
      protocol: SASL_SSL
      sasl: {mechanism: OAUTHBEARER, token_file: /run/token}
"""


def write(directory: Path, text: str, name: str = "contexts.yaml") -> Path:
    """A file in a directory that is made for it."""
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def load(path: Path) -> Contexts:
    """The contexts of a file."""
    return store.load(Location(path, "test"))


def sasl(tmp_path: Path, **fields: Any) -> Path:
    """A file with one SASL_SSL context."""
    security = {"protocol": "SASL_SSL", "sasl": fields}
    return write(tmp_path, yaml.safe_dump({"contexts": {"a": {"bootstrap": ["h:1"], "security": security}}}))


def test_a_file_reads_as_contexts(tmp_path: Path) -> None:
    """Every kind of security is read, and paths are relative to the file."""
    found = load(write(tmp_path, FILE))
    assert found.target == "new"
    assert found.get("old") == ClusterContext("old", ("old-1:9092", "old-2:9092"))
    assert found.get("new").security == Security(
        SecurityProtocol.SASL_SSL,
        Tls(
            str(tmp_path / "ca.pem"),
            str(tmp_path / "me.pem"),
            str(tmp_path / "me.key"),
            SecretRef(SecretKind.FILE, str(tmp_path / "key.secret")),
        ),
        PasswordLogin(SaslMechanism.SCRAM_SHA_512, "ann", SecretRef(SecretKind.ENV, "NEW_PASSWORD")),
    )
    secret = SecretRef(SecretKind.ENV, "CLOUD_SECRET")
    assert found.get("cloud").security.login == ClientCredentialsLogin("https://login/token", "us", secret, "kafka")
    assert found.get("token").security.login == TokenLogin(SecretRef(SecretKind.FILE, "/run/token"))


def test_a_context_goes_through_a_job_specification_unchanged(tmp_path: Path) -> None:
    """Fields that are made from a context read as that context, in another directory too."""
    contexts = load(write(tmp_path, FILE)).contexts
    assert list(contexts) == ["old", "new", "cloud", "token"]
    for context in contexts.values():
        assert read_context(context.name, context_fields(context), "job") == context


@pytest.mark.parametrize("field", ["password", "token", "client_secret"])
def test_a_secret_in_the_file_is_refused_and_not_repeated(tmp_path: Path, field: str) -> None:
    """The field is named, the way out is told, and the secret is not shown again."""
    path = sasl(tmp_path, mechanism="PLAIN", username="ann", **{field: "hunter2"})
    with pytest.raises(LiteralSecretError) as caught:
        load(path)
    assert caught.value.message == f"{path}: contexts.a.security.sasl.{field}: a secret must not stand in this file"
    assert f"{field}_env: NAME" in caught.value.hint
    assert "hunter2" not in repr(caught.value) + str(caught.value) + caught.value.hint


@pytest.mark.parametrize("name", ["GSSAPI", "AWS_MSK_IAM"])
def test_an_unsupported_mechanism_is_refused_where_it_stands(tmp_path: Path, name: str) -> None:
    """File, field and mechanism are named."""
    with pytest.raises(UnsupportedSecurityError) as caught:
        load(sasl(tmp_path, mechanism=name))
    assert f"contexts.a.security.sasl.mechanism: SASL mechanism {name!r} is not supported" in caught.value.message


@pytest.mark.parametrize(
    ("fields", "told", "fix"),
    [
        ({"mechanism": "PLAIN", "password_env": "P"}, "username: missing", "username"),
        ({"mechanism": "PLAIN", "username": "a"}, "password_env: missing", "password_file"),
        ({"mechanism": "PLAIN", "username": "a", "password_env": "P", "password_file": "f"}, "too", "keep one"),
        ({"mechanism": "PLAIN", "username": "a", "password_env": "P", "scope": "s"}, "does not take it", "scope"),
        ({"mechanism": "OAUTHBEARER"}, "token_url: missing", "token_env"),
        ({"mechanism": "OAUTHBEARER", "token_url": "u"}, "client_id: missing", "client_id"),
        ({"mechanism": "OAUTHBEARER", "token_url": "u", "client_id": "c"}, "client_secret_env: missing", "_file"),
        ({"mechanism": "OAUTHBEARER", "token_env": "T", "client_id": "c"}, "does not take it", "client_id"),
        ({"mechanism": "PLAIN", "user": "a"}, "sasl.user: unknown field", "token_url, username"),
    ],
)
def test_an_incomplete_login_says_what_is_missing(tmp_path: Path, fields: dict[str, str], told: str, fix: str) -> None:
    """File, field and fix are named."""
    path = sasl(tmp_path, **fields)
    with pytest.raises(InvalidFieldError) as caught:
        load(path)
    assert str(path) in caught.value.message
    assert told in caught.value.message
    assert fix in caught.value.hint


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("contexts: [", "not YAML: line 1"),
        ("- a", "a mapping of fields is wanted"),
        ("version: 2", "version"),
        ("contexts: {a: {bootstrap: []}}", "contexts.a.bootstrap"),
        ("contexts: {a: {bootstrap: h}}", "contexts.a.bootstrap"),
        ("contexts: {a: {bootstrap: [h]}}", "'h' is not host:port"),
        ("contexts: {A: {bootstrap: ['h:1']}}", "not a legal context name"),
        ("target: x", "there is no context 'x'"),
        ("contexts: {a: {bootstrap: ['h:1'], security: {protocol: SSL, tls: {cert_file: c}}}}", "key_file: missing"),
        ("contexts: {a: {bootstrap: ['h:1'], security: {tls: {ca_file: c}}}}", "not encrypted"),
        ("a: !!python/object:os.system {}", "not YAML"),
    ],
)
def test_a_bad_file_is_named_with_its_field(tmp_path: Path, text: str, told: str) -> None:
    """Whatever is wrong, the file stands first and the field after it."""
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))
    assert told in str(caught.value)


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    """A directory and bytes that are no text are told apart."""
    with pytest.raises(UnreadableFileError, match="cannot read it"):
        load(tmp_path)
    (tmp_path / "raw").write_bytes(b"\xff")
    with pytest.raises(UnreadableFileError, match="not UTF-8"):
        load(tmp_path / "raw")


def test_the_file_is_found_by_flag_then_environment_then_project_then_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each place gives way to the one before it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    inner = tmp_path / "project" / "a" / "b"
    inner.mkdir(parents=True)
    environ = {"ANABRANCH_CONTEXTS": "/env.yaml"}
    home = tmp_path / "home" / "anabranch" / "contexts.yaml"
    assert store.locate(None, {}, inner) == Location(home, "user's configuration")
    project = write(tmp_path / "project", "", "anabranch.yaml")
    assert store.locate(None, {}, inner) == Location(project, "project file")
    hidden = write(tmp_path / "project", "", ".anabranch/contexts.yaml")
    assert store.locate(None, {}, inner) == Location(hidden, "project file")
    nearer = write(inner, "", "anabranch.yaml")
    assert store.locate(None, {}, inner) == Location(nearer, "project file")
    assert store.locate(None, environ, inner) == Location(Path("/env.yaml"), "ANABRANCH_CONTEXTS")
    assert store.locate(Path("/flag.yaml"), environ, inner) == Location(Path("/flag.yaml"), "--contexts")


def test_the_target_is_found_by_flag_then_environment_then_file(tmp_path: Path) -> None:
    """A verb acts on the first that is named, and says so if none is."""
    found = load(write(tmp_path, FILE))
    assert found.target_context("old", {"ANABRANCH_TARGET": "cloud"}).name == "old"
    assert found.target_context(None, {"ANABRANCH_TARGET": "cloud"}).name == "cloud"
    assert found.target_context(None, {}).name == "new"
    with pytest.raises(UnknownContextError, match=r"'prod' in .*: it has old, new, cloud, token") as caught:
        found.target_context("prod", {})
    assert caught.value.hint == "anabranch context add prod --bootstrap HOST:PORT"
    with pytest.raises(UnknownContextError) as caught:
        found.target_context("x; rm y", {})
    assert caught.value.hint == "anabranch context add 'x; rm y' --bootstrap HOST:PORT"
    with pytest.raises(NoTargetError, match="no target cluster named"):
        load(tmp_path / "none.yaml").target_context(None, {})


def test_changes_are_saved_whole_and_keep_what_they_do_not_change(tmp_path: Path) -> None:
    """Adding, using and removing rewrite their own part; the file as it was stays beside it."""
    path = tmp_path / "new" / "contexts.yaml"
    first = store.add(load(path), "a", {"bootstrap": ["h:1"]}, replace=False)
    store.save(first)
    store.save(store.use(store.add(load(path), "b", {"bootstrap": ["i:1"]}, replace=False), "b"))
    assert yaml.safe_load(path.read_text()) == {
        "version": 1,
        "contexts": {"a": {"bootstrap": ["h:1"]}, "b": {"bootstrap": ["i:1"]}},
        "target": "b",
    }
    assert yaml.safe_load((path.parent / "contexts.yaml.bak").read_text())["contexts"].keys() == {"a"}
    store.save(store.remove(load(path), "b"))
    assert load(path).target is None
    assert set(load(path).contexts) == {"a"}
    assert sorted(p.name for p in path.parent.iterdir()) == ["contexts.yaml", "contexts.yaml.bak"]
    assert path.stat().st_mode & 0o077 == 0


def test_a_change_that_breaks_the_file_is_not_made(tmp_path: Path) -> None:
    """A context is checked before anything is written."""
    found = load(write(tmp_path, FILE))
    with pytest.raises(ContextExistsError, match="'old' already"):
        store.add(found, "old", {"bootstrap": ["h:1"]}, replace=False)
    assert store.add(found, "old", {"bootstrap": ["h:1"]}, replace=True).get("old").bootstrap == ("h:1",)
    with pytest.raises(InvalidFieldError):
        store.add(found, "bad", {"bootstrap": ["h"]}, replace=False)
    with pytest.raises(LiteralSecretError):
        store.add(found, "bad", {"bootstrap": ["h:1"], "security": {"sasl": {"password": "x"}}}, replace=False)
    for change in (store.use, store.remove):
        with pytest.raises(UnknownContextError):
            change(found, "nobody")


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, or a crash before the new name is taken, changes nothing and leaves nothing behind."""
    path = write(tmp_path, FILE)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UnreadableFileError, match="cannot write it: No space left on device"):
        yaml_file.write(path, {"version": 1})
    assert path.read_text() == FILE
    assert [p.name for p in tmp_path.iterdir()] == ["contexts.yaml"]


def test_a_change_is_on_the_disk_when_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First the new file, then, under its name, the directory: a crash afterwards does not take it back."""
    path = tmp_path / "contexts.yaml"
    seen: list[tuple[bool, bool]] = []
    fsync = os.fsync

    def noted(handle: int) -> None:
        seen.append((stat.S_ISDIR(os.fstat(handle).st_mode), path.exists()))
        fsync(handle)

    monkeypatch.setattr("os.fsync", noted)
    yaml_file.write(path, {"version": 1})
    assert seen == [(False, False), (True, True)]


def test_a_secret_in_a_list_is_refused_too(tmp_path: Path) -> None:
    """Wherever it stands, and nothing of it is repeated."""
    text = "contexts: {a: {bootstrap: [{password: hunter2}]}}"
    with pytest.raises(LiteralSecretError) as caught:
        load(write(tmp_path, text))
    assert caught.value.field == "contexts.a.bootstrap.0.password"
    assert "hunter2" not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize("field", ["password_env: [hunter2]", "username: {hunter2: 1}", "pass: hunter2"])
def test_what_stands_in_a_wrong_field_is_not_repeated(tmp_path: Path, field: str) -> None:
    """It may be a secret that was written at the wrong place; the field is named, and what is wrong with it."""
    text = f"contexts: {{a: {{bootstrap: ['h:1'], security: {{sasl: {{mechanism: PLAIN, {field}}}}}}}}}"
    with pytest.raises(InvalidFieldError) as caught:
        load(write(tmp_path, text))
    assert caught.value.field == f"contexts.a.security.sasl.{field.partition(':')[0]}"
    assert "hunter2" not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "[" * 600,
        "- " * 600,
        "a: &x [*x]",
        "a: 2024-13-45",
        "a: " + "9" * 5000,
        "a: !!int hunter2",
        "a: !!float hunter2",
        "a: !!bool hunter2",
        "a: !!timestamp hunter2",
        "a: !!python/object:os.system {}",
        "? [1]\n: 2",
    ],
    ids=lambda text: text[:20],
)
def test_what_yaml_makes_no_value_of_is_refused(tmp_path: Path, text: str) -> None:
    """Without end, within itself, or of no kind; and nothing of it is repeated."""
    with pytest.raises(UnreadableFileError) as caught:
        load(write(tmp_path, text))
    assert caught.value.message.startswith(f"{tmp_path / 'contexts.yaml'}: ")
    assert "hunter2" not in caught.value.message


values = st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x))


def parsed(raw: dict[str, Any]) -> dict[str, ClusterContext] | None:
    """The contexts, which read again from their own fields; None where they are refused, with the file's name."""
    refused = None
    try:
        target, contexts = context_file.parse(raw, Path("f.yaml"))
    except ConfigError as error:
        refused = error
    if refused is not None:
        assert str(refused).startswith("f.yaml: ")
        return None
    assert target is None or target in contexts
    for name, context in contexts.items():
        assert read_context(name, context_fields(context), "again") == context
    return contexts


@given(values)
@example({})
@example({"a": {"bootstrap": ["h:1"]}})
def test_no_value_breaks_the_reader_otherwise(value: Any) -> None:
    """Whatever stands at the top, under contexts or for one context: contexts, or an error that names the file."""
    good = {"bootstrap": ["h:1"]}
    assert parsed({"contexts": {"good": good}}) == {"good": ClusterContext("good", ("h:1",))}
    for raw in (
        value if isinstance(value, dict) else {},
        {"contexts": value},
        {"contexts": {"good": good, "x": value}},
    ):
        contexts = parsed(raw)
        named = raw.get("contexts")
        assert contexts is None or contexts.keys() == (named or {}).keys()


@pytest.mark.parametrize("other", [None, True, 3, 1.5, "x", "", [], ["x"], {}, {"x": "y"}], ids=repr)
def test_a_part_of_a_file_that_was_altered_is_taken_or_named(other: Any) -> None:
    """Every field of every context, against every kind of value; the other contexts stay as they are."""
    unaltered = yaml.safe_load(FILE)
    whole = parsed(unaltered)
    assert whole is not None and len(whole) == 4
    taken = refused = 0
    for name in whole:
        for path in _fields(unaltered["contexts"][name]):
            raw = deepcopy(unaltered)
            where = raw["contexts"][name]
            for part in path[:-1]:
                where = where[part]
            where[path[-1]] = other
            contexts = parsed(raw)
            taken, refused = taken + (contexts is not None), refused + (contexts is None)
            if contexts is None:
                with pytest.raises(ConfigError, match=rf"contexts\.{name}\b"):
                    context_file.parse(raw, Path("f.yaml"))
            else:
                assert {**contexts, name: None} == {**whole, name: None}
    assert refused >= 12
    assert taken >= (3 if isinstance(other, str) and other else 0)


def _fields(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The way to every part of a YAML value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [one for key, part in inside for one in ((*path, key), *_fields(part, (*path, key)))]
