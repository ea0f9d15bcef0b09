"""Trees of files: one suite for this machine and for object stores, and what only one of them promises."""

from __future__ import annotations

import os
import pickle
import stat
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.checkpoints.errors import FileTooLargeError, MissingFileError
from anabranch.storage import paths
from anabranch.storage.errors import LoginInPathError, NoBucketError, NoDriverError, OutsidePathError, StorageError
from anabranch.storage.files import StoredFiles
from anabranch.storage.local import LocalFiles
from anabranch.storage.opening import open_files
from anabranch.storage.remote import RemoteFiles

pytestmark = pytest.mark.unit

LIMIT = 1000


@pytest.fixture(params=["path", "file", "memory", "renaming"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> StoredFiles:
    """An empty tree of each kind."""
    place = {
        "path": str(tmp_path / "cp"),
        "file": f"file://{tmp_path}/cp",
        "memory": f"memory://{uuid.uuid4().hex}/cp",
        "renaming": f"memory://{uuid.uuid4().hex}/cp",
    }[request.param]
    found = open_files(place)
    if isinstance(found, RemoteFiles):
        found.renames = request.param == "renaming"
    return found


def names(files: StoredFiles, path: str = "") -> list[str]:
    """The names of a directory's children."""
    return [entry.name for entry in files.list(path)]


def test_what_is_put_is_read(files: StoredFiles) -> None:
    """A file that was put has these bytes, its size, its digest and a time; put again it has the new ones."""
    files.put("offsets/0", b"one")
    files.put("offsets/0", b"three")
    entry = files.stat("offsets/0")
    assert entry is not None
    assert (entry.name, entry.size, entry.is_directory) == ("0", 5, False)
    assert entry.modified_ms > 1_600_000_000_000
    assert files.read("offsets/0", LIMIT) == b"three"
    assert files.digest("offsets/0") == "8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f"


def test_hidden_files_are_listed_and_directories_told_apart(files: StoredFiles) -> None:
    """A listing has every child by name, hidden ones too, and leaves no temporary file behind."""
    for path in ("offsets/1", "offsets/.1.crc", "offsets/0", "metadata"):
        files.put(path, b"x")
    assert names(files, "offsets") == [".1.crc", "0", "1"]
    assert [(entry.name, entry.is_directory) for entry in files.list()] == [("metadata", False), ("offsets", True)]
    assert [path for path, _ in files.walk()] == ["metadata", "offsets/.1.crc", "offsets/0", "offsets/1"]


def test_what_is_not_there_is_said_so(files: StoredFiles) -> None:
    """A missing directory is empty, a missing file has no entry and no digest, and reading it names it."""
    assert files.list("nothing") == []
    assert files.stat("nothing/0") is None
    assert files.digest("nothing") is None
    with pytest.raises(MissingFileError, match="nothing/0 is not there"):
        files.read("nothing/0", LIMIT)
    files.put("offsets/0", b"x")
    with pytest.raises(MissingFileError):
        files.read("offsets", LIMIT)


def test_a_large_file_is_not_read(files: StoredFiles) -> None:
    """More than the limit is refused with both numbers; the limit itself is read."""
    files.put("big", b"x" * 11)
    assert len(files.read("big", 11)) == 11
    with pytest.raises(FileTooLargeError, match="11 bytes, at most 10"):
        files.read("big", 10)


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd", "a//b", ".", "a/.", "a\0b"])
def test_paths_stay_inside(files: StoredFiles, path: str) -> None:
    """No verb takes a path that leads out of the tree."""
    for act in (files.list, files.stat, files.digest, files.delete, files.delete_tree, lambda p: files.put(p, b"")):
        with pytest.raises(OutsidePathError):
            act(path)


@given(st.text(alphabet="./a\0", max_size=8))
def test_a_path_within_stays_within_whatever_it_is_joined_to(path: str) -> None:
    """A path that is taken never names anything above its root."""
    if paths.within(path):
        assert os.path.normpath(f"/r/{path}").startswith("/r")


def test_deleting_takes_away_and_twice_is_once(files: StoredFiles) -> None:
    """A deleted file is gone, deleting it again does nothing, and a tree goes with its directories."""
    files.put("a/b/c", b"x")
    files.put("a/d", b"x")
    files.put("e", b"x")
    files.delete("a/d")
    files.delete("a/d")
    assert [path for path, _ in files.walk()] == ["a/b/c", "e"]
    files.delete_tree("a")
    files.delete_tree("a")
    assert names(files) == ["e"]


def test_copies_are_equal_between_all_kinds(files: StoredFiles, tmp_path: Path) -> None:
    """A file is copied from any tree to any other."""
    files.put("state/0/1.delta", b"\0\1" * 100)
    for place in (str(tmp_path / "other"), f"memory://{uuid.uuid4().hex}"):
        other = open_files(place)
        other.copy("state/0/1.delta", files)
        assert other.read("state/0/1.delta", LIMIT) == b"\0\1" * 100


def test_a_file_elsewhere_is_read_by_its_absolute_name(tmp_path: Path) -> None:
    """Local checkpoints name local files in both of Java's forms, and those of stores."""
    (tmp_path / "state").write_bytes(b"handle")
    files = open_files(str(tmp_path / "cp"))
    for name in (f"{tmp_path}/state", f"file:{tmp_path}/state", f"file://{tmp_path}/state"):
        assert files.read_foreign(name, LIMIT) == b"handle"
    store = open_files(f"memory://{uuid.uuid4().hex}")
    store.put("state", b"far")
    assert files.read_foreign(f"{store.absolute}/state", LIMIT) == b"far"
    with pytest.raises(MissingFileError, match="gone"):
        files.read_foreign(f"{tmp_path}/gone", LIMIT)


@pytest.mark.parametrize("name", ["/etc/hostname", "file:///etc/hostname", "http://127.0.0.1/x", "state/x"])
def test_a_checkpoint_in_a_store_names_no_file_of_this_machine(name: str) -> None:
    """What a foreign savepoint says is not trusted: nothing of this machine or of the web is opened for it."""
    with pytest.raises(OutsidePathError):
        open_files("memory://x").read_foreign(name, LIMIT)


def test_links_that_lead_out_are_refused(tmp_path: Path) -> None:
    """A symbolic link out of the tree is neither read nor written through; one inside is as the file itself."""
    (tmp_path / "secret").write_bytes(b"secret")
    root = tmp_path / "cp"
    (root / "offsets").mkdir(parents=True)
    (root / "offsets" / "0").symlink_to(tmp_path / "secret")
    (root / "commits").symlink_to(tmp_path)
    (root / "real").write_bytes(b"x")
    (root / "same").symlink_to("real")
    (root / "nowhere").symlink_to("gone")
    files = open_files(str(root))
    assert files.read("same", LIMIT) == b"x"
    assert "nowhere" not in names(files)
    for act in (
        lambda: files.read("offsets/0", LIMIT),
        lambda: files.put("commits/0", b""),
        lambda: files.list("commits"),
    ):
        with pytest.raises(OutsidePathError):
            act()
    assert (tmp_path / "secret").read_bytes() == b"secret"


def test_a_file_keeps_its_mode_and_gets_the_time_that_it_is_given(tmp_path: Path) -> None:
    """The engine's own user can still read what was written, and a restored file has its former time."""
    path = tmp_path / "0"
    path.write_bytes(b"old")
    path.chmod(0o640)
    open_files(str(tmp_path)).put("0", b"new", via=".anabranch/x", modified_ms=1_700_000_000_123)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.stat().st_mtime_ns == 1_700_000_000_123_000_000


@pytest.fixture
def dies_at_rename(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends where a file would become visible."""

    def die(_source: object, _target: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", die)


@pytest.mark.usefixtures("dies_at_rename")
def test_a_write_that_dies_before_its_rename_leaves_the_old_file(tmp_path: Path) -> None:
    """Until the one moment at which it becomes visible, a write has changed nothing."""
    (tmp_path / "0").write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        LocalFiles(str(tmp_path), str(tmp_path)).put("0", b"new")
    assert (tmp_path / "0").read_bytes() == b"old"


@pytest.mark.usefixtures("dies_at_rename")
def test_a_write_that_dies_leaves_its_temporary_file_where_it_was_told_to(tmp_path: Path) -> None:
    """A directory that an engine lists has no file of ours in it."""
    with pytest.raises(KeyboardInterrupt):
        LocalFiles(str(tmp_path), str(tmp_path)).put("offsets/0", b"new", via=".anabranch/new/0")
    assert [path for path, _ in LocalFiles(str(tmp_path), str(tmp_path)).walk()] == [".anabranch/new/0"]


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is forced to the disk below a directory, and what is renamed there, in its order."""
    done: list[str] = []

    def sync(number: int) -> None:
        found = os.fstat(number)
        names = (path for path in (tmp_path, *tmp_path.rglob("*")) if path.stat().st_ino == found.st_ino)
        name = next(names).relative_to(tmp_path)
        done.append(f"directory {name}" if stat.S_ISDIR(found.st_mode) else f"{found.st_size} bytes")

    def note(move: Callable[[Path, Path], None]) -> Callable[[Path, Path], None]:
        def renamed(old: Path, new: Path) -> None:
            move(old, new)
            done.append(f"rename to {Path(new).relative_to(tmp_path)}")

        return renamed

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", note(os.replace))
    monkeypatch.setattr(os, "rename", note(os.rename))
    return done


def test_a_file_is_on_the_disk_when_it_is_told(tmp_path: Path, disk: list[str]) -> None:
    """First its bytes, then its name, then the directory that has the name; so is a file that was taken away."""
    files, other = (LocalFiles(str(tmp_path / name), str(tmp_path / name)) for name in ("cp", "other"))
    files.put("offsets/0", b"three")
    assert disk == ["5 bytes", "rename to cp/offsets/0", "directory cp/offsets"]
    disk.clear()
    other.copy("offsets/0", files)
    assert disk == ["5 bytes", "rename to other/offsets/0", "directory other/offsets"]
    disk.clear()
    files.delete("offsets/0")
    assert disk == ["directory cp/offsets"]


def test_a_tree_is_on_the_disk_before_it_becomes_another_place(tmp_path: Path, disk: list[str]) -> None:
    """Hard links are names only, so that each directory is synced; then the rename, then where it is."""
    old, part, place = (LocalFiles(str(tmp_path / name), str(tmp_path / name)) for name in ("old", "part", "place"))
    old.put("state/0/1.delta", b"x")
    assert part.link("state/0/1.delta", old)
    disk.clear()
    part.become(place)
    assert sorted(disk[:3]) == ["directory part", "directory part/state", "directory part/state/0"]
    assert disk[3:] == ["rename to place", "directory ."]


def test_a_rename_that_a_store_refused_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """WebHDFS answers that somebody else's file is in the way, and its driver does not read that."""
    files = open_files(f"memory://{uuid.uuid4().hex}/cp")
    assert isinstance(files, RemoteFiles)
    files.renames = True
    files.put("offsets/0", b"old")
    monkeypatch.setattr(files._fs, "mv", lambda temporary, target: files._fs.pipe_file(target, b"theirs"))
    with pytest.raises(StorageError, match="written by somebody else"):
        files.put("offsets/0", b"new")
    assert files.read("offsets/0", LIMIT) == b"theirs"


def test_hard_links_share_and_say_where_they_cannot(tmp_path: Path) -> None:
    """A linked file is the same one; where something is already there the answer is no."""
    old, new = (LocalFiles(str(tmp_path / name), str(tmp_path / name)) for name in ("old", "new"))
    old.put("state/1.delta", b"x")
    assert new.link("state/1.delta", old)
    assert (tmp_path / "old/state/1.delta").samefile(tmp_path / "new/state/1.delta")
    assert not new.link("state/1.delta", old)


def test_a_tree_becomes_another_place_at_once(tmp_path: Path) -> None:
    """The directory is renamed whole; where something is, nothing is overwritten."""
    part, place = (LocalFiles(str(tmp_path / name), str(tmp_path / name)) for name in ("part", "place"))
    part.put("a", b"x")
    part.become(place)
    assert place.read("a", LIMIT) == b"x"
    part.put("a", b"y")
    with pytest.raises(StorageError, match="cannot rename to"):
        part.become(place)
    assert place.read("a", LIMIT) == b"x"


@pytest.mark.parametrize(
    ("place", "package"), [("gs://b/x", "gcsfs"), ("abfs://b/x", "adlfs"), ("abfss://c@b/x", "adlfs")]
)
def test_a_missing_driver_names_its_package(place: str, package: str) -> None:
    """Stores need a package of their own; the error says which."""
    with pytest.raises(NoDriverError) as told:
        open_files(place)
    assert told.value.hint == f"pip install {package}"
    assert str(pickle.loads(pickle.dumps(told.value))) == str(told.value)


def test_an_unknown_kind_is_said_so() -> None:
    """A kind of storage that nobody knows is no crash."""
    with pytest.raises(NoDriverError, match="nope:// is no kind of storage"):
        open_files("nope://x/y")


def test_a_store_that_cannot_be_reached_is_said_so_without_the_login() -> None:
    """Whatever a driver raises is one refusal, whose text and fields hold no password."""
    with pytest.raises(StorageError, match="cannot reach it") as told:
        open_files("ftp://someone:hunter2@127.0.0.1:1/cp")
    assert "hunter2" not in f"{told.value}{told.value.hint}{told.value!r}"


def test_a_login_in_a_place_is_never_shown() -> None:
    """Messages name the place without user, password and token."""
    assert paths.shown("s3://key:secret@bucket/cp?token=abc") == "s3://bucket/cp"
    with pytest.raises(LoginInPathError, match="s3://bucket/cp: the login") as told:
        open_files("s3://key:hunter2@bucket/cp")
    assert "hunter2" not in f"{told.value}{told.value.hint}{told.value!r}"


@pytest.mark.parametrize("place", ["s3://", "s3:///", "s3a://", "gs://"])
def test_a_place_without_a_bucket_is_none(place: str) -> None:
    """No place is a directory of this machine because its bucket was forgotten."""
    with pytest.raises(NoBucketError, match="it names no bucket"):
        open_files(place)


@pytest.mark.parametrize(
    ("place", "kind", "rest"),
    [
        ("/a/b", "file", "/a/b"),
        ("a/b", "file", "a/b"),
        ("file:/a/b", "file", "/a/b"),
        ("file:///a", "file", "/a"),
        ("S3A://b/c", "s3", "b/c"),
        ("a:b/c", "file", "a:b/c"),
    ],
)
def test_places_are_understood_as_engines_write_them(place: str, kind: str, rest: str) -> None:
    """Java's file URIs, Hadoop's names for stores, and plain paths."""
    assert paths.split(place) == (kind, rest)


#: What holds of a store with servers of its own, too.
PROMISES = (
    test_what_is_put_is_read,
    test_hidden_files_are_listed_and_directories_told_apart,
    test_what_is_not_there_is_said_so,
    test_a_large_file_is_not_read,
    test_deleting_takes_away_and_twice_is_once,
)


def named(promise: Callable[[StoredFiles], None]) -> str:
    """A promise as the id of a test."""
    return promise.__name__.removeprefix("test_")
