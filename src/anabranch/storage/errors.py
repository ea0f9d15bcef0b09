"""Why a place cannot be used: no driver, no permission, or a path that leads out of it."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import ClusterError, ConfigError, RefusedError


@dataclass(eq=False)
class NoDriverError(ConfigError):
    """The package that reaches this kind of storage is not installed, or nobody knows such a kind."""

    place: str
    protocol: str
    package: str

    @property
    def message(self) -> str:
        if self.package:
            return f"{self.place}: storage of kind {self.protocol}:// needs the package {self.package}"
        return f"{self.place}: {self.protocol}:// is no kind of storage that is known"

    @property
    def hint(self) -> str:
        return f"pip install {self.package}" if self.package else "give a local path, or a URI such as s3://BUCKET/PATH"


@dataclass(eq=False)
class NoBucketError(ConfigError):
    """A URI that names no bucket."""

    place: str
    protocol: str

    _message = "{place}: it names no bucket"
    _hint = "give a URI such as {protocol}://BUCKET/PATH"


@dataclass(eq=False)
class LoginInPathError(ConfigError):
    """A URI with a login before its bucket, which no driver uses."""

    place: str
    protocol: str

    _message = "{place}: the login before the bucket is not used"
    _hint = "give {protocol}://BUCKET/PATH, and the credentials in the environment, where the driver finds them"


@dataclass(eq=False)
class OutsidePathError(RefusedError):
    """A path that leads out of the checkpoint, by its name or by a symbolic link."""

    place: str
    path: str

    _message = "{place}: {path!r} leads out of it"
    _hint = "nothing was read or written there; give the directory that holds the files themselves"


@dataclass(eq=False)
class InUseError(RefusedError):
    """Another process of ours writes there now."""

    place: str

    _message = "{place}: another rewrite or undo of it runs now"
    _hint = "nothing was written; wait until it has ended, then look again: `anabranch checkpoint inspect`"


@dataclass(eq=False)
class StorageError(ClusterError):
    """The storage refused, or could not be reached."""

    place: str
    path: str
    doing: str
    reason: str

    @property
    def message(self) -> str:
        return f"{self.place}: cannot {self.doing} {self.path or 'it'}: {self.reason}"

    _hint = "check the place, the permissions and the credentials, then run it again"
